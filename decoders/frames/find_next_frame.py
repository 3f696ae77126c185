"""Bytes of a direction that has lost its step in, the offset of the next frame out.

The problem. Behind a lost size field any offset may be the next head, and many byte patterns look like one: four small
bytes and a key below 100 are common in records.

The idea. Try the likely offsets first, and believe an offset only if enough speaks for it:

```
1. the segment's first byte    senders write whole messages, so most segments begin with one
2. offsets inside it that a cheap look allows (the known client id, an awaited correlation id)
      YES   whole, decodes to its last byte, and followed by the segment's end or another head → believed
      FITS  much of it there, all of that decodes, and it claims at most INNER_MAX               → believed
      HEAD  only the head fits                                                             → not inside a segment
```

Whether bytes are a frame is asked of the connection's pairing object, which knows the requests.

What is given up: a true frame inside a segment of which too little is there is skipped; the next segment has another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, Final

from decoders.frames.read_and_judge_headers import FITS, NO, RESPONSE, YES
from decoders.limits import FRAME_MAX

# Places where a frame may begin


# A size up to 128 MiB, a key up to 127, a version up to 31, a correlation id, a client id of up to 1023 bytes or null.
_REQUEST: Final = re.compile(rb"(?=[\0-\x08]...\0[\0-\x7f]\0[\0-\x1f]....(?:\xff\xff|[\0-\x03].))", re.DOTALL)
# Up to so many correlation ids it is cheaper to look for each of them than to look at every offset.
FEW: Final = 200


def find_request_places(data: bytes, at: int, client_id: bytes | None) -> list[int]:
    """Where requests may begin; if the client id is known, only where it stands behind the head."""
    if not client_id:
        return [found.start() for found in _REQUEST.finditer(data, at)]
    sought = len(client_id).to_bytes(2, "big") + client_id
    places = []
    found = data.find(sought, at + 12)
    while found >= 0:
        places.append(found - 12)
        found = data.find(sought, found + 1)
    return places


def find_response_places(data: bytes, at: int, waited_for: Collection[int]) -> list[int]:
    """Where responses with one of these correlation ids may begin."""
    if len(waited_for) > FEW:
        return [
            place
            for place in range(at, len(data) - 7)
            if (head := RESPONSE.unpack_from(data, place))[1] in waited_for and 4 <= head[0] <= FRAME_MAX
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


# A frame that begins inside a segment and is not whole there is believed up to this size: a wrong one hides its bytes.
INNER_MAX: Final = 4 << 20

Judge = Callable[[Any, bytes, int], int]


def find_first_judged_frame(
    judge: Judge, find_frame_candidates: Callable[[Any, bytes, int], list[int]], direction: Any, data: bytes, at: int
) -> int:
    """The offset of the first frame in `data` from `at` on, -1 when there is none."""
    if at == 0 and judge(direction, data, 0) != NO:
        return 0
    for place in find_frame_candidates(direction, data, max(at, 1)):
        verdict = judge(direction, data, place)
        size = int.from_bytes(data[place : place + 4], "big")
        if verdict == FITS and size <= INNER_MAX:
            return place
        if verdict == YES:
            after = place + 4 + size
            if after >= len(data) or len(data) - after < 14 or judge(direction, data, after) != NO:
                return place
    return -1
