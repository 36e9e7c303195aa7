"""The administrators' views, and erasing by SQL."""

from ingatan.storage.migrate import run_file

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create them."""
    run_file("0005_administrators.sql")
