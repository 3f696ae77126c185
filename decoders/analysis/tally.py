"""Keys and amounts in, one row for each key out, with what amounts of equal keys come to: the plainest fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

from decoders.analysis.fold import Row, in_order
from decoders.analysis.slices import Join, added
from decoders.errors import LimitExceeded, Malformed
from decoders.limits import GROUPS_MAX
from decoders.wire.state import fields, pack, unpack

# What a key is made of.
_PART: Final = str | int | None


class Tally:
    """Amounts of keys. `by` names the parts of a key; `amounts` says by name how two amounts come together.

    `noun` is what keys are called when there are too many.
    """

    def __init__(self, by: Sequence[str], amounts: Mapping[str, Join], noun: str = "") -> None:
        self.by = tuple(by)
        self.amounts = dict(amounts)
        self._noun = noun or f"groups by {', '.join(self.by)}"
        self._found: dict[tuple[Any, ...], list[int]] = {}

    def take(self, key: tuple[Any, ...], amounts: Sequence[int]) -> None:
        """Take in amounts of a key. Raises LimitExceeded when there are too many keys."""
        before = self._found.get(key)
        if before is not None:
            for at, (join, amount) in enumerate(zip(self.amounts.values(), amounts, strict=True)):
                before[at] = join(before[at], amount)
        elif len(self._found) >= GROUPS_MAX:
            raise LimitExceeded(f"more than {GROUPS_MAX:,} {self._noun}")
        else:
            self._found[key] = list(amounts)

    def merge(self, other: Self) -> None:
        """Take in what another has counted. Raises LimitExceeded and ValueError."""
        if self._parameters() != other._parameters():
            raise ValueError("tallies of different keys or amounts do not merge")
        for key, amounts in other._found.items():
            self.take(key, amounts)

    def _parameters(self) -> list[object]:
        return [list(self.by), list(self.amounts)]

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([self._parameters(), list(self._found.items())])

    def resume(self, state: bytes) -> None:
        """Go on where `export` was called. Raises DecodeError."""
        parameters, items = fields(unpack(state), list, list)
        if parameters != self._parameters():
            raise Malformed("the state of a tally of other keys or amounts")
        for item in items:
            key, amounts = fields(item, tuple, list)
            self.take(
                tuple(fields(key, *(_PART for _ in self.by))), list(fields(amounts, *(int for _ in self.amounts)))
            )

    def rows(self) -> list[Row]:
        """A row for each key, in their order: its parts and amounts."""
        names = (*self.by, *self.amounts)
        return [dict(zip(names, (*key, *amounts), strict=True)) for key, amounts in in_order(self._found)]


def sums(*names: str) -> dict[str, Join]:
    """Amounts that are added up."""
    return dict.fromkeys(names, added)
