"""What people want kept: questions with their results, edited presets and prompts, documents as they came, the log.

SQL by SQLAlchemy's Core, with migrations by Alembic: in a file of SQLite, or in PostgreSQL.
"""

from rag_core.stores.archive.archive import SqlArchive
from rag_core.stores.archive.database import Database
from rag_core.stores.archive.log import QueriesLog

__all__ = ["Database", "QueriesLog", "SqlArchive"]
