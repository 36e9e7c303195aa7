"""The tables of the first release."""

from ingatan.storage.migrate import run_file

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create them."""
    run_file("0001_foundation.sql")
