"""Bytes in, the places out where they spell text: bytes that were read as numbers, and are none.

A frame that is read by a wrong layout may decode to its end by chance, or its first fields do. Then numbers, sizes and
tags are parts of names. Four letters in a row are taken for such a part, and so are eight characters of names; a large
number is mistaken for one now and then (one in 600 has four letters as its last bytes).
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["SPELLED", "still_spells_text"]

# A letter in UTF-8: one of ASCII, of the alphabets with two bytes, of the scripts with three bytes.
_LETTER: Final = rb"(?:[A-Za-z]|[\xc3-\xdf][\x80-\xbf]|[\xe1-\xed][\x80-\xbf]{2})"
SPELLED: Final = re.compile(_LETTER + rb"{4,}|[0-9A-Za-z._:/@-]{8,}")
# Overwritten text may have been of these letters before.
_FILLED: Final = re.compile(rb"x+")
_EQUAL: Final = bytes((255, *bytes(255)))  # 0 becomes 255, everything else 0


def still_spells_text(before: bytes, after: bytes) -> bool:
    """Whether bytes that were rewritten, at the same length, still spell a text that they spelled before."""
    size = len(before)
    old, new = int.from_bytes(before, "big"), int.from_bytes(after, "big")
    equal = int.from_bytes((old ^ new).to_bytes(size, "big").translate(_EQUAL), "big")
    same = (old & equal).to_bytes(size, "big")
    return any(not _FILLED.fullmatch(found[0]) for found in SPELLED.finditer(same))
