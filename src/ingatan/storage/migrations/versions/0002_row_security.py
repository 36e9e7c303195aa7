"""Roles, row-level security and grants for the tables of the first release."""

from ingatan.storage.migrate import run_file

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create and grant them."""
    run_file("0002_row_security.sql")
