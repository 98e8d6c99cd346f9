"""A row for each shipped preset and prompt: what is edited is told apart from what is in force."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("rag_config", sa.Column("edited", sa.JSON))
    op.add_column("prompt_meta", sa.Column("edited", sa.Boolean, nullable=False, server_default=sa.true()))
    op.execute("update rag_config set edited = config")  # every row was an edit
