"""Brokers that did not let the proxy in, how long they are not asked again out: from a second to half a minute.

Clients try again many times a second, and an account that fails as often may be locked. Whoever comes meanwhile is
turned away at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kwcli.net.core.config import Address

FIRST_S: Final = 1.0
MOST_S: Final = 30.0


class Pauses:
    """`now_s` is a clock that never goes back."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._known: dict[Address, tuple[float, float]] = {}  # until when, and how long that was

    def begin(self, address: Address) -> float | None:
        """A login failed: so many seconds nobody tries again; None where that is settled already."""
        until, last_s = self._known.get(address, (0.0, 0.0))
        if self._now_s() < until:
            return None
        length_s = min(max(2 * last_s, FIRST_S), MOST_S)
        self._known[address] = (self._now_s() + length_s, length_s)
        return length_s

    def end(self, address: Address) -> None:
        """A login was taken."""
        self._known.pop(address, None)

    def holds(self, address: Address) -> bool:
        """Whether nobody should try now."""
        return address in self._known and self._now_s() < self._known[address][0]
