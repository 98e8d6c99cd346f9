"""Checksums of every page of an index database, which SQLite's own cksumvfs writes and compares at each read.

They cover rows, keys and the trees that hold them: a page that was changed outside of SQLite is never read as if it
were right, at the cost of 8 bytes of its 8192. The extension comes with the wheel of apsw (docs/decisions/0023).

In the journal beside the database a page has no such checksum yet: it gets it when the page is moved to the database. A
program without the extension, as the shell sqlite3, moves what a killed service has left there when it is the last to
close the database, and leaves the bytes empty.
"""

import functools
from contextlib import closing, suppress
from pathlib import Path

import apsw
import apsw.sqlite_extra

from rag_core.core.errors import Misconfigured

PAGE_BYTES = 8192  # five vectors of 384 to a page: a fifth smaller than with 4096
CHECKSUM_BYTES = 8  # at the end of each page; it is by these reserved bytes that the extension knows a database


@functools.cache
def load_page_checksums() -> None:
    """Make every connection that is opened from now on write and compare the checksums of databases that have them.

    Raises Misconfigured where apsw came without the extension: writing without it would leave wrong checksums.
    """
    try:
        with closing(apsw.Connection(":memory:")) as db:
            apsw.sqlite_extra.load(db, "cksumvfs")
    except (apsw.Error, ImportError, OSError, apsw.sqlite_extra.NotAvailable) as failure:
        raise Misconfigured(
            "this apsw lacks the extension cksumvfs: install the wheel of apsw from PyPI", code="storage_unusable"
        ) from failure


def has_page_checksums(db: apsw.Connection) -> bool:
    return bool(db.reserve_bytes("main") == CHECKSUM_BYTES)


def reserve_page_checksums(db: apsw.Connection) -> None:
    """Let the database have checksums from its first page, or from the next VACUUM on."""
    db.reserve_bytes("main", CHECKSUM_BYTES)


def has_pages_without_checksum(file: Path) -> bool:
    """Return whether pages hold something and have no checksum, as another program leaves them; page 1 is no such."""
    with suppress(OSError), file.open("rb") as pages:
        pages.seek(PAGE_BYTES)
        while page := pages.read(PAGE_BYTES):
            if len(page) == PAGE_BYTES and not any(page[-CHECKSUM_BYTES:]) and any(page):
                return True
    return False
