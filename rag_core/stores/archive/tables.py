"""The tables of the archive (S0-86 to S0-93, S4-31) and the column types for values of `core.model`.

A column has the name of the dataclass's field; NULL stands for the field's default.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

from rag_core.core.errors import InvalidRequest

ARCHIVE_METADATA = MetaData()
NEWEST_REVISION = "0004"  # the newest of migrations/versions
ALEMBIC_VERSION = Table("alembic_version", MetaData(), Column("version_num", String(32)))


class UtcDateTime(TypeDecorator[str]):
    """A time as ISO 8601 text in UTC; stored without its time zone, which SQLite does not support."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> datetime | None:
        return None if value is None else datetime.fromisoformat(value).astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> str | None:
        return None if value is None else value.replace(tzinfo=UTC).isoformat(timespec="microseconds")


class LimitedText(TypeDecorator[str]):
    """A text with a maximum length, checked here because SQLite does not enforce it."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        column_type: Any = self.impl_instance
        if value is not None and len(value) > column_type.length:
            raise InvalidRequest("intent", f"must have at most {column_type.length} characters")
        return value


class JsonTuple(TypeDecorator[tuple[Any, ...]]):
    """A JSON array that is read as a tuple, nested arrays included."""

    impl = JSON(none_as_null=True)
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> tuple[Any, ...] | None:
        return value if value is None else _tuple_from_json_array(value)


def _tuple_from_json_array(array: list[Any]) -> tuple[Any, ...]:
    return tuple(_tuple_from_json_array(item) if isinstance(item, list) else item for item in array)


def _build_time_columns() -> tuple[Column[str], Column[str]]:
    return Column("created_at", UtcDateTime, nullable=False), Column("updated_at", UtcDateTime, nullable=False)


QUERIES = Table(
    "queries",
    ARCHIVE_METADATA,
    Column("id", Integer, primary_key=True),
    Column("workflow_id", Text, nullable=False),
    Column("user_id", Text),
    Column("original_query", Text, nullable=False),
    Column("intent", LimitedText(50), index=True),
    Column("vector_status", String(10), nullable=False, index=True),
    Column("origin", Text, nullable=False),
    Column("version", Integer, nullable=False),
    *_build_time_columns(),
    Column("expanded_queries", JsonTuple),
    Column("hyde_answer", Text),
    Column("entities", JsonTuple),
    Column("space", Text),
    Column("preset", JSON),
    Column("steps", JSON),
    # large columns last: SQLite reads a row only up to the last column that a query needs
    Column("embedding_original", JsonTuple),
    Column("embeddings_mqe", JsonTuple),
    Column("embedding_hyde", JsonTuple),
    Column("retrieved_context", JsonTuple),
    Column("clean_retrieval_context", JsonTuple),
    Index("ix_queries_workflow_id", "workflow_id", "id"),
)
RESULTS = Table(
    "results",
    ARCHIVE_METADATA,
    Column("id", Integer, primary_key=True),
    Column("query_id", ForeignKey("queries.id", ondelete="cascade"), nullable=False),
    Column("response_text", Text, nullable=False),
    Column("model", Text),
    Column("details", JSON),
    *_build_time_columns(),
    Index("ix_results_query_id", "query_id", "created_at"),
)
QUOTED_DOCUMENTS = (
    Table(  # the documents whose text a saved query or its results ever contained, which a purge has to find
        "quoted_documents",
        ARCHIVE_METADATA,
        Column("query_id", ForeignKey("queries.id", ondelete="cascade"), primary_key=True),
        Column("document_id", Text, primary_key=True, index=True),
    )
)
RAG_CONFIG = Table(
    "rag_config",
    ARCHIVE_METADATA,
    Column("id", Integer, primary_key=True),
    Column("preset_name", Text, nullable=False, unique=True),
    Column("config", JSON, nullable=False),
    Column("description", Text),
    *_build_time_columns(),
    Column("edited", JSON(none_as_null=True)),
)
PROMPT_META = Table(
    "prompt_meta",
    ARCHIVE_METADATA,
    Column("id", Integer, primary_key=True),
    Column("function_tag", Text, nullable=False, unique=True),
    Column("wording", Text, nullable=False),
    *_build_time_columns(),
    Column("edited", Boolean, nullable=False),
)
ORIGINALS = Table(
    "works",
    ARCHIVE_METADATA,
    Column("id", Integer, primary_key=True),
    Column("workflow_id", Text, nullable=False),
    Column("document_id", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("filename", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("content_hash", Text, nullable=False),
    *_build_time_columns(),
    Column("data", LargeBinary, nullable=False),
    UniqueConstraint("workflow_id", "document_id"),
)
QUERIES_LOG = Table(
    "queries_log",
    ARCHIVE_METADATA,
    Column("id", Integer, primary_key=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("query", Text),
    Column("workflow_id", Text),
    Column("user_id", Text),
    Column("preset", Text),
    Column("status", Text),
    Column("confidence", Float),
    Column("metrics", JSON, nullable=False),
    Column("timings", JSON, nullable=False),
)
ANSWER_LOGS = Table(  # short-lived, and without checksums: nobody repairs what is gone in minutes
    "answer_logs",
    ARCHIVE_METADATA,
    Column("key", Text, primary_key=True),
    Column("updated_s", Float, nullable=False),
    Column("told", Text, nullable=False),
)
ROW_CHECKSUMS = Table(
    "row_checksums",
    ARCHIVE_METADATA,
    Column("table_name", Text, primary_key=True),
    Column("row_id", Integer, primary_key=True, autoincrement=False),
    Column("listed", Text, nullable=False),
    Column("whole", Text, nullable=False),
)
CONTEXT_COLUMNS = ("retrieved_context", "clean_retrieval_context")
# the large columns, which lists leave out
UNLISTED_COLUMNS = ("embedding_original", "embeddings_mqe", "embedding_hyde", *CONTEXT_COLUMNS, "data")


def format_utc_now() -> str:
    """Return the current time in UTC as ISO 8601 text with microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
