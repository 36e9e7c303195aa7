"""Marks for what has none yet, and erasing by SQL where nothing is remembered yet."""

from ingatan.storage.migrate import run_file

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Let jobs find what has no marks; replace the administrators' function."""
    run_file("0008_erasing_by_sql.sql")
