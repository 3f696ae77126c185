"""A number of 32 bits, as Python has it, in; the shortest decimal number that means the same out."""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import Final

_FLOAT: Final = Struct("<f")


def shorten_float(number: float) -> float:
    """0.1 for 0.10000000149011612, which is the float of 32 bits that is nearest to 0.1."""
    return number if number.is_integer() or number - number != 0 else _find_shortest(number)


@lru_cache(maxsize=4096)
def _find_shortest(number: float) -> float:
    packed = _FLOAT.pack(number)
    for digits in (6, 7, 8):
        short = float(f"{number:.{digits}g}")
        if abs(short) < 3.4e38 and _FLOAT.pack(short) == packed:
            return short
    return float(f"{number:.9g}")
