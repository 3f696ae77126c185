"""Times in, time slices out: how something went over time, when nobody knows beforehand how long it takes.

Slices are 2^shift ns wide and begin at multiples of that. They start narrow and are joined by twos until all time seen
fits into SLICES_MAX of them: the width in the end depends on the first and the last time alone, not on the order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

# A millisecond.
SHIFT_MIN: Final = 20
# At least half as many are there in the end, more than a line has room for.
SLICES_MAX: Final = 128

Join = Callable[[int, int], int]


def add_amounts(one: int, other: int) -> int:
    """The join of amounts."""
    return one + other


def shift_for(first_ns: int, last_ns: int, shift: int = SHIFT_MIN) -> int:
    """How wide slices must be for the time between these."""
    while (last_ns >> shift) - (first_ns >> shift) >= SLICES_MAX:
        shift += 1
    return shift


def join_slices(slices: dict[int, int], by: int, join: Join) -> dict[int, int]:
    """Slices joined by 2^by."""
    out: dict[int, int] = {}
    for number, value in slices.items():
        number >>= by
        out[number] = join(out[number], value) if number in out else value
    return out


def merge_slices(one: dict[int, int], other: dict[int, int], join: Join) -> None:
    """Join the slices of `other`, which are as wide, into `one`."""
    for number, value in other.items():
        one[number] = join(one[number], value) if number in one else value
