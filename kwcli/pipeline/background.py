"""Work done in a thread of its own, for which the end of the program does not wait."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Generic, TypeVar

__all__ = ["Background"]

Made = TypeVar("Made")


class Background(Thread, Generic[Made]):
    """`start()` begins with `do`; `result()` waits for what it gives, and raises what it raised."""

    def __init__(self, do: Callable[[], Made]) -> None:
        super().__init__(daemon=True)
        self._do = do
        self._made: Future[Made] = Future()

    def run(self) -> None:
        """Do it, in the thread."""
        try:
            self._made.set_result(self._do())
        except BaseException as problem:
            self._made.set_exception(problem)

    def result(self) -> Made:
        """What was made, once it is; Ctrl-C ends the waiting, not the work."""
        return self._made.result()
