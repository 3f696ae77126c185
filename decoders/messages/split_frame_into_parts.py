"""A frame in, its parts in wire order out: size, header, body with the batches inside, and bytes that are unreadable.

Hex views are drawn from these parts. The layouts tried are those of the exchange record (exchanges/body_reader.py), so
that a view and a record never disagree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final
from uuid import UUID

from decoders.embedded import (
    FRAME,
    INSIDE,
    STRUCTURES,
    TOPICS,
    TYPE,
    VERSION,
    StructureRow,
    locate_structure,
    structure_or_stand_in_json,
    structures_of_record,
)
from decoders.embedded.structure_holders import HOLDERS
from decoders.errors import DecodeError, strip_traceback
from decoders.exchanges.body_reader import ApiReader, DecodeFailure, Layout, Needs, make_decode_failure
from decoders.exchanges.topic_arrays import find_topic_at_path, may_hold_cluster_metadata
from decoders.limits import PARTS_MAX
from decoders.messages.build_body_json import ECHOING, layouts_have_secrets
from decoders.messages.split_decoded_values_into_parts import iterate_parts_with_decoded_values
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.header_versions import (
    request_header_plan,
    request_header_version,
    response_header_plan,
    response_header_version,
)
from decoders.protocol_facts.public_configs import is_public_config
from decoders.records.records_as_json import control_record_structures, metadata_record_holds_secret
from decoders.records.split_batches_into_byte_parts import Hide, split_batches_into_parts
from decoders.schema.api_declaration import Plan, PlanField, Side
from decoders.schema.decode_and_encode import make_trailing_error
from decoders.schema.plan_walker import BytePart, Span, Walker
from decoders.wire.format_and_escape_text import format_bytes
from decoders.wire.primitive_types import read_uvarint

if TYPE_CHECKING:
    from decoders.messages.decode_record_values import RecordValueReader

_INDEX: Final = re.compile(r"\[\d+\]")
_NO_NEEDS: Final = Needs()
TopicName = Callable[[UUID], str | None]


@dataclass(slots=True)
class FrameParts:
    """The parts of header and body, up to `rest_at`, the offset of the first byte that belongs to no field.

    `failure` says why there is a rest, or why the end is missing; `layout` the release whose early layout was used.
    `parts` are those of the body, made as they are asked for, once; `body` has them all.
    """

    header: list[BytePart]
    header_version: int
    parts: Iterable[BytePart]
    rest_at: int
    rest_secret: bool
    failure: DecodeFailure | None = None
    layout: str | None = None

    @property
    def body(self) -> list[BytePart]:
        """All parts of the body."""
        if not isinstance(self.parts, list):
            self.parts = list(self.parts)
        return self.parts


def split_frame(
    data: bytes,
    side: Side,
    key: int | None,
    version: int | None,
    *,
    reveal: bool = False,
    missing: str | None = None,
    topic_name: TopicName = lambda _: None,
    values: RecordValueReader | None = None,
) -> FrameParts:
    """The parts of a frame with its size field. Without key or version only the header of the side is read.

    `missing` is why the end of the frame is not there, where that is known; `topic_name` gives the names of topic ids.
    `values` decodes keys and values, whose fields are parts then.
    """
    parts = [BytePart("size", 0, min(4, len(data)), "value", int.from_bytes(data[:4], "big", signed=True), "int32")]
    known = key is not None and version is not None
    if side == "request":
        header_version = request_header_version(key or 0, version or 0) if known else 1
        plan = request_header_plan(header_version)
    else:
        header_version = response_header_version(key or 0, version or 0) if known else 0
        plan = response_header_plan(header_version)
    end = len(data)
    spans: list[Span] = []
    try:
        at = Walker(data, spans).read(plan, 4, end)
    except DecodeError as problem:
        parts += _make_parts_of_spans(plan, spans, reveal)
        return FrameParts(parts, header_version, [], parts[-1].end, not reveal, make_decode_failure(problem, missing))
    parts += _make_parts_of_spans(plan, spans, reveal)
    if key is None or version is None:
        failure = DecodeFailure(missing or "no_request", 4, "", "its API is not known")
        return FrameParts(parts, header_version, [], at, not reveal, failure)
    found = _split_body(
        ApiReader(key, version, _NO_NEEDS), side, data, at, _Showing(reveal, topic_name, values), missing
    )
    found.header, found.header_version = parts, header_version
    return found


class _Showing(NamedTuple):
    """How a body is shown: with its secrets or without, topics by names as far as these are known."""

    reveal: bool
    topic_name: TopicName
    values: RecordValueReader | None = None


def _split_body(
    api_reader: ApiReader, side: Side, data: bytes, at: int, showing: _Showing, missing: str | None
) -> FrameParts:
    """The parts of the body by the layout that fits, else by the stable one up to where it fails."""
    layouts = api_reader.list_layouts(side)
    echoing = side == "response" and api_reader.key in ECHOING
    hidden = not showing.reveal and (echoing or layouts_have_secrets(api_reader.key, layouts))
    failures: list[tuple[Plan, Walker, DecodeError]] = []

    def walk_layout(layout: Layout) -> tuple[tuple[Walker, int], int] | None:
        walker = Walker(data, [])
        try:
            after = walker.read(layout.plan, at, len(data))
        except DecodeError as problem:
            failures.append((layout.plan, walker, strip_traceback(problem)))
            return None
        if after < len(data):
            failures.append((layout.plan, walker, make_trailing_error(after, len(data))))
        return (walker, after), after

    best = api_reader.try_layouts(side, data, walk_layout, stable_only=missing is not None)
    if best is not None:
        (walker, after), (plan, early_layout) = best
        parts = _iterate_body_parts(api_reader, side, data, plan, walker, showing)
        failure = None
        if after < len(data):
            failure = make_decode_failure(make_trailing_error(after, len(data)), missing)
        elif missing is not None:
            failure = DecodeFailure(missing, len(data) - 4, "", "")
        return FrameParts([], 0, parts, after, hidden, failure, early_layout)
    if not failures:
        try:
            api_reader.stable_plan(side)
            problem = DecodeError("no layout of it can be tried", offset=at)
        except DecodeError as unknown:
            problem = strip_traceback(unknown)
        return FrameParts([], 0, [], at, hidden, make_decode_failure(problem, missing))
    plan, walker, problem = failures[0]
    found = [*_iterate_body_parts(api_reader, side, data, plan, walker, showing)]
    return FrameParts([], 0, found, found[-1].end if found else at, hidden, make_decode_failure(problem, missing))


def _iterate_body_parts(
    api_reader: ApiReader, side: Side, data: bytes, plan: Plan, walker: Walker, showing: _Showing
) -> Iterator[BytePart]:
    """The parts of a body, with parts of batches and structures in place of their bytes."""
    count = 0
    reveal = showing.reveal
    hide = (
        metadata_record_holds_secret
        if not reveal and may_hold_cluster_metadata(api_reader.key, side, walker.root)
        else None
    )
    holders = _find_fields_with_structures(api_reader.key, side)
    for part in _make_parts_of_spans(plan, walker.spans or (), reveal):
        found: Iterable[BytePart] = (part,)
        if part.what != "value" or part.end == part.at or part.secret:
            pass
        elif part.kind.endswith("records"):
            topic = find_topic_at_path(api_reader.key, walker.root, part.path, showing.topic_name)
            batches = split_batches_into_parts(data, part.at, part.end, part.path, hide)
            parts = _iterate_parts_with_structures(batches, topic, data, reveal)
            if showing.values is not None and hide is None and topic not in TOPICS:
                parts = iterate_parts_with_decoded_values(parts, topic, data, showing.values)
            found = _shorten_parts(PARTS_MAX - count, parts, part, hide)
        elif part.kind.endswith("bytes") and (name := holders.get(_INDEX.sub("", part.path))):
            found = _split_structure(name, data, part, reveal) or (part,)
        for each in found:
            yield each
            count += 1


def _shorten_parts(most: int, parts: Iterable[BytePart], part: BytePart, hide: Hide | None) -> Iterator[BytePart]:
    """The first `most` parts of batches; the bytes after them are one part."""
    at = part.at
    for each in islice(parts, max(most, 0)):
        yield each
        at = each.end
    if at < part.end:
        text = f"{format_bytes(part.end - at)}, of more than {PARTS_MAX:,} fields to name"
        yield BytePart(part.path, at, part.end, "value", text, "bytes", hide is not None)


# Records of internal topics.


def _iterate_parts_with_structures(
    parts: Iterable[BytePart], topic: str | None, data: bytes, reveal: bool
) -> Iterator[BytePart]:
    """The parts of batches, with structures in keys and values of control records and of internal topics' records."""
    internal = topic is not None and topic in TOPICS
    key: bytes | None = None
    control = False
    for part in parts:
        field = part.path.rpartition(".")[2]
        name: str | None = None
        if field == "attributes" and isinstance(part.value, str):
            control = "control" in part.value
        elif field in ("key", "value") and (control or internal) and ".headers[" not in part.path:
            content = data[part.at : part.end] if part.what == "value" else None
            if field == "key":
                key = content
            if content is not None:
                pair = control_record_structures(key) if control else structures_of_record(topic or "", key, content)
                name = pair[field == "value"]
        yield from (None if name is None else _split_structure(name, data, part, reveal)) or [part]


def _find_fields_with_structures(key: int | None, side: Side) -> dict[str, str]:
    """The fields that may hold a structure, by their path without indices."""
    holders = HOLDERS.get((key or 0, side), {}).items()
    return {path.replace("[]", ""): name for path, name in holders if name in STRUCTURES}


def _split_structure(name: str, data: bytes, part: BytePart, reveal: bool) -> list[BytePart]:
    """The parts of a structure inside bytes; none where they are not exactly one."""
    content = data[part.at : part.end]
    found = structure_or_stand_in_json(name, content)
    if found is None:
        return []
    name, plan, start = locate_structure(found[TYPE], content)
    parts = [
        each._replace(at=each.at + part.at, end=each.end + part.at)
        for each in _split_structure_head(STRUCTURES[name], content)
    ]
    walker = Walker(data, [])
    walker.read(plan, part.at + start, part.end)
    inside = INSIDE.get(name, {})
    for each in _make_parts_of_spans(plan, walker.spans or (), reveal):
        other = inside.get(each.path) if each.what == "value" and each.end > each.at else None
        parts += (_split_structure(other, data, each, reveal) if other else None) or [each]
    return [each._replace(path=f"{part.path}.{each.path}") for each in parts]


def _split_structure_head(row: StructureRow, content: bytes) -> Iterator[BytePart]:
    """The parts before the fields of a structure: its version, or its frame."""
    if row.framing in ("prefix", "key"):
        yield BytePart(VERSION, 0, 2, "value", int.from_bytes(content[:2], "big"), "int16")
    elif row.framing == "framed":
        at = 0
        for name in (FRAME, TYPE, VERSION):
            number, after = read_uvarint(content, at, len(content))
            yield BytePart(name, at, after, "value", number, "uvarint")
            at = after


def _make_parts_of_spans(plan: Plan, spans: Iterable[Span], reveal: bool) -> Iterator[BytePart]:
    """The spans of a plan as parts, with the type of their field and whether it is secret."""
    fields = _flatten_fields_by_path(plan)
    names: dict[str, object] = {}  # of the struct being read, for fields that are secret unless their sibling is public
    for span in spans:
        plain = _INDEX.sub("", span.path)
        field = fields.get(plain)
        if field is None:
            yield BytePart(*span, _KINDS.get(span.what, ""))
            continue
        if span.what == "value" and isinstance(span.value, str):
            names[span.path] = span.value
            if len(names) > 64:
                del names[next(iter(names))]
        secret = field.secret and not reveal
        if secret and field.unless:
            name = names.get(f"{span.path.rpartition('.')[0]}.{field.unless}".lstrip("."))
            secret = not (isinstance(name, str) and is_public_config(name))
        element = span.path.endswith("]")
        array = field.array and not element
        hidden, count = secret and span.what == "value", array and span.what == "size"
        yield BytePart(*span, _describe_field_type(field, array), hidden, count, field.means)


_KINDS: Final = {"tags": "uvarint", "tag": "uvarint", "value": "bytes"}


def _describe_field_type(field: PlanField, array: bool) -> str:
    """The type of a field in words: `int32`, `compact string`, `array of struct`."""
    kind = "struct" if field.plan is not None else field.kind
    if array:
        return f"{'compact ' if field.compact else ''}array of {kind}"
    return f"compact {kind}" if field.compact and field.kind in ("string", "bytes", "records") else kind


def _flatten_fields_by_path(plan: Plan, prefix: str = "") -> dict[str, PlanField]:
    """Every field of a plan by its path without indices."""
    found: dict[str, PlanField] = {}
    for field in (*plan.fields, *plan.tagged):
        path = prefix + field.name
        found[path] = field
        if field.plan is not None:
            found |= _flatten_fields_by_path(field.plan, path + ".")
    return found
