"""What a person never wants remembered again."""

from ingatan.storage.migrate import run_file

revision = "0007"
down_revision = "0005"


def upgrade() -> None:
    """Create the table."""
    run_file("0007_suppressions.sql")
