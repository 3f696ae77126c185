"""Work in a daemon thread: the end of the program does not wait for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Generic, TypeVar

__all__ = ["BackgroundCall"]

Made = TypeVar("Made")


class BackgroundCall(Thread, Generic[Made]):
    """`start()` calls `do` in a thread; `result()` waits for its result, or raises the exception that it raised."""

    def __init__(self, do: Callable[[], Made]) -> None:
        super().__init__(daemon=True)
        self._do = do
        self._made: Future[Made] = Future()

    def run(self) -> None:
        """Call `do`, in the thread."""
        try:
            self._made.set_result(self._do())
        except BaseException as problem:
            self._made.set_exception(problem)

    def result(self) -> Made:
        """Wait for the result of `do`; Ctrl-C ends the waiting, not the work."""
        return self._made.result()
