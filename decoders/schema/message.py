"""Plan and bytes in, values out, and back: the entry points of the schema machine, with exact errors.

Generated code does the work for what comes again (first bytes are written plainly). Where it fails, or does not end
where the message ends, the walker reads the same bytes again and says where and why; where the generated encoder fails,
the plain one does it or says why not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from decoders.errors import DecodeError, Malformed
from decoders.schema.compile import CRUDE, ENCODE_CRUDE, decoder, encoder
from decoders.schema.form import Hook, to_json
from decoders.schema.model import Plan
from decoders.schema.walk import Walker
from decoders.schema.write import write
from decoders.wire.text import in_bytes

TRAILING: Final = "_trailing"
# Bytes written plainly before an encoder is worth its cost, and what a message counts besides its own.
WRITTEN: Final = 4000
MESSAGE: Final = 200


def decode(plan: Plan, data: bytes, at: int = 0, end: int | None = None, *, strict: bool = True) -> dict[str, Any]:
    """The message in `data[at:end]` as Python values. Raises DecodeError.

    Offsets of errors count from the start of `data`. Bytes after the message are an error when strict, else they are
    kept under `_trailing`.
    """
    stop = len(data) if end is None else min(end, len(data))
    try:
        value, after = decoder(plan)(data, at, stop)
    except CRUDE:
        return examine(plan, data, at, stop, strict=strict)
    if after != stop:
        if strict:
            raise trailing(after, stop)
        value[TRAILING] = data[after:stop]
    return value


def examine(plan: Plan, data: bytes, at: int, end: int, *, strict: bool = True) -> dict[str, Any]:
    """What decode() gives, read by the walker alone: the exact answer after generated code has failed."""
    walker = Walker(data)
    after = walker.read(plan, at, end)
    if after != end:
        if strict:
            raise trailing(after, end)
        walker.root[TRAILING] = data[after:end]
    return walker.root


def trailing(at: int, end: int) -> Malformed:
    """The error for bytes that are left after a message."""
    return Malformed(f"{in_bytes(end - at)} after the end of the message", offset=at)


def encode(plan: Plan, value: Mapping[str, Any]) -> bytes:
    """The bytes of a message; missing fields take their defaults. Raises EncodeError."""
    if plan.written < WRITTEN:
        data = write(plan, value)
        plan.written += len(data) + MESSAGE
        return data
    try:
        return encoder(plan)(value)
    except ENCODE_CRUDE:
        return write(plan, value)


def partial(
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
    """The fields that can be read before the first failure, and that failure (None where there is none).

    With `json` the fields are in JSON form; `hooks`, `table` and `reveal` are those of to_json().
    """
    stop = len(data) if end is None else min(end, len(data))
    walker = Walker(data)
    failure: DecodeError | None = None
    try:
        after = walker.read(plan, at, stop)
        if after != stop:
            failure = trailing(after, stop)
    except DecodeError as found:
        failure = found
    value = to_json(plan, walker.root, hooks, table, reveal=reveal) if json else walker.root
    return value, failure
