"""The bytes that buffered frames of all connections may take together, and each connection's share of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Final

from decoders.limits import HELD_MAX

SHARED_MEMORY_MAX: Final = HELD_MAX


class SharedMemory:
    """Memory for buffered frames of all connections: `used` bytes of `total` are taken."""

    __slots__ = ("_queue", "total", "used")

    def __init__(self, total: int = SHARED_MEMORY_MAX) -> None:
        self.total = total
        self.used = 0
        self._queue: deque[tuple[Hashable, int, Callable[[], None]]] = deque()

    @property
    def has_waiters(self) -> bool:
        """Whether a connection waits for room."""
        return bool(self._queue)

    def reserve(self, size: int) -> bool:
        """Take `size` bytes; False where there is no room, or others wait for it."""
        if self._queue or not self._has_room_for(size):
            return False
        self.used += size
        return True

    def wait_for_room(self, owner: Hashable, size: int, granted: Callable[[], None]) -> None:
        """Take `size` bytes for `owner` when there is room, then call `granted`."""
        self._queue.append((owner, size, granted))

    def release(self, size: int) -> None:
        """Give room back."""
        self.used -= size
        self._grant_waiting()

    def forget_owner(self, owner: Hashable) -> None:
        """Remove an owner from those that wait for room."""
        self._queue = deque(each for each in self._queue if each[0] != owner)
        self._grant_waiting()

    def _has_room_for(self, size: int) -> bool:
        return not self.used or self.used + size <= self.total

    def _grant_waiting(self) -> None:
        while self._queue and self._has_room_for(self._queue[0][1]):
            _, size, granted = self._queue.popleft()
            self.used += size
            granted()


# A connection's share


class MemoryShare:
    """One connection's share of the memory; `full` asks whether the client's buffer is full.

    Room is taken before a frame is buffered, and given back when the client's socket has the frame: bytes in a full
    buffer still take memory, so their room is owed until the buffer has drained.
    """

    __slots__ = ("_full", "_looked", "_owed", "_shared_memory", "_taken")

    def __init__(self, shared_memory: SharedMemory, full: Callable[[], bool]) -> None:
        self._shared_memory = shared_memory
        self._full = full
        self._taken = 0
        self._owed = 0  # to be given back when the client's socket has taken what is in its buffer
        self._looked = 0  # bytes in the client's buffer at the last `stalled`

    def reserve(self, size: int) -> bool:
        """Take room for a frame; False where there is none."""
        if self._shared_memory.reserve(size):
            self._taken += size
            return True
        return False

    def wait_for_room(self, size: int, granted: Callable[[], None]) -> None:
        """Take room for a frame when there is some, then call `granted`."""

        def count_granted() -> None:
            self._taken += size
            granted()

        self._shared_memory.wait_for_room(self, size, count_granted)

    def release_when_drained(self, size: int) -> None:
        """Give back the room of a frame that was sent; where the client's buffer is full, once it has drained."""
        if self._full():
            self._owed += size
            self._looked = 0
            return
        self._taken -= size
        self._shared_memory.release(size)

    def release_owed_memory(self) -> None:
        """Give back the room that is owed: the client's buffer has room again."""
        if self._owed:
            owed, self._owed = self._owed, 0
            self._looked = 0
            self.release_when_drained(owed)

    def is_stalled(self, left: int) -> bool:
        """Whether the client has taken nothing since the last call; `left` is how many bytes are in its buffer."""
        before, self._looked = self._looked, left if self._owed else 0
        return 0 < before == self._looked

    def stop_waiting(self) -> None:
        """Stop waiting for room: the connection ends."""
        self._shared_memory.forget_owner(self)

    def release_all(self) -> None:
        """Give back all room of the connection: the client has gone."""
        size, self._taken, self._owed = self._taken, 0, 0
        if size:
            self._shared_memory.release(size)
