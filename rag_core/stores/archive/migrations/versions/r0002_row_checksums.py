"""Checksums of rows. What was written before has none and is read unchecked until it is written again."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "row_checksums",
        sa.Column("table_name", sa.Text, primary_key=True),
        sa.Column("row_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("listed", sa.Text, nullable=False),
        sa.Column("whole", sa.Text, nullable=False),
    )
