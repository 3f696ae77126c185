"""Keys and weights in, which keys a fold keeps out: the heaviest, however many different keys come.

Theory of operation. A fold keeps what it counts by key (client, topic, group …), and whoever sends traffic chooses how
many keys there are. So when a fold has a share more keys than KEYS_SHOWN_MAX, it keeps the KEYS_SHOWN_MAX heaviest and
adds up what it had of all others in one place, "the others": sums stay exact. A key that comes again begins anew,
so the numbers of a key that is kept are at most its true numbers: the rest is with the others.

A key that begins late would never catch up with keys that have been counted for an hour. So a key begins with the
`floor`, the greatest weight that was ever left out (Misra and Gries, 1982; the counters there are the weights here less
the floor):

    floor 0:  a 9, b 7, c 1, d 1, e 1         e is one too many ─► a, b, c stay, d and e are left out: the floor is 1
    floor 1:  a 9, b 7, c 1, f 1+1, g 1+1     c is the lightest now

Most of very many keys come once. So from then on a key is only taken when it comes for the second time; its first time
counts with the others.

What always holds: each time that the floor rises by one, KEYS_SHOWN_MAX keys that stay have risen above it by one. So
the floor is at most all weight divided by KEYS_SHOWN_MAX, and a key with a greater share of all weight is kept,
whenever it begins, with at least its weight less the floor and its first time. That holds for merged folds too. Up to
KEYS_SHOWN_MAX keys nothing is left out, and the result does not depend on the order.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from math import log
from typing import Any, Final

from decoders.errors import Malformed
from decoders.limits import KEYS_SHOWN_MAX
from decoders.wire.state_serialization import state_fields

__all__ = ["DistinctCount", "HeavyKeys", "fits_row_limit", "has_too_many_keys", "split_by_weight"]

Key = tuple[Any, ...]
# So many hashes of keys, 0.1 KiB each, are remembered twice.
_ONCE_MAX: Final = 5 * 10**4


def fits_row_limit(keys: int) -> bool:
    """Whether so many keys all have rows."""
    return keys <= KEYS_SHOWN_MAX


def has_too_many_keys(keys: int, share: int = 4) -> bool:
    """Whether a fold with so many keys has to leave out some before it takes another.

    It holds a `share`-th more than have rows: 1, twice as many, takes less time where keys take little memory.
    """
    return keys > KEYS_SHOWN_MAX + KEYS_SHOWN_MAX // share


def split_by_weight(weights: Iterable[tuple[Key, int]], most: int | None = None) -> tuple[list[Key], list[Key]]:
    """The keys of the `most` greatest weights (None: as many as have rows), and all other keys, heaviest first.

    Of equal weights those that come first are kept.
    """
    most = KEYS_SHOWN_MAX if most is None else most
    ranked = [key for key, _ in sorted(weights, key=lambda item: -item[1])]
    return ranked[:most], ranked[most:]


class HeavyKeys:
    """Which keys of a fold to keep. `left_out` counts the keys that were left out."""

    __slots__ = ("_begun", "_floor", "_once", "_once_before", "left_out")

    def __init__(self) -> None:
        self._begun: dict[Key, int] = {}  # what a key began with, where that is not 0
        self._floor = 0
        # Hashes of keys that came once: of the latest, and of those before.
        self._once: set[int] = set()
        self._once_before: set[int] = set()
        self.left_out = DistinctCount()

    def admit_key(self, key: Key, weight: int = 1) -> bool:
        """Whether the fold takes a key of this weight that it does not have; if not, it counts with the others."""
        if not self.left_out:
            return True
        if weight < 2 and self._note_hash_if_new(hash(key)):
            self.left_out.add(key)
            return False
        if self._floor:
            self._begun.setdefault(key, self._floor)
        return True

    def _note_hash_if_new(self, number: int) -> bool:
        if number in self._once or number in self._once_before:
            return False
        if len(self._once) >= _ONCE_MAX:
            self._once_before, self._once = self._once, set()
        self._once.add(number)
        return True

    def leave_out_light_keys(self, weights: Iterable[tuple[Key, int]], most: int | None = None) -> list[Key]:
        """The keys that the fold must give up to have no more than the `most` heaviest, of all that it has.

        None: as many as have rows.
        """
        begun = self._begun
        ranks = {key: weight + begun.get(key, 0) for key, weight in weights}
        _, light = split_by_weight(ranks.items(), most)
        if light:
            self._floor = max(self._floor, ranks[light[0]])
        for key in light:
            begun.pop(key, None)
            self.left_out.add(key)
        return light

    def merge(self, other: HeavyKeys, mine: Iterable[Key], theirs: Iterable[Key]) -> None:
        """Join with the keys of another fold; `mine` and `theirs` are the keys that both folds have before."""
        self.left_out.merge(other.left_out)
        if self._floor or other._floor:
            mine, theirs = set(mine), set(theirs)
            begun = {}
            for key in mine | theirs:
                one = self._begun.get(key, 0) if key in mine else self._floor
                begun[key] = one + (other._begun.get(key, 0) if key in theirs else other._floor)
            self._begun = begun
            self._floor += other._floor

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [self._floor, list(self._begun.items()), self.left_out.state()]

    @classmethod
    def make_resumed(cls, state: object) -> HeavyKeys:
        """What `state` gave, again. Raises DecodeError."""
        made = cls()
        made._floor, begun, left_out = state_fields(state, int, list, bytes)
        for item in begun:
            key, floor = state_fields(item, tuple, int)
            made._begun[key] = floor
        made.left_out = DistinctCount.make_resumed(left_out)
        return made


# 2^12 registers: the error is 1.04 / √4096, less than 2 %.
_BITS: Final = 12
_SIZE: Final = 1 << _BITS


class DistinctCount:
    """About how many different keys there were, in 4 KiB: HyperLogLog (Flajolet and others, 2007)."""

    __slots__ = ("_registers",)

    def __init__(self) -> None:
        self._registers = bytearray()  # none before the first key

    def __bool__(self) -> bool:
        return bool(self._registers)

    def add(self, key: Key) -> None:
        """Count a key."""
        if not self._registers:
            self._registers = bytearray(_SIZE)
        text = repr(key).encode("utf-8", "surrogatepass")
        number = int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
        at, rest = number & (_SIZE - 1), number >> _BITS
        zeros = 64 - _BITS - rest.bit_length() + 1
        if zeros > self._registers[at]:
            self._registers[at] = zeros

    def merge(self, other: DistinctCount) -> None:
        """Count the keys that `other` has counted."""
        if other:
            mine = self._registers or bytes(_SIZE)
            self._registers = bytearray(map(max, mine, other._registers))

    def estimate_count(self) -> int:
        """About how many different keys were counted; exact for a few."""
        if not self._registers:
            return 0
        empty = self._registers.count(0)
        found = 0.7213 / (1 + 1.079 / _SIZE) * _SIZE**2 / sum(2.0**-each for each in self._registers)
        if found <= 2.5 * _SIZE and empty:
            found = _SIZE * log(_SIZE / empty)
        return max(round(found), 1)

    def state(self) -> bytes:
        """The state, for `make_resumed`."""
        return bytes(self._registers)

    @classmethod
    def make_resumed(cls, state: bytes) -> DistinctCount:
        """What `state` gave, again. Raises DecodeError."""
        if len(state) not in (0, _SIZE):
            raise Malformed(f"a count of different keys has {_SIZE} registers, not {len(state)}")
        made = cls()
        made._registers = bytearray(state)
        return made
