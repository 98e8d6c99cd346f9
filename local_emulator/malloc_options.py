"""How the C library keeps memory that was freed: by default an arena a thread, and ever larger blocks in each."""

import ctypes
import os
import sys

# of mallopt(3), in glibc, by the variable that sets it as well
OPTIONS = {"MALLOC_ARENA_MAX": (-8, 2), "MALLOC_MMAP_THRESHOLD_": (-3, 128 * 1024)}


def give_freed_memory_back() -> None:
    """Let the threads of this process share two arenas, and map blocks of 128 KiB and more by themselves.

    What one thread frees is then used by the others, and what is large goes back to the system when it is freed;
    glibc else raises that limit to the largest block that was freed. An option that the environment sets stays; without
    glibc nothing is done.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None  # musl has none
    for variable, (option, value) in OPTIONS.items():
        if set_option and variable not in os.environ:
            set_option(option, value)
