"""Plan and bytes in, values out, and back: the entry points for decoding and encoding messages, with exact errors.

Where generated code fails, or does not end where the message ends, the walker reads the same bytes again and says where
and why. Where the generated encoder fails, plan_walker.py encodes the value or says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from decoders.errors import DecodeError, Malformed, strip_traceback
from decoders.schema.api_declaration import Plan
from decoders.schema.body_json_form import Hook, body_to_json
from decoders.schema.codegen_support import CRUDE, ENCODE_CRUDE
from decoders.schema.lazy_decoder import get_decoder, get_encoder
from decoders.schema.plan_walker import Walker, encode_by_walking
from decoders.wire.format_and_escape_text import format_bytes

TRAILING: Final = "_trailing"
# How much plan_walker.py encodes before an encoder is worth its cost, in bytes; each message counts MESSAGE bytes more.
WRITTEN: Final = 4000
MESSAGE: Final = 200


def decode(plan: Plan, data: bytes, at: int = 0, end: int | None = None, *, strict: bool = True) -> dict[str, Any]:
    """The message in `data[at:end]` as Python values. Raises DecodeError.

    Offsets of errors count from the start of `data`. Bytes after the message, and null where none is allowed, are an
    error if `strict`; else the bytes are kept under `_trailing`, and null is None.
    """
    stop = len(data) if end is None else min(end, len(data))
    try:
        value, after = get_decoder(plan)(data, at, stop)
    except CRUDE:
        return decode_exactly(plan, data, at, stop, strict=strict)
    if after != stop:
        if strict:
            raise make_trailing_error(after, stop)
        value[TRAILING] = data[after:stop]
    return value


def decode_exactly(plan: Plan, data: bytes, at: int, end: int, *, strict: bool = True) -> dict[str, Any]:
    """Decode a message by the walker alone: the exact answer after generated code has failed. Raises DecodeError."""
    walker = Walker(data, lenient=not strict)
    after = walker.read(plan, at, end)
    if after != end:
        if strict:
            raise make_trailing_error(after, end)
        walker.root[TRAILING] = data[after:end]
    return walker.root


def make_trailing_error(at: int, end: int) -> Malformed:
    """The error for bytes that are left after a message."""
    return Malformed(f"{format_bytes(end - at)} after the end of the message", offset=at)


def encode(plan: Plan, value: Mapping[str, Any]) -> bytes:
    """The bytes of a message; missing fields take their defaults. Raises EncodeError."""
    if plan.written < WRITTEN:
        data = encode_by_walking(plan, value)
        plan.written += len(data) + MESSAGE
        return data
    try:
        return get_encoder(plan)(value)
    except ENCODE_CRUDE:
        return encode_by_walking(plan, value)


def find_failure(walker: Walker, plan: Plan, at: int, end: int) -> DecodeError | None:
    """Have a walker read a message that ends at `end`; returns why it cannot be read, None where it can."""
    try:
        after = walker.read(plan, at, end)
    except DecodeError as failure:
        return strip_traceback(failure)
    return None if after == end else make_trailing_error(after, end)


def decode_partial(
    plan: Plan,
    data: bytes,
    at: int = 0,
    end: int | None = None,
    *,
    json: bool = False,
    hooks: Mapping[str, str] | None = None,
    table: Mapping[str, Hook] | None = None,
    reveal: bool = False,
) -> tuple[dict[str, Any], DecodeError | None]:
    """The fields that can be read before the first failure, and that failure (None if the whole message is read).

    With `json` the fields are in JSON form; `hooks`, `table` and `reveal` are those of to_json().
    """
    stop = len(data) if end is None else min(end, len(data))
    walker = Walker(data)
    failure = find_failure(walker, plan, at, stop)
    value = body_to_json(plan, walker.root, hooks, table, reveal=reveal) if json else walker.root
    return value, failure
