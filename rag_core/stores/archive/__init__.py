"""The archive: saved queries and results, edited presets and prompts, originals, the query log and the answer log.

It uses SQLAlchemy Core and Alembic migrations, on an SQLite file or on PostgreSQL.
"""

from rag_core.stores.archive.answer_log import SqlAnswerLog
from rag_core.stores.archive.database import ArchiveDatabase
from rag_core.stores.archive.query_log import SqlQueryLog
from rag_core.stores.archive.sql_archive import SqlArchive

__all__ = ["ArchiveDatabase", "SqlAnswerLog", "SqlArchive", "SqlQueryLog"]
