"""The headers of a record in; by what a record that was made from it is known, its links, out.

A consumer that writes on hands headers on: a number of an order, a correlation id, or the trace that it is part of,
whose id stays while the id of the span changes (https://www.w3.org/TR/trace-context/). A link is the name of a header
and a hash of its value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

from decoders.wire.state_serialization import state_fields

__all__ = ["TRACE_PARENT", "RecordLink", "intern_name", "make_record_links", "resume_links"]

# Name of the header, and a hash of its value: 64 bits, signed.
RecordLink = tuple[str, int]
TRACE_PARENT: Final = "traceparent"
_TRACE_PARENT: Final = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?", re.DOTALL)
_NO_TRACE: Final = b"0" * 32
# Headers that say what a record is like: many records have the same value.
_DESCRIBING: Final = frozenset(
    {
        *("content-type", "contenttype", "content_type", "encoding", "__typeid__", "__keytypeid__"),
        *("__contenttypeid__", "spring_json_header_types", "tracestate", "baggage"),
        *("ce_type", "ce_source", "ce_specversion", "ce_datacontenttype", "ce_dataschema"),
    }
)


@lru_cache(maxsize=256)
def intern_name(name: str) -> str:
    """The same name as one object: many records have it."""
    return name


def make_record_links(headers: Iterable[tuple[Any, Any]]) -> tuple[RecordLink, ...]:
    """The links of a record with these headers, each once."""
    found: dict[RecordLink, None] = {}
    for given, held in headers:
        name = given.decode("utf-8", "replace") if isinstance(given, bytes) else given
        value = held.encode("utf-8", "surrogateescape") if isinstance(held, str) else held
        if not value or not isinstance(value, bytes) or name.lower() in _DESCRIBING:
            continue
        if name.lower() == TRACE_PARENT:
            parts = _TRACE_PARENT.fullmatch(value)
            if parts is None or parts[1] == _NO_TRACE:
                continue
            name, value = TRACE_PARENT, parts[1]
        digest = blake2b(value, digest_size=8, key=name.encode("utf-8", "replace")[:64]).digest()
        found[intern_name(name), int.from_bytes(digest, "big", signed=True)] = None
    return tuple(found)


def resume_links(state: list[object]) -> tuple[RecordLink, ...]:
    """Links from a state. Raises DecodeError."""
    found = []
    for each in state:
        name, number = state_fields(each, str, int)
        found.append((name, number))
    return tuple(found)
