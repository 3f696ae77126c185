"""A call that may block for ever in, its result out, or an end when the time is over."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from kwcli.env import Exit, Failure
from kwcli.net.deadline import Deadline

# Work that cannot be interrupted in, its outcome out, or a time-out: the caller goes on, whatever the work does.


Outcome = TypeVar("Outcome")


def in_time(work: Callable[[], Outcome], deadline: Deadline, silence: str) -> Outcome:
    """What `work` gives or raises. Failure (time-out) begins with `silence`; the thread then ends when it can."""
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
        raise errors.pop()  # which does not hold itself by its traceback then
    if not outcomes:
        raise Failure(f"{silence} within {deadline.seconds:.3g} s", Exit.TIMEOUT)
    return outcomes[0]
