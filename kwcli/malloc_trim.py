"""How a process that goes on for weeks keeps memory that it needs no more: the C library is told to give it back.

glibc raises by itself the size from which a block is mapped alone, up to the largest that was ever freed, and keeps
twice as much at the top of its heap; and what is free below one block that is not stays. A burst of large frames, or a
log that was behind for a while, would leave tens of MiB that nobody uses; so would the batches of a watch, one by one.
"""

from __future__ import annotations

import ctypes
import resource
from typing import Final

# Parameters of mallopt(3).
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
# Pages that are mapped anew have to be filled by the system: with answers of 1 MiB that took as long as all else
# (tests/bench/proxy.py, "2 of 1 MiB"), so blocks of their size are not large.
LARGE: Final = 2 << 20
KEPT: Final = 4 << 20
# So often it is looked whether there is something to give back.
TRIM_S: Final = 10.0


def tune() -> None:
    """Set the bounds, from now on; where the C library is another one it stays as it is."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_MMAP_THRESHOLD, LARGE)
    mallopt(_TRIM_THRESHOLD, KEPT)


class Trimmer:
    """Gives free pages back, some ms of work, where the process has grown since the last time."""

    def __init__(self) -> None:
        self._least = 0

    def trim(self) -> bool:
        """To be called now and then; whether there was something to do."""
        size = resident()
        if size <= self._least + KEPT:
            self._least = min(size, self._least)
            return False
        trim()
        self._least = resident()
        return True


def trim() -> None:
    """Give back all pages that are free at this moment."""
    try:
        malloc_trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return
    malloc_trim(0)


def resident() -> int:
    """Bytes of memory that this process has; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0
