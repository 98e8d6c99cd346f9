"""A table for what answers under way have told, which is read by polling where the host sends no events."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "answer_logs",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("updated_s", sa.Float, nullable=False),
        sa.Column("told", sa.Text, nullable=False),
    )
