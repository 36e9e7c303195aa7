"""States and calibration of embedding models, vectors to be made by model, and who closed a version."""

from ingatan.storage.migrate import run_file

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add and grant them."""
    run_file("0004_projections.sql")
