"""What a reviewer may read of a cited turn, candidates that end unreviewed, how much was brought lately, alerts."""

from ingatan.storage.migrate import run_file

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add functions, indexes and the table of alerts; erasing by SQL takes along what waits."""
    run_file("0011_review_queue.sql")
