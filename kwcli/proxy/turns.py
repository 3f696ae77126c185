"""Work that connections could not do at once in, each piece called when others have had their turn out.

A client that sends thousands of requests in one piece, or gets as many answers, would have the loop for as long as all
of that takes, and many such clients together for seconds. So a connection does a bounded piece of work when its bytes
come; what is left waits here, and so does reading on from its socket after that. In every turn of the loop one piece
is done, that which waited longest, between the bytes of everybody else. Where nobody else has anything to do,
turns follow each other at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

# Pieces of one turn, of half a millisecond or less: what everybody else waits, however many wait here.
PIECES: Final = 1


class Turns:
    """`later` is to be called in the running loop."""

    __slots__ = ("_asked", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Callable[[], None]] = deque()  # not empty while some have more to do than they may
        self._asked = False  # the loop knows that there is work

    def later(self, work: Callable[[], None]) -> None:
        """Call it, after all that waits already."""
        self.waiting.append(work)
        self._ask()

    def _ask(self) -> None:
        if not self._asked:
            self._asked = True
            asyncio.get_running_loop().call_soon(self._take)

    def _take(self) -> None:
        """One turn: nothing that is left meanwhile."""
        self._asked = False
        try:
            for _ in range(min(len(self.waiting), PIECES)):
                self.waiting.popleft()()
        finally:
            if self.waiting:
                self._ask()
