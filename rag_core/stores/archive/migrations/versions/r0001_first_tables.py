"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    _queries()
    _results()
    _edits()
    _works()
    _queries_log()


def _queries() -> None:
    op.create_table(
        "queries",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("workflow_id", sa.Text, nullable=False),
        sa.Column("user_id", sa.Text),
        sa.Column("original_query", sa.Text, nullable=False),
        sa.Column("intent", sa.String(50)),
        sa.Column("vector_status", sa.String(10), nullable=False),
        sa.Column("origin", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        *_times(),
        sa.Column("expanded_queries", sa.JSON),
        sa.Column("hyde_answer", sa.Text),
        sa.Column("entities", sa.JSON),
        sa.Column("space", sa.Text),
        sa.Column("preset", sa.JSON),
        sa.Column("steps", sa.JSON),
        sa.Column("embedding_original", sa.JSON),
        sa.Column("embeddings_mqe", sa.JSON),
        sa.Column("embedding_hyde", sa.JSON),
        sa.Column("retrieved_context", sa.JSON),
        sa.Column("clean_retrieval_context", sa.JSON),
        sqlite_autoincrement=True,  # a removed one's id is never another's
    )
    op.create_index("ix_queries_intent", "queries", ["intent"])
    op.create_index("ix_queries_vector_status", "queries", ["vector_status"])
    op.create_index("ix_queries_workflow_id", "queries", ["workflow_id", "id"])


def _results() -> None:
    op.create_table(
        "results",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("query_id", sa.Integer, sa.ForeignKey("queries.id", ondelete="cascade"), nullable=False),
        sa.Column("response_text", sa.Text, nullable=False),
        sa.Column("model", sa.Text),
        sa.Column("details", sa.JSON),
        *_times(),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_results_query_id", "results", ["query_id", "created_at"])
    op.create_table(
        "quoted_documents",
        sa.Column("query_id", sa.Integer, sa.ForeignKey("queries.id", ondelete="cascade"), primary_key=True),
        sa.Column("document_id", sa.Text, primary_key=True),
    )
    op.create_index("ix_quoted_documents_document_id", "quoted_documents", ["document_id"])


def _edits() -> None:
    op.create_table(
        "rag_config",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("preset_name", sa.Text, nullable=False, unique=True),
        sa.Column("config", sa.JSON, nullable=False),
        sa.Column("description", sa.Text),
        *_times(),
    )
    op.create_table(
        "prompt_meta",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("function_tag", sa.Text, nullable=False, unique=True),
        sa.Column("wording", sa.Text, nullable=False),
        *_times(),
    )


def _works() -> None:
    op.create_table(
        "works",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("workflow_id", sa.Text, nullable=False),
        sa.Column("document_id", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("filename", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("content_hash", sa.Text, nullable=False),
        *_times(),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("workflow_id", "document_id"),
    )


def _queries_log() -> None:
    op.create_table(
        "queries_log",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("created_at", sa.DateTime, nullable=False),
        *(sa.Column(name, sa.Text) for name in ("query", "workflow_id", "user_id", "preset", "status")),
        sa.Column("confidence", sa.Float),
        sa.Column("metrics", sa.JSON, nullable=False),
        sa.Column("timings", sa.JSON, nullable=False),
        sqlite_autoincrement=True,
    )


def _times() -> tuple[sa.Column[object], sa.Column[object]]:
    return sa.Column("created_at", sa.DateTime, nullable=False), sa.Column("updated_at", sa.DateTime, nullable=False)
