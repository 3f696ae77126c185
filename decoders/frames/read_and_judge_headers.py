"""A frame's first bytes in, its header out: API, version, correlation id, client id, and where the body begins.

Further, bytes that may be a frame in, a verdict out whether they are one.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache
from struct import Struct
from typing import Any, Final

from decoders.apis import NAMES, api
from decoders.errors import DecodeError, Malformed, Truncated
from decoders.limits import BODY_WHOLE_MAX, FRAME_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import API_VERSIONS, CONTROLLED_SHUTDOWN
from decoders.schema.api_declaration import Plan, Side, resolve
from decoders.schema.defer_long_arrays import LargeWalker
from decoders.schema.plan_walker import Walker
from decoders.wire.format_and_escape_text import format_bytes
from decoders.wire.primitive_types import read_uvarint

# Size, API key, version, correlation id, client id length.
REQUEST: Final = Struct(">ihhih")
# Size, correlation id.
RESPONSE: Final = Struct(">ii")


class RequestHead(NamedTuple):
    """The fields of a request's header; `client_id` is in bytes, `body` is the offset of the body."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: bytes | None
    body: int


def may_begin_frame(data: bytes) -> bool:
    """Whether these first bytes of a direction may begin a frame: its size, below 16 MiB, begins with a zero.

    No record of TLS begins so, and no mark that proves another protocol (protocols/recognise_protocols.py).
    """
    return data.startswith(b"\0")


@cache
def find_stable_plan(key: int, version: int, side: Side) -> Plan | None:
    """The stable layout of a body; None when the API or this version of it is not known."""
    if key not in NAMES:
        return None
    declared = api(key)
    if version not in declared.versions:
        return None
    return resolve(declared.message(side), version)


@cache
def is_flexible(key: int, version: int) -> bool:
    """Whether this version has tagged fields; unknown versions of a known API are taken as newer ones."""
    return key in NAMES and version in api(key).flexible


def read_request_head(data: bytes, at: int, end: int) -> RequestHead:
    """The header of the request whose size field is at `at` and whose last byte is before `end`. Raises DecodeError."""
    if end - at < 12:
        raise Truncated("the bytes end inside the header of a request", offset=end)
    key, version, correlation_id = _HEAD.unpack_from(data, at + 4)
    if key == CONTROLLED_SHUTDOWN and version == 0:
        return RequestHead(key, version, correlation_id, None, at + 12)
    if end - at < 14:
        raise Truncated("the bytes end inside the header of a request", offset=end)
    size = _LENGTH.unpack_from(data, at + 12)[0]
    body = at + 14
    client_id = None
    if size >= 0:
        body += size
        if body > end:
            raise Truncated(f"a client id of {format_bytes(size)}", offset=at + 14, path="client_id")
        client_id = data[at + 14 : body]
    elif size < -1:
        raise Malformed(f"a length of {size}", offset=at + 12, path="client_id")
    if is_flexible(key, version):
        body = skip_header_tags(data, body, end)
    return RequestHead(key, version, correlation_id, client_id, body)


_HEAD: Final = Struct(">hhi")
_LENGTH: Final = Struct(">h")


def find_response_body_offset(data: bytes, at: int, end: int, key: int, version: int) -> int:
    """Where the body of a response begins whose size field is at `at`. Raises DecodeError."""
    if end - at < 8:
        raise Truncated("the bytes end inside the header of a response", offset=end)
    if key != API_VERSIONS and is_flexible(key, version):
        return skip_header_tags(data, at + 8, end)
    return at + 8


def skip_header_tags(data: bytes, at: int, end: int) -> int:
    """The offset after the tagged fields of a header. Raises DecodeError."""
    if at < end and not data[at]:
        return at + 1
    count, at = read_uvarint(data, at, end)
    for _ in range(count):
        _, at = read_uvarint(data, at, end)
        size, at = read_uvarint(data, at, end)
        at += size
        if at > end:
            raise Truncated("a tagged field of the header", offset=at - size, path="_tagged_fields")
    return at


# Verdicts about bytes that may be a frame

# A whole body must decode to its last byte. A body whose end is not there yet must decode as far as it is there: with
# `BODY_SHOWN` bytes of it the verdict is FITS, with less only the head counts (HEAD).


# Verdicts about bytes that may be a frame.
NO: Final = 0
HEAD: Final = 1  # the head fits what is known; too little of the body to say more, or a version that nobody knows
FITS: Final = 2  # the head fits and so does a good part of the body, whose end is not there
YES: Final = 3  # whole, and it decodes to its last byte

BODY_SHOWN: Final = 48
# Versions beyond the newest known one that are taken for a newer release's.
NEWER: Final = 4
CLIENT_ID_MAX: Final = 1024
# The newest error code is 136; a broker throttles for quota windows, that is seconds.
ERROR_CODE_MAX: Final = 512
THROTTLE_MAX: Final = 86_400_000


def judge_request(data: bytes, at: int, client_id: bytes | None = None) -> int:
    """The verdict on a request with its size field at `at`; `client_id` is the connection's where it is known."""
    if len(data) - at < 12:
        return NO
    if len(data) - at < 14:
        return _judge_request_without_client_id(data, at)
    size, key, version, _, length = REQUEST.unpack_from(data, at)
    if not 8 <= size <= FRAME_MAX or key not in NAMES or not 0 <= version <= api(key).versions.high + NEWER:
        return NO
    if key == CONTROLLED_SHUTDOWN and version == 0:
        return _judge_request_without_client_id(data, at)
    if not -1 <= length <= min(size - 10, CLIENT_ID_MAX):
        return NO
    shown = data[at + 14 : at + 14 + max(length, 0)]
    if client_id is not None and shown != client_id[: len(shown)]:
        return NO
    end = at + 4 + size
    if not _is_readable_text(shown):
        return _judge_request_of_unreadable_client(data, at, end, shown)
    plan = find_stable_plan(key, version, "request")
    if plan is None:
        return HEAD
    try:
        body = read_request_head(data, at, end).body
    except DecodeError:
        return NO
    except IndexError:
        return HEAD
    return judge_body(plan, data, body, end)


def has_request_head_but_unreadable_body(data: bytes, at: int) -> bool:
    """Whether a whole frame has the head of a request, and only its body is not in its layout: its answer decides."""
    if len(data) - at < REQUEST.size:
        return False
    size, key, version, correlation_id, length = REQUEST.unpack_from(data, at)
    if key not in NAMES or version not in api(key).versions or not correlation_id:
        return False
    whole = 10 + max(length, 0) <= size <= len(data) - at - 4
    return whole and 1 <= length <= CLIENT_ID_MAX and _is_readable_text(data[at + 14 : at + 14 + length])


def _judge_request_without_client_id(data: bytes, at: int) -> int:
    """The verdict on the one request without a client id, ControlledShutdown 0."""
    size, key, version, _ = _SHORT.unpack_from(data, at)
    plan = find_stable_plan(CONTROLLED_SHUTDOWN, 0, "request")
    if (key, version, size) != (CONTROLLED_SHUTDOWN, 0, 12) or plan is None:
        return NO
    return judge_body(plan, data, at + 12, at + 16)


_SHORT: Final = Struct(">ihhi")


def _judge_request_of_unreadable_client(data: bytes, at: int, end: int, client_id: bytes) -> int:
    """The verdict on a request whose client id is no UTF-8: YES or NO. Kafka takes any bytes, chance gives any too."""
    _, key, version, *_ = REQUEST.unpack_from(data, at)
    plan = find_stable_plan(key, version, "request")
    if plan is None or client_id.translate(None, _CONTROL_BYTES) != client_id:
        return NO
    try:
        verdict = judge_body(plan, data, read_request_head(data, at, end).body, end)
    except (DecodeError, IndexError):
        return NO
    return YES if verdict == YES else NO


_CONTROL_BYTES: Final = bytes((*range(0x20), 0x7F))


def _is_readable_text(client_id: bytes) -> bool:
    try:
        return client_id.decode().isprintable()
    except UnicodeDecodeError as failure:
        return failure.end == len(client_id) and len(client_id) > 8  # cut off inside a character


def judge_response(data: bytes, at: int, key: int, version: int) -> int:
    """The verdict on a response with its size field at `at`, to a request of this API key and version."""
    if len(data) - at < 8:
        return NO
    size = int.from_bytes(data[at : at + 4], "big", signed=True)
    if not 4 <= size <= FRAME_MAX:
        return NO
    end = at + 4 + size
    plan = find_stable_plan(key, version, "response")
    verdict = NO
    if plan is not None:
        try:
            verdict = judge_body(plan, data, find_response_body_offset(data, at, end, key, version), end)
        except DecodeError:
            verdict = NO
        except IndexError:
            verdict = HEAD
    if verdict != YES and key == API_VERSIONS and version:
        oldest = find_stable_plan(API_VERSIONS, 0, "response")
        assert oldest is not None
        verdict = max(verdict, judge_body(oldest, data, at + 8, end))
    if plan is None and key != API_VERSIONS:
        return HEAD
    return verdict


def _has_possible_values(fields: Mapping[str, Any]) -> bool:
    """Whether no field that was read has an impossible value: other bytes often decode, but to such values."""
    if not -1 <= fields.get("error_code", 0) <= ERROR_CODE_MAX:
        return False
    if not 0 <= fields.get("throttle_time_ms", 0) <= THROTTLE_MAX:
        return False
    # No Produce request without topics: the zeros of many a response would read as one.
    return bool(fields.get("topic_data", True))


def judge_body(plan: Plan, data: bytes, at: int, end: int) -> int:
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
        if not _has_possible_values(walker.root):
            return NO
        return FITS if len(data) - at >= BODY_SHOWN else HEAD
    if after != end or not _has_possible_values(walker.root):
        return NO
    if whole:
        return YES
    return FITS if len(data) - at >= BODY_SHOWN else HEAD
