"""An index built anew beside another that stays as it is: all of it is copied but the vectors."""

import asyncio
import re
import shutil
from array import array
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import apsw

from rag_core.core.model import Vector
from rag_core.stores.embedded.current_index import SPACES
from rag_core.stores.embedded.truth import Truth, connect, database, explained, words_folder

MADE = "vectors.sqlite"  # what was paid for: it is there for as long as the index is in the making

TEXTS = "select content_hash, content from chunks union select content_hash, content from deleted_chunks"
FILL = """
delete from vectors;
insert into vectors select row, made.vectors.vector from chunks join made.vectors using (content_hash);
update deleted_chunks set
    vector = (select vector from made.vectors m where m.content_hash = deleted_chunks.content_hash);
"""


class Rebuild:
    """The index of the folder `old`, in the making in the folder `new` with vectors of another space.

    Everything else is kept: ids, owners, what was deleted. Vectors are kept as they come, so that a build that broke
    off goes on. While it is open the old index can be read and written to.
    """

    def __init__(self, old: Path, new: Path, space: str, dimensions: int) -> None:
        self._new, self._space, self._dimensions = new, space, dimensions
        Truth(old).close()  # refuses what is no index of this version
        with explained():
            self._old = connect(old)

    async def missing(self) -> Mapping[str, str]:
        """The texts that have no vector yet, each once, by content hash, in order of it."""
        return await asyncio.to_thread(self._missing)

    async def keep(self, vectors: Mapping[str, Vector]) -> None:
        """Keep these vectors, by content hash: the return is the acknowledgement."""
        await asyncio.to_thread(self._keep, vectors)

    async def copy(self) -> None:
        """Make the new index of what the old one holds at this moment; a text without a vector is left without."""
        await asyncio.to_thread(self._copy)

    async def settle(self, switch: Callable[[], object]) -> bool:
        """`switch`, unless the old index has changed since it was copied; nobody writes to it meanwhile."""
        return await asyncio.to_thread(self._settle, switch)

    async def close(self) -> None:
        self._old.close()
        if "_made" in self.__dict__:
            self._made.close()

    @cached_property
    def _made(self) -> apsw.Connection:
        self._new.mkdir(mode=0o700, parents=True, exist_ok=True)
        db = apsw.Connection(str(self._new / MADE))
        db.execute("pragma journal_mode = wal; pragma synchronous = full")
        db.execute("create table if not exists vectors(content_hash text primary key, vector blob not null)")
        return db

    def _missing(self) -> Mapping[str, str]:
        with explained():
            begun = (self._new / MADE).exists()
            known = {key for (key,) in self._made.execute("select content_hash from vectors")} if begun else set()
            return {key: text for key, text in self._old.execute(f"{TEXTS} order by 1") if key not in known}

    def _keep(self, vectors: Mapping[str, Vector]) -> None:
        rows = [(content_hash, array("f", vector).tobytes()) for content_hash, vector in vectors.items()]
        with explained(), self._made:
            self._made.executemany("insert or replace into vectors values (?, ?)", rows)

    def _copy(self) -> None:
        with explained():
            self._made.pragma("user_version")  # there, also where nothing was to be embedded
            shutil.rmtree(words_folder(self._new), ignore_errors=True)
            _remove(database(self._new))
        with explained(), closing(connect(self._new)) as copy:
            self._seen = self._old.pragma("data_version")
            with copy.backup("main", self._old, "main") as backup:
                backup.step()
            copy.execute("attach ? as made", (str(self._new / MADE),))
            with copy:
                copy.execute(FILL)
                self._name(copy)

    def _name(self, copy: apsw.Connection) -> None:
        """An id of its own: what was remembered of the one index is not taken for what the other says."""
        filled = copy.execute("select 1 from vectors limit 1").fetchone()
        held = (self._space, self._dimensions) if filled else ("", 0)
        copy.execute("update store set id = lower(hex(randomblob(8))), space = ?, dimensions = ?", held)
        copy.execute("update deleted set space = ?", (self._space,))

    def _settle(self, switch: Callable[[], object]) -> bool:
        with explained():
            self._old.execute("begin immediate")
            try:
                if self._old.pragma("data_version") != self._seen:
                    return False
                switch()
            finally:
                self._old.execute("rollback")
            self._made.close()
            _remove(self._new / MADE)
        return True


def folder_for(space: str, data_dir: Path, used: Collection[str]) -> str:
    """Where below the data folder the index of a space is in the making, else a free place; none that is `used`."""
    legible = re.sub(r"[^a-z0-9.]+", "-", space.lower()).strip("-")
    name = f"{legible}-{sha256(space.encode()).hexdigest()[:6]}"  # two spaces may read alike
    number = 1
    while (data_dir / (folder := f"{SPACES}/{name}-{number}")).exists():
        if folder not in used and (data_dir / folder / MADE).exists():
            break
        number += 1
    return folder


def _remove(file: Path) -> None:
    """A database, with its journal."""
    for ending in ("", "-wal", "-shm"):
        Path(f"{file}{ending}").unlink(missing_ok=True)
