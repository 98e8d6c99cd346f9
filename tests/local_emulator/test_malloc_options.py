"""The local server's threads share the memory that they free, and give large blocks back."""

import os
import platform
import re
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
    libc.free(ctypes.c_void_p(libc.malloc(ctypes.c_size_t(4_000_000))))
    for _ in range(50):
        libc.malloc(ctypes.c_size_t(1_000_000))
    file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
    libc.malloc_info(0, file)
    libc.fclose(file)
"""


def read_heap(file: Path, **environment: str) -> tuple[int, int]:
    """Return how many arenas a server has, and how many blocks it has mapped by themselves."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    subprocess.run([sys.executable, "-c", ALLOCATING, str(file)], check=True, env={**others, **environment})
    heap = file.read_text()
    (mapped,) = re.findall(r'<total type="mmap" count="(\d+)"', heap)
    return heap.count("<heap nr="), int(mapped)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="arenas are glibc's")
def test_the_local_server_gives_freed_memory_back_unless_the_environment_says_otherwise(tmp_path: Path) -> None:
    """Else each thread keeps what it frees, large blocks as well, and memory grows for an hour."""
    arenas, mapped = read_heap(tmp_path / "as-it-is")
    assert arenas <= 2
    assert mapped >= 50
    arenas, mapped = read_heap(tmp_path / "set", MALLOC_ARENA_MAX="8", MALLOC_MMAP_THRESHOLD_="33554432")
    assert arenas > 2
    assert mapped < 50
