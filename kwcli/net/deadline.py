"""The time that a command may take in all, and what is left of it."""

from __future__ import annotations

from collections.abc import Callable


class Deadline:
    """An instant by which everything must be over; `clock` gives monotonic seconds."""

    __slots__ = ("_clock", "_end", "seconds")

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self.seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    def left(self) -> float:
        """Seconds until then, never below 0."""
        return max(0.0, self._end - self._clock())

    def sooner(self, seconds: float) -> Deadline:
        """The deadline `seconds` from now, or this one where it comes first."""
        return self if seconds >= self.left() else Deadline(seconds, self._clock)
