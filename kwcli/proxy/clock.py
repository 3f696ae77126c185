"""The time that goes with bytes out: ns since 1970 that never go back within one process."""

from __future__ import annotations

import time
from typing import Final

_EPOCH_NS: Final = time.time_ns() - time.perf_counter_ns()


def now_ns() -> int:
    """Wall-clock time in ns; differences are those of a monotonic clock."""
    return _EPOCH_NS + time.perf_counter_ns()
