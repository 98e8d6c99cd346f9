"""Lock files that tell whether a worker process is still alive, for jobs whose table is on this machine.

The kernel releases a lock when its process ends, however it ends, so that a killed worker's job can be taken up at
once instead of after its lease.
"""

import os
import sys
import threading
import uuid
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl


class WorkerLocks:
    """The lock files of the workers that share a job table, one a worker, in a folder beside it.

    Without a folder, for a table in memory, and on Windows no worker is ever known to be dead.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder if sys.platform != "win32" else None
        self._lock = threading.Lock()
        self._worker_id: str | None = None
        self._file: int | None = None

    def get_worker_id(self) -> str:
        """Return the id of this worker, whose lock file is made and locked at the first call. Raises OSError."""
        with self._lock:
            if self._worker_id is None:
                worker_id = uuid.uuid4().hex
                if self._folder:
                    self._folder.mkdir(mode=0o700, exist_ok=True)
                    self._file = os.open(self._folder / worker_id, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
                    try_lock(self._file)
                self._worker_id = worker_id
            return self._worker_id

    def is_dead(self, worker_id: str) -> bool:
        """Return whether the worker's process has ended; its lock file is then removed."""
        if self._folder is None or worker_id == self._worker_id:
            return False
        path = self._folder / worker_id
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            dead = try_lock(file)
        finally:
            os.close(file)
        if dead:
            path.unlink(missing_ok=True)
        return dead

    def close(self) -> None:
        """Release the lock: what this worker has claimed can be taken up by others."""
        with self._lock:
            if self._file is not None and self._folder and self._worker_id:
                with suppress(OSError):
                    (self._folder / self._worker_id).unlink(missing_ok=True)
                os.close(self._file)
            self._file = self._worker_id = None


def try_lock(file: int) -> bool:
    """Lock an open file for this process unless another has locked it; return whether it is now locked."""
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
