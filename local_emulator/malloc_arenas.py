"""How many arenas the C library keeps freed memory in: one for each thread by default, up to eight for each core."""

import ctypes
import os
import sys

ARENAS = 2
M_ARENA_MAX = -8  # of mallopt(3), in glibc


def limit_malloc_arenas() -> None:
    """Let the threads of this process share two arenas, unless MALLOC_ARENA_MAX is set; without glibc do nothing.

    What one thread frees is then used by the others, and memory stops growing.
    """
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
        if set_option:
            set_option(M_ARENA_MAX, ARENAS)
