"""Gives memory that a long-running process needs no more back to the system, by calls of the C library.

glibc raises by itself the size from which a block is mapped alone, up to the largest block that was ever freed, and
keeps twice as much at the top of its heap; free memory below a block in use stays as well. A burst of large frames, or
a log that was behind for a while, would leave tens of MiB unused; so would the batches of a watch, one by one.
"""

from __future__ import annotations

import ctypes
import resource
from typing import Final

# Parameters of mallopt(3).
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
# The system has to fill pages that are mapped anew: with responses of 1 MiB that took as long as everything else
# (tests/bench/proxy.py, "2 of 1 MiB"), so blocks of that size stay below the threshold.
LARGE: Final = 2 << 20
KEPT: Final = 4 << 20
# Seconds between two attempts to give memory back.
TRIM_S: Final = 10.0


def set_malloc_thresholds() -> None:
    """Set the thresholds of glibc for this process; another C library stays as it is."""
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

    def trim_if_grown(self) -> bool:
        """Give free pages back if the process has grown, to be called now and then; returns whether it did."""
        size = read_resident_size()
        if size <= self._least + KEPT:
            self._least = min(size, self._least)
            return False
        return_free_memory()
        self._least = read_resident_size()
        return True


def return_free_memory() -> None:
    """Give back all pages that are free at this moment."""
    try:
        malloc_trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return
    malloc_trim(0)


def read_resident_size() -> int:
    """Bytes of memory that this process has; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0
