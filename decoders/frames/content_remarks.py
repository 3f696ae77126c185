"""What fields of a readable body hold in, remarks on it out: structures inside bytes, and batches compressed by LZ4.

Only what is certain is said. A field of a consumer group holds a structure of Kafka's own only where its protocol type
is `consumer`; where that is not said, bytes are judged only if they become one by the version that they lack.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from decoders.embedded import locate_structure, structure_or_stand_in_json
from decoders.embedded.structure_holders import HOLDERS
from decoders.errors import DecodeError
from decoders.protocol_facts.api_keys import FETCH, PRODUCE
from decoders.protocol_facts.exchange_remarks import ExchangeRemark, make_remark
from decoders.records.batch_layout import SIZE
from decoders.records.codecs.lz4 import find_lz4_oddities
from decoders.records.summarize_records import read_batch_heads
from decoders.schema.api_declaration import Plan, Side
from decoders.schema.field_projection import make_view_of_walker, make_walker_for_view, parse_wanted_paths
from decoders.schema.plan_walker import Walker
from decoders.wire.format_and_escape_text import format_bytes

__all__ = ["find_lz4_remarks", "find_structure_remarks"]

_SIZE_FIELD: Final = 4
_CONSUMER: Final = "consumer"
_VERSION_0: Final = b"\0\0"
_LZ4: Final = "lz4"
_MAGIC: Final = 2
_RECORDS: Final[dict[tuple[int, Side], str]] = {
    (PRODUCE, "request"): "topic_data[].partition_data[].records",
    (FETCH, "response"): "responses[].partitions[].records",
}


def find_structure_remarks(key: int, side: Side, plan: Plan, data: bytes, begin: int) -> list[ExchangeRemark]:
    """The remarks on the structures in the fields of a body, which begins at `begin`; the body can be read."""
    found = []
    for path, name in HOLDERS.get((key, side), {}).items():
        if not _has_field(plan, path):
            continue
        kind_path = "groups[].protocol_type" if "groups" in path else "protocol_type"
        beside = [kind_path] if _has_field(plan, kind_path) else []
        for place, at, size, kind in _find_values_with_offsets(plan, data, begin, path, *beside):
            text = _describe_odd_structure(name, data[at : at + size], consumer=kind == _CONSUMER)
            if text:
                found.append(make_remark(side, "embedded", text, path=place, offset=at - _SIZE_FIELD))
    return found


def _has_field(plan: Plan, path: str) -> bool:
    """Whether a layout has a field: those of early releases lack some."""
    name, _, rest = path.replace("[]", "").partition(".")
    field = next((field for field in plan.fields if field.name == name), None)
    return field is not None and (not rest or (field.plan is not None and _has_field(field.plan, rest)))


def _describe_odd_structure(name: str, data: bytes, *, consumer: bool) -> str:
    """Why bytes are no such structure; empty where they are one, or where it is not certain."""
    if not data or structure_or_stand_in_json(name, data) is not None:
        return ""
    if _find_structure_end(name, _VERSION_0 + data) == len(data) + len(_VERSION_0):
        return f"no {name}; it becomes one with the two bytes of the version before it"
    end = _find_structure_end(name, data) if consumer else -1
    if 0 < end < len(data):
        return f"{name} with {format_bytes(len(data) - end)} behind it"
    return ""


def _find_structure_end(name: str, data: bytes) -> int:
    """Where the structure in bytes ends, -1 where there is none."""
    try:
        _, plan, begin = locate_structure(name, data)
        return Walker(data).read(plan, begin, len(data))
    except DecodeError:
        return -1


def find_lz4_remarks(
    key: int, side: Side, plan: Plan, data: bytes, begin: int, *, checksums: bool
) -> list[ExchangeRemark]:
    """The remarks on the LZ4 frames in the records of a body; `checksums`: they are decompressed for it."""
    found = []
    for place, at, size, _ in (
        _find_values_with_offsets(plan, data, begin, _RECORDS[key, side]) if (key, side) in _RECORDS else ()
    ):
        for head in read_batch_heads((at, size), data):
            if head.magic == _MAGIC and head.codec == _LZ4:
                packed = memoryview(data)[at + SIZE : at + head.size]
                for identity, text in find_lz4_oddities(packed, checksums=checksums):
                    found.append(make_remark(side, identity, text, path=place, offset=at + SIZE - _SIZE_FIELD))
            at += head.size
    return found


def _find_values_with_offsets(
    plan: Plan, data: bytes, begin: int, path: str, *beside: str
) -> Iterator[tuple[str, int, int, Any]]:
    """The path with indices, offset and size of each value at a path, and the protocol type around it."""
    names = path.replace("[]", "").split(".")
    want = parse_wanted_paths(plan, [f"{path}:span", *beside])
    walker = make_walker_for_view(data, want, lenient=True)
    walker.read(plan, begin, len(data))
    view, _ = make_view_of_walker(plan, want, False, walker)
    yield from _find_spans_with_protocol_type(view, names, "", None)


def _find_spans_with_protocol_type(
    view: Any, names: list[str], place: str, kind: Any
) -> Iterator[tuple[str, int, int, Any]]:
    name, *rest = names
    value, kind = view.get(name), view.get("protocol_type", kind)
    if not rest:
        if value is not None:
            yield f"{place}{name}", *value, kind
        return
    for number, each in enumerate(value or ()):
        yield from _find_spans_with_protocol_type(each, rest, f"{place}{name}[{number}].", kind)
