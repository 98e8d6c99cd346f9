"""The rebuild of an index with another embedding model, beside the old index, which stays unchanged."""

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

from rag_core.core.contextual_vectors import build_embeddable_text
from rag_core.core.model import EmbeddableText, Vector
from rag_core.stores.embedded.current_index import SPACES_FOLDER
from rag_core.stores.embedded.database import (
    IndexDatabase,
    connect_to_index_database,
    get_database_file,
    get_lexical_index_folder,
    translate_apsw_errors,
)
from rag_core.stores.embedded.row_checksums import CHECKED_COLUMNS

NEW_VECTORS_FILE = "vectors.sqlite"  # the new vectors, which cost money to make: kept until the new index is current

SELECT_TEXTS_SQL = """
select content_hash, content, title from chunks union select content_hash, content, title from deleted_chunks order by 1
"""
COPY_VECTORS_SQL = """
delete from vectors;
insert into vectors
    select row, m.vector, row_checksum(row, m.vector) from chunks join made.vectors m using (content_hash);
update deleted_chunks set
    vector = (select vector from made.vectors m where m.content_hash = deleted_chunks.content_hash);
update deleted_chunks set checksum = row_checksum({deleted_chunk_columns});
"""


class EmbeddedRebuild:
    """A rebuild of the index in the folder `old`, made in the folder `new` with vectors of another space.

    Everything but the vectors is copied: ids, owners, deleted documents. New vectors are saved as they arrive, so that
    an interrupted rebuild continues. The old index can be read and written to meanwhile.
    """

    def __init__(self, old: Path, new: Path, space: str, dimensions: int) -> None:
        self._new_folder, self._space, self._dimensions = new, space, dimensions
        IndexDatabase(old).close()  # raises for a folder that holds no index of this version
        with translate_apsw_errors():
            self._old_index = connect_to_index_database(old)

    async def load_missing_texts(self) -> Mapping[str, EmbeddableText]:
        """Return the texts that have no new vector yet, each once, by content hash and in its order."""
        return await asyncio.to_thread(self._load_missing_texts_sync)

    async def save_vectors(self, vectors: Mapping[str, Vector]) -> None:
        """Save vectors by content hash, durably on return."""
        await asyncio.to_thread(self._save_vectors_sync, vectors)

    async def copy_index(self) -> None:
        """Copy the present state of the old index to the new one; texts without a new vector get none."""
        await asyncio.to_thread(self._copy_index_sync)

    async def switch_if_unchanged(self, switch: Callable[[], object]) -> bool:
        """Call `switch`, with the old index locked, unless it has changed since the copy; return whether it ran."""
        return await asyncio.to_thread(self._switch_if_unchanged_sync, switch)

    async def close(self) -> None:
        self._old_index.close()
        if "_new_vectors" in self.__dict__:
            self._new_vectors.close()

    @cached_property
    def _new_vectors(self) -> apsw.Connection:
        self._new_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        db = apsw.Connection(str(self._new_folder / NEW_VECTORS_FILE))
        db.execute("pragma journal_mode = wal; pragma synchronous = full")
        db.execute("create table if not exists vectors(content_hash text primary key, vector blob not null)")
        return db

    def _load_missing_texts_sync(self) -> Mapping[str, EmbeddableText]:
        with translate_apsw_errors():
            is_started = (self._new_folder / NEW_VECTORS_FILE).exists()
            content_hashes = (
                {content_hash for (content_hash,) in self._new_vectors.execute("select content_hash from vectors")}
                if is_started
                else set()
            )
            return {
                content_hash: build_embeddable_text(content, title, content_hash)
                for content_hash, content, title in self._old_index.execute(SELECT_TEXTS_SQL)
                if content_hash not in content_hashes
            }

    def _save_vectors_sync(self, vectors: Mapping[str, Vector]) -> None:
        rows = [(content_hash, array("f", vector).tobytes()) for content_hash, vector in vectors.items()]
        with translate_apsw_errors(), self._new_vectors:
            self._new_vectors.executemany("insert or replace into vectors values (?, ?)", rows)

    def _copy_index_sync(self) -> None:
        with translate_apsw_errors():
            self._new_vectors.pragma("user_version")  # creates the file even when there was nothing to embed
            shutil.rmtree(get_lexical_index_folder(self._new_folder), ignore_errors=True)
            _remove_database_files(get_database_file(self._new_folder))
        with translate_apsw_errors(), closing(connect_to_index_database(self._new_folder)) as new_index:
            self._copied_data_version = self._old_index.pragma("data_version")
            with new_index.backup("main", self._old_index, "main") as backup:
                backup.step()
            new_index.execute("attach ? as made", (str(self._new_folder / NEW_VECTORS_FILE),))
            with new_index:
                new_index.execute(COPY_VECTORS_SQL.format(deleted_chunk_columns=CHECKED_COLUMNS["deleted_chunks"]))
                self._assign_store_id(new_index)

    def _assign_store_id(self, new_index: apsw.Connection) -> None:
        """Give the copy a new store id, so that answers cached for the old index are not served for the new one."""
        first_vector = new_index.execute("select 1 from vectors limit 1").fetchone()
        space_and_dimensions = (self._space, self._dimensions) if first_vector else ("", 0)
        new_index.execute(
            "update store set id = lower(hex(randomblob(8))), space = ?, dimensions = ?", space_and_dimensions
        )
        new_index.execute("update deleted set space = ?", (self._space,))

    def _switch_if_unchanged_sync(self, switch: Callable[[], object]) -> bool:
        with translate_apsw_errors():
            self._old_index.execute("begin immediate")
            try:
                if self._old_index.pragma("data_version") != self._copied_data_version:
                    return False
                switch()
            finally:
                self._old_index.execute("rollback")
            self._new_vectors.close()
            _remove_database_files(self._new_folder / NEW_VECTORS_FILE)
        return True


def choose_rebuild_folder(space: str, data_dir: Path, used: Collection[str]) -> str:
    """Return the folder of an unfinished rebuild for this space, else a free one; never a folder that is `used`."""
    readable_part = re.sub(r"[^a-z0-9.]+", "-", space.lower()).strip("-")
    name = f"{readable_part}-{sha256(space.encode()).hexdigest()[:6]}"  # two spaces may have the same readable part
    number = 1
    while (data_dir / (folder := f"{SPACES_FOLDER}/{name}-{number}")).exists():
        if folder not in used and (data_dir / folder / NEW_VECTORS_FILE).exists():
            break
        number += 1
    return folder


def _remove_database_files(file: Path) -> None:
    """Remove a database file with its journal files."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
