"""Whose knowledge a memory is, candidates that wait for a reviewer, and the policy documents of a tenant."""

from ingatan.storage.migrate import run_file

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add columns, powers and the table of policy documents."""
    run_file("0009_governed_writes.sql")
