"""How this process keeps memory that it needs no more: the C library is told to give large blocks back at once.

glibc raises by itself the size from which a block is mapped alone, up to the largest that was ever freed, and keeps
twice as much at the top of its heap. A burst of large frames would leave tens of MiB that nobody uses.
"""

from __future__ import annotations

import ctypes
from typing import Final

# Parameters of mallopt(3).
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
# Larger than what sockets are read by, so that what passes in chunks is not mapped anew each time.
LARGE: Final = 512 << 10
KEPT: Final = 1 << 20


def give_back() -> None:
    """From now on; where the C library is another one it stays as it is."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_MMAP_THRESHOLD, LARGE)
    mallopt(_TRIM_THRESHOLD, KEPT)
