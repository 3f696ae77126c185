"""How often Python's garbage collector runs: seldom, since rows are many, small and without reference cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from kwcli.run_environment import SELDOM_COLLECTIONS


@contextmanager
def collect_garbage_seldom() -> Iterator[None]:
    """A context in which the garbage collector runs seldom."""
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM_COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
