"""Brings a database's tables to the newest revision, with Alembic; a new revision is a new file in versions/."""

import threading
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from rag_core.core.errors import Unavailable

FOLDER = Path(__file__).parent
LOCK = 0x7261675F61726368  # "rag_arch": the number of PostgreSQL's advisory lock
_turn = threading.Lock()  # Alembic's `op` and `context` are one for the whole process


def migrate(db: Connection) -> None:
    """All revisions that are missing, in the transaction of `db`; a process that came later waits, and does none.

    Raises Unavailable when the tables are a newer program's: time puts it right, when this one is replaced too.
    """
    with _turn:
        if db.dialect.name == "postgresql":
            db.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        config = Config(attributes={"connection": db})
        config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
        _refuse_a_newer(db, ScriptDirectory.from_config(config))
        command.upgrade(config, "head")


def _refuse_a_newer(db: Connection, scripts: ScriptDirectory) -> None:
    known = {script.revision for script in scripts.walk_revisions()}
    if newer := set(MigrationContext.configure(db).get_current_heads()) - known:
        what = f"was brought to revision {', '.join(sorted(newer))} by a newer version of this program"
        raise Unavailable(f"the archive {what}, which this one cannot read", code="archive_unavailable")
