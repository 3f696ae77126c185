"""What a decoder is to make of a message: which of its fields, and in what form.

A `Want` says what of a field is kept: None skips it (its bytes are still checked), ALL keeps it whole, a dict keeps
those fields of a struct, a word is a cheap form (`span`: where the bytes are; `raw`: also where it is a secret;
`count`: of an array).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

Want = Any  # None | str | dict[str, Want]
ALL: Final = ""
# Kinds that have a size before them.
SIZED: Final = frozenset({"string", "bytes", "records"})


class Mode(NamedTuple):
    """Which values a decoder makes. A `careful` one reads any text and counts values; others pass such messages on.

    A careful projection, which large messages have, keeps no more than VIEW_ELEMENTS_MAX elements of arrays.
    """

    json: bool = False
    projection: bool = False
    errors: bool = False
    careful: bool = False
    reveal: bool = True
    raw_uuids: bool = False
    hooks: Mapping[str, str] = MappingProxyType({})


def part(want: Want, name: str) -> Want:
    """What is wanted of a field of a struct of which `want` is wanted."""
    return want.get(name) if isinstance(want, dict) else None if want is None else ALL
