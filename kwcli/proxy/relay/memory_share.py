"""One number of bytes for all frames that are held, over all connections, and each connection's part of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Final

from decoders.limits import HELD_MAX

BUDGET: Final = HELD_MAX


class SharedMemory:
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


# One connection's part of the budget: taken before a frame is held, given back when the client's socket has it.
#
# What goes into a full buffer still takes memory, so its room is owed until the buffer has drained.


class MemoryShare:
    """`full` asks whether the client's buffer is full."""

    __slots__ = ("_budget", "_full", "_looked", "_owed", "_taken")

    def __init__(self, budget: SharedMemory, full: Callable[[], bool]) -> None:
        self._budget = budget
        self._full = full
        self._taken = 0
        self._owed = 0  # to be given back when the client's socket has taken what is in its buffer
        self._looked = 0  # bytes in the client's buffer when somebody looked

    def take(self, size: int) -> bool:
        """Room for a frame, if there is some."""
        if self._budget.take(size):
            self._taken += size
            return True
        return False

    def wait(self, size: int, granted: Callable[[], None]) -> None:
        """Call `granted` when there is."""

        def taken() -> None:
            self._taken += size
            granted()

        self._budget.wait(self, size, taken)

    def give(self, size: int) -> None:
        """A frame has been sent to the client."""
        if self._full():
            self._owed += size
            self._looked = 0
            return
        self._taken -= size
        self._budget.release(size)

    def drained(self) -> None:
        """The client's buffer has room again."""
        if self._owed:
            owed, self._owed = self._owed, 0
            self._looked = 0
            self.give(owed)

    def stalled(self, left: int) -> bool:
        """Whether the client has taken nothing since this was asked before; `left` are the bytes in its buffer."""
        before, self._looked = self._looked, left if self._owed else 0
        return 0 < before == self._looked

    def wait_no_more(self) -> None:
        """The connection ends: nothing more will be held for it."""
        self._budget.forget(self)

    def leave(self) -> None:
        """The client has gone, and all that was for it."""
        size, self._taken, self._owed = self._taken, 0, 0
        if size:
            self._budget.release(size)
