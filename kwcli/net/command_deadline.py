"""The time that a command may take in all, and what is left of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from kwcli.run_environment import Exit, Failure


class Deadline:
    """An instant by which everything must be over; `clock` gives monotonic seconds."""

    __slots__ = ("_clock", "_end", "seconds")

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self.seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    def left(self) -> float:
        """Seconds until the deadline, never below 0."""
        return max(0.0, self._end - self._clock())

    def limit_to(self, seconds: float) -> Deadline:
        """The deadline `seconds` from now, or this one where it comes first."""
        return self if seconds >= self.left() else Deadline(seconds, self._clock)


# Work that cannot be interrupted


Outcome = TypeVar("Outcome")


def run_in_time(work: Callable[[], Outcome], deadline: Deadline, silence: str) -> Outcome:
    """The outcome of `work`, run in a thread that a time-out leaves alone: a Failure that begins with `silence`."""
    outcomes: list[Outcome] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            outcomes.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(deadline.left())
    if errors:
        raise errors.pop()  # popped: else the traceback of the error would refer to it
    if not outcomes:
        raise Failure(f"{silence} within {deadline.seconds:.3g} s", Exit.TIMEOUT)
    return outcomes[0]
