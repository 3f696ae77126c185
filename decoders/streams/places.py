"""Bytes of a direction that has lost its step in, the offsets where a cheap look allows a frame out."""

from __future__ import annotations

import re
from collections.abc import Collection
from struct import Struct
from typing import Final

from decoders.limits import FRAME_MAX

# A size up to 128 MiB, a key up to 127, a version up to 31, a correlation id, a client id of up to 1023 bytes or null.
_REQUEST: Final = re.compile(rb"(?=[\0-\x08]...\0[\0-\x7f]\0[\0-\x1f]....(?:\xff\xff|[\0-\x03].))", re.DOTALL)
_RESPONSE: Final = Struct(">ii")
# Up to so many correlation ids it is cheaper to look for each of them than to look at every offset.
FEW: Final = 200


def request_places(data: bytes, at: int, client_id: bytes | None) -> list[int]:
    """Where requests may begin; with the connection's client id only where it stands behind the head."""
    if not client_id:
        return [found.start() for found in _REQUEST.finditer(data, at)]
    sought = len(client_id).to_bytes(2, "big") + client_id
    places = []
    found = data.find(sought, at + 12)
    while found >= 0:
        places.append(found - 12)
        found = data.find(sought, found + 1)
    return places


def response_places(data: bytes, at: int, waited_for: Collection[int]) -> list[int]:
    """Where responses with one of these correlation ids may begin."""
    if len(waited_for) > FEW:
        return [
            place
            for place in range(at, len(data) - 7)
            if (head := _RESPONSE.unpack_from(data, place))[1] in waited_for and 4 <= head[0] <= FRAME_MAX
        ]
    places = []
    for correlation_id in waited_for:
        sought = correlation_id.to_bytes(4, "big", signed=True)
        found = data.find(sought, at + 4)
        while found >= 0:
            if 4 <= int.from_bytes(data[found - 4 : found], "big", signed=True) <= FRAME_MAX:
                places.append(found - 4)
            found = data.find(sought, found + 1)
    return sorted(places)
