"""Waits for the effect of a test in another process."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["until"]


def until(holds: Callable[[], object], *, seconds: float = 60, pause: float = 0.05) -> None:
    """Wait until this holds. Raises AssertionError if it does not in time."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"still not so behind {seconds} s"
        time.sleep(pause)
