"""Whether SQL that was asked before does anything but read: a writer of SQL would take it for an example.

Only queries read; whatever else a server understands is left out unseen. A query writes by a statement within it, by a
lock, or by a function with an effect. What SQLGlot cannot read is told by its words.
"""

import logging
import re
from collections.abc import Iterable

from sqlglot import exp

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # its warnings quote the statement, with whatever is in it

QUERIES = (exp.Query, exp.Values, exp.Semicolon)  # the last is what a comment after the end is
WRITING = (exp.DML, exp.DDL, exp.Drop, exp.Alter, exp.TruncateTable, exp.Command, exp.Into, exp.Lock, exp.NextValueFor)
# of PostgreSQL, MySQL, SQLite and SQL Server, by how their names begin: they change data or settings, end or hold up
# other sessions, write files, send messages, or run SQL that stands in a text
_WITH_EFFECT = re.compile(
    r"(?i:pg_(?:terminate|cancel|reload|rotate|switch|promote|notify|advisory|try_advisory|create|drop|replication|"
    r"logical_emit|logical_slot|copy|file_(?:write|rename|unlink|sync)|stat_reset|wal_replay|import|backup|start|stop|log_)|"
    r"lo_(?!get)|nextval|setval|set_config|dblink|query_to_xml|"
    r"load_extension|writefile|edit$|get_lock|release_(?:all_)?lock|sys_(?:exec|eval)|xp_|sp_|open(?:rowset|query|datasource))"
)
_EXECUTABLE_COMMENT = re.compile(r"/\*M?!")  # of MySQL and MariaDB, which run what SQLGlot passes over
_WRITING_WORD = re.compile(
    r"(?i:\b(?:insert|update|delete|merge|upsert|replace|drop|create|alter|truncate|rename|grant|revoke|comment|outfile|"
    r"dumpfile|load|handler|copy|call|exec|execute|lock|attach|detach|vacuum|reindex|backup|restore|bulk|shutdown|kill|"
    r"import|security|into)\b(?!\s*\())"
)


def has_effect(sql: str, statements: Iterable[exp.Expr | None] | None) -> bool:
    """Return whether any of the statements of a text does more than read; None are those of a text nobody can read."""
    if _EXECUTABLE_COMMENT.search(sql):
        return True
    if statements is None:
        return _WRITING_WORD.search(sql) is not None
    return any(not isinstance(one, QUERIES) or _writes(one) for one in statements if one is not None)


def _writes(query: exp.Expr) -> bool:
    calls = (one.name for one in query.find_all(exp.Anonymous))
    return query.find(*WRITING) is not None or any(map(_WITH_EFFECT.match, calls))
