"""A frame's first bytes in, its header out: API, version, correlation id, client id, and where the body begins."""

from __future__ import annotations

from functools import cache
from struct import Struct
from typing import Final, NamedTuple

from decoders.apis import NAMES, api
from decoders.apis.keys import API_VERSIONS, CONTROLLED_SHUTDOWN
from decoders.errors import Malformed, Truncated
from decoders.schema.model import Plan, Side, resolve
from decoders.wire.primitives import read_uvarint
from decoders.wire.text import in_bytes

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


@cache
def plan_of(key: int, version: int, side: Side) -> Plan | None:
    """The stable layout of a body; None when the API or this version of it is not known."""
    if key not in NAMES:
        return None
    declared = api(key)
    if version not in declared.versions:
        return None
    return resolve(declared.message(side), version)


@cache
def flexible(key: int, version: int) -> bool:
    """Whether this version has tagged fields; unknown versions of a known API are taken as newer ones."""
    return key in NAMES and version in api(key).flexible


def request_head(data: bytes, at: int, end: int) -> RequestHead:
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
            raise Truncated(f"a client id of {in_bytes(size)}", offset=at + 14, path="client_id")
        client_id = data[at + 14 : body]
    elif size < -1:
        raise Malformed(f"a length of {size}", offset=at + 12, path="client_id")
    if flexible(key, version):
        body = after_tags(data, body, end)
    return RequestHead(key, version, correlation_id, client_id, body)


_HEAD: Final = Struct(">hhi")
_LENGTH: Final = Struct(">h")


def response_body(data: bytes, at: int, end: int, key: int, version: int) -> int:
    """Where the body of a response begins whose size field is at `at`. Raises DecodeError."""
    if end - at < 8:
        raise Truncated("the bytes end inside the header of a response", offset=end)
    if key != API_VERSIONS and flexible(key, version):
        return after_tags(data, at + 8, end)
    return at + 8


def after_tags(data: bytes, at: int, end: int) -> int:
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
