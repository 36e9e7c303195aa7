"""Accounts, sources, batches, lineage and events seen once."""

from ingatan.storage.migrate import run_file

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the tables with row security, and the function that withdraws."""
    run_file("0010_accounts_and_sources.sql")
