"""Workspaces, members, askers, and who sees a conversation."""

from ingatan.storage.migrate import run_file

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create and grant them."""
    run_file("0003_workspaces.sql")
