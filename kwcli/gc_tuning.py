"""How often a process looks for cycles of values: seldom, since rows are many, small and without cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["SELDOM", "seldom"]

# Thresholds of gc: a hundred times those of Python. A process that holds thousands of exchanges would spend a fifth of
# its time on looking.
SELDOM: Final = (100_000, 50, 100)


@contextmanager
def seldom() -> Iterator[None]:
    """Inside, cycles are looked for seldom."""
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
