"""Bytes that may be a Kafka frame in, a verdict out: the head is a prefilter only, the body decides.

A whole body must decode to its last byte. Of one whose end is not there yet, what is there must decode: with
`BODY_SHOWN` bytes of it that is as good (FITS), with less the head alone speaks (HEAD).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

from decoders.apis import NAMES, api
from decoders.apis.keys import API_VERSIONS, CONTROLLED_SHUTDOWN
from decoders.errors import DecodeError
from decoders.limits import BODY_WHOLE_MAX, FRAME_MAX
from decoders.schema.deferred import LargeWalker, is_large
from decoders.schema.model import Plan
from decoders.schema.walk import Walker
from decoders.streams.heads import REQUEST, plan_of, request_head, response_body
from decoders.streams.resync import FITS, HEAD, NO, YES

BODY_SHOWN: Final = 48
# Versions beyond the newest known one that are taken for a newer release's.
NEWER: Final = 4
CLIENT_ID_MAX: Final = 1024
# The newest error code is 136; a broker throttles for quota windows, that is seconds.
ERROR_CODE_MAX: Final = 512
THROTTLE_MAX: Final = 86_400_000


def request_verdict(data: bytes, at: int, client_id: bytes | None = None) -> int:
    """Whether a request's size field may be at `at`; `client_id` is the connection's where it is known."""
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
    """The one request without a client id."""
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
    """Whether the response to such a request may have its size field at `at`."""
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
    """Whether no field that was read has a value that it never has: bytes of other fields often decode, but so."""
    if not -1 <= fields.get("error_code", 0) <= ERROR_CODE_MAX:
        return False
    if not 0 <= fields.get("throttle_time_ms", 0) <= THROTTLE_MAX:
        return False
    # A Produce request about nothing: so the zeros of many a response would read.
    return bool(fields.get("topic_data", True))


def body_verdict(plan: Plan, data: bytes, at: int, end: int) -> int:
    """What the bytes from `at` on, of which only a part may be there, say about a body that ends at `end`."""
    whole = end <= len(data)
    if not whole and is_large(len(data) - at):  # so much that decodes is enough
        data, at, end = data[at : at + BODY_WHOLE_MAX], 0, end - at
    walker = LargeWalker(data) if whole and is_large(end - at) else Walker(data)
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
