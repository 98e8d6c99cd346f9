"""The archive: saved queries and results, edited presets and prompts, originals of documents, and the query log.

It uses SQLAlchemy Core and Alembic migrations, on an SQLite file or on PostgreSQL.
"""

from rag_core.stores.archive.archive import SqlArchive
from rag_core.stores.archive.database import Database
from rag_core.stores.archive.log import QueriesLog

__all__ = ["Database", "QueriesLog", "SqlArchive"]
