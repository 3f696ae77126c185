"""Times in, time slices out, of a width that fits the time seen, which nobody knows beforehand.

Slices are 2^shift ns wide and begin at multiples of that. They start narrow and are joined in pairs until all time seen
fits into SLICES_MAX of them: the width in the end depends on the first and the last time alone, not on the order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

# A millisecond.
SHIFT_MIN: Final = 20
# In the end there are at least half as many slices, more than a line of text has room for.
SLICES_MAX: Final = 128

Join = Callable[[int, int], int]


def add_amounts(one: int, other: int) -> int:
    """The sum of two amounts, as a `Join`."""
    return one + other


def find_slice_shift(first_ns: int, last_ns: int, shift: int = SHIFT_MIN) -> int:
    """The shift that slices need for the time from `first_ns` to `last_ns`; `shift` or more."""
    while (last_ns >> shift) - (first_ns >> shift) >= SLICES_MAX:
        shift += 1
    return shift


def join_slices(slices: dict[int, int], by: int, join: Join) -> dict[int, int]:
    """Slices that are 2^by times as wide."""
    out: dict[int, int] = {}
    for number, value in slices.items():
        number >>= by
        out[number] = join(out[number], value) if number in out else value
    return out


def merge_slices(one: dict[int, int], other: dict[int, int], join: Join) -> None:
    """Join the slices of `other`, which have the same width, into `one`."""
    for number, value in other.items():
        one[number] = join(one[number], value) if number in one else value
