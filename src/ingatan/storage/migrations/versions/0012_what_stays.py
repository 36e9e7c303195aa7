"""What stays of candidates that wait no more, excerpts for accounts, and what is served again after withdrawals."""

from ingatan.storage.migrate import run_file

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Notes of appeals go with the text; functions for excerpts, expiry and withdrawal in place of earlier ones."""
    run_file("0012_what_stays.sql")
