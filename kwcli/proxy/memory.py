"""How a process of the proxy keeps memory that it needs no more: the C library is told to give it back.

glibc raises by itself the size from which a block is mapped alone, up to the largest that was ever freed, and keeps
twice as much at the top of its heap; and what is free below one block that is not stays. A burst of large frames, or a
log that was behind for a while, would leave tens of MiB that nobody uses.
"""

from __future__ import annotations

import ctypes
from typing import Final

# Parameters of mallopt(3).
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
# Pages that are mapped anew have to be filled by the system: with answers of 1 MiB that took as long as all else
# (tests/bench/proxy.py, "2 of 1 MiB"), so blocks of their size are not large.
LARGE: Final = 2 << 20
KEPT: Final = 4 << 20
# So often `trim` is worth its time, which is some ms after a burst and a tenth of that else.
TRIM_S: Final = 10.0


def tune() -> None:
    """Set the bounds, from now on; where the C library is another one it stays as it is."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_MMAP_THRESHOLD, LARGE)
    mallopt(_TRIM_THRESHOLD, KEPT)


def trim() -> None:
    """Give back all pages that are free at this moment."""
    try:
        malloc_trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return
    malloc_trim(0)
