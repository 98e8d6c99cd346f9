"""The local server's threads share the memory that they free."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

ALLOCATING = """
import ctypes, sys, threading
from local_emulator.host import run_service
from rag_core.core.settings import Settings

libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
started = threading.Barrier(16)

def allocate():
    started.wait()
    for _ in range(100):
        libc.malloc(ctypes.c_size_t(1000))
    started.wait()

with run_service(Settings()):
    threads = [threading.Thread(target=allocate) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
    libc.malloc_info(0, file)
    libc.fclose(file)
"""


def count_arenas(file: Path, **environment: str) -> int:
    others = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    subprocess.run([sys.executable, "-c", ALLOCATING, str(file)], check=True, env={**others, **environment})
    return file.read_text().count("<heap nr=")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="arenas are glibc's")
def test_the_threads_of_the_local_server_share_two_arenas_unless_the_environment_says_otherwise(tmp_path: Path) -> None:
    """Else each keeps what it frees, and memory grows for an hour."""
    assert count_arenas(tmp_path / "as-it-is") <= 2
    assert count_arenas(tmp_path / "set", MALLOC_ARENA_MAX="8") > 2
