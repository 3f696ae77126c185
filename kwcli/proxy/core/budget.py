"""One number of bytes for all frames that are held, over all connections: who asks first gets room first.

Room for a whole frame is given at once, so half-read frames never wait for each other; one that is larger than all
there is gets in when nobody else has anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Final

from decoders.limits import HELD_MAX

BUDGET: Final = HELD_MAX


class Budget:
    """`used` bytes of `total`."""

    __slots__ = ("_queue", "total", "used")

    def __init__(self, total: int = BUDGET) -> None:
        self.total = total
        self.used = 0
        self._queue: deque[tuple[Hashable, int, Callable[[], None]]] = deque()

    @property
    def short(self) -> bool:
        """Whether somebody waits for room."""
        return bool(self._queue)

    def take(self, size: int) -> bool:
        """Room for `size` bytes, if there is some and nobody else waits for it."""
        if self._queue or not self._fits(size):
            return False
        self.used += size
        return True

    def wait(self, owner: Hashable, size: int, granted: Callable[[], None]) -> None:
        """Call `granted` when there is room; it is taken then."""
        self._queue.append((owner, size, granted))

    def release(self, size: int) -> None:
        """Give room back."""
        self.used -= size
        self._grant()

    def forget(self, owner: Hashable) -> None:
        """Who waited has gone."""
        self._queue = deque(each for each in self._queue if each[0] != owner)
        self._grant()

    def _fits(self, size: int) -> bool:
        return not self.used or self.used + size <= self.total

    def _grant(self) -> None:
        while self._queue and self._fits(self._queue[0][1]):
            _, size, granted = self._queue.popleft()
            self.used += size
            granted()
