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
import struct
from collections.abc import Callable, Collection, Mapping
from struct import Struct
from typing import Any, Final

from decoders.apis import NAMES, api
from decoders.apis.keys import API_VERSIONS, CONTROLLED_SHUTDOWN
from decoders.errors import DecodeError
from decoders.frames.headers import REQUEST, plan_of, request_head, response_body
from decoders.limits import BODY_WHOLE_MAX, FRAME_MAX
from decoders.schema.large_body import LargeWalker
from decoders.schema.model import Plan
from decoders.schema.walk import Walker

# Bytes that may be a Kafka frame in, a verdict out: the head is a prefilter only, the body decides.
#
# A whole body must decode to its last byte. A body whose end is not there yet must decode as far as it is there: with
# `BODY_SHOWN` bytes of it the verdict is FITS, with less only the head counts (HEAD).


BODY_SHOWN: Final = 48
# Versions beyond the newest known one that are taken for a newer release's.
NEWER: Final = 4
CLIENT_ID_MAX: Final = 1024
# The newest error code is 136; a broker throttles for quota windows, that is seconds.
ERROR_CODE_MAX: Final = 512
THROTTLE_MAX: Final = 86_400_000


def request_verdict(data: bytes, at: int, client_id: bytes | None = None) -> int:
    """The verdict on a request with its size field at `at`; `client_id` is the connection's where it is known."""
    if len(data) - at < 12:
        return NO
    if len(data) - at < 14:
        return _short_request(data, at)
    size, key, version, _, length = REQUEST.unpack_from(data, at)
    if not 8 <= size <= FRAME_MAX or key not in NAMES or not 0 <= version <= api(key).versions.high + NEWER:
        return NO
    if key == CONTROLLED_SHUTDOWN and version == 0:
        return _short_request(data, at)
    if not -1 <= length <= min(size - 10, CLIENT_ID_MAX):
        return NO
    shown = data[at + 14 : at + 14 + max(length, 0)]
    if client_id is not None and shown != client_id[: len(shown)]:
        return NO
    if not _readable(shown):
        return NO
    end = at + 4 + size
    plan = plan_of(key, version, "request")
    if plan is None:
        return HEAD
    try:
        body = request_head(data, at, end).body
    except DecodeError:
        return NO
    except IndexError:
        return HEAD
    return body_verdict(plan, data, body, end)


def _short_request(data: bytes, at: int) -> int:
    """The verdict on the one request without a client id, ControlledShutdown 0."""
    size, key, version, _ = _SHORT.unpack_from(data, at)
    plan = plan_of(CONTROLLED_SHUTDOWN, 0, "request")
    if (key, version, size) != (CONTROLLED_SHUTDOWN, 0, 12) or plan is None:
        return NO
    return body_verdict(plan, data, at + 12, at + 16)


_SHORT: Final = struct.Struct(">ihhi")


def _readable(client_id: bytes) -> bool:
    try:
        return client_id.decode().isprintable()
    except UnicodeDecodeError as failure:
        return failure.end == len(client_id) and len(client_id) > 8  # cut off inside a character


def response_verdict(data: bytes, at: int, key: int, version: int) -> int:
    """The verdict on a response with its size field at `at`, to a request of this API key and version."""
    if len(data) - at < 8:
        return NO
    size = int.from_bytes(data[at : at + 4], "big", signed=True)
    if not 4 <= size <= FRAME_MAX:
        return NO
    end = at + 4 + size
    plan = plan_of(key, version, "response")
    verdict = NO
    if plan is not None:
        try:
            verdict = body_verdict(plan, data, response_body(data, at, end, key, version), end)
        except DecodeError:
            verdict = NO
        except IndexError:
            verdict = HEAD
    if verdict != YES and key == API_VERSIONS and version:
        oldest = plan_of(API_VERSIONS, 0, "response")
        assert oldest is not None
        verdict = max(verdict, body_verdict(oldest, data, at + 8, end))
    if plan is None and key != API_VERSIONS:
        return HEAD
    return verdict


def _sane(fields: Mapping[str, Any]) -> bool:
    """Whether no field that was read has an impossible value: other bytes often decode, but to such values."""
    if not -1 <= fields.get("error_code", 0) <= ERROR_CODE_MAX:
        return False
    if not 0 <= fields.get("throttle_time_ms", 0) <= THROTTLE_MAX:
        return False
    # No Produce request without topics: the zeros of many a response would read as one.
    return bool(fields.get("topic_data", True))


def body_verdict(plan: Plan, data: bytes, at: int, end: int) -> int:
    """The verdict on a body from `at` to `end`, of which only a part may be there."""
    whole = end <= len(data)
    if not whole and len(data) - at > BODY_WHOLE_MAX:  # so much that decodes is enough
        data, at, end = data[at : at + BODY_WHOLE_MAX], 0, end - at
    walker = LargeWalker(data) if whole and end - at > BODY_WHOLE_MAX else Walker(data)
    try:
        after = walker.read(plan, at, end)
    except DecodeError:
        return NO
    except (IndexError, struct.error):
        if not _sane(walker.root):
            return NO
        return FITS if len(data) - at >= BODY_SHOWN else HEAD
    if after != end or not _sane(walker.root):
        return NO
    if whole:
        return YES
    return FITS if len(data) - at >= BODY_SHOWN else HEAD


# Bytes of a direction that has lost its step in, the offsets where a cheap look allows a frame out.


# A size up to 128 MiB, a key up to 127, a version up to 31, a correlation id, a client id of up to 1023 bytes or null.
_REQUEST: Final = re.compile(rb"(?=[\0-\x08]...\0[\0-\x7f]\0[\0-\x1f]....(?:\xff\xff|[\0-\x03].))", re.DOTALL)
_RESPONSE: Final = Struct(">ii")
# Up to so many correlation ids it is cheaper to look for each of them than to look at every offset.
FEW: Final = 200


def request_places(data: bytes, at: int, client_id: bytes | None) -> list[int]:
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


# Verdicts about bytes that may be a frame.
NO: Final = 0
HEAD: Final = 1  # the head fits what is known; too little of the body to say more, or a version that nobody knows
FITS: Final = 2  # the head fits and so does a good part of the body, whose end is not there
YES: Final = 3  # whole, and it decodes to its last byte

# A frame that begins inside a segment and is not whole there is believed up to this size: a wrong one hides its bytes.
INNER_MAX: Final = 4 << 20

Judge = Callable[[Any, bytes, int], int]


def find(
    plausible: Judge, candidates: Callable[[Any, bytes, int], list[int]], direction: Any, data: bytes, at: int
) -> int:
    """The offset of the first frame in `data` from `at` on, -1 when there is none."""
    if at == 0 and plausible(direction, data, 0) != NO:
        return 0
    for place in candidates(direction, data, max(at, 1)):
        verdict = plausible(direction, data, place)
        size = int.from_bytes(data[place : place + 4], "big")
        if verdict == FITS and size <= INNER_MAX:
            return place
        if verdict == YES:
            after = place + 4 + size
            if after >= len(data) or len(data) - after < 14 or plausible(direction, data, after) != NO:
                return place
    return -1
