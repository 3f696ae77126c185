"""Plan and bytes in, Python values out, slowly and exactly: with the path and the byte span of everything read.

This is what says where a message is broken, what hex views stand on, and the oracle that generated code is tested
against. It fails exactly when generated code fails. With spans it stops at PARTS_MAX of them, as at any limit.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

from decoders.errors import DecodeError, LimitExceeded, Malformed, Truncated
from decoders.limits import PARTS_MAX, TAGS_MAX, VALUES_MAX
from decoders.schema.model import Plan, PlanField
from decoders.schema.resolve import least_element
from decoders.wire.primitives import check_left, read_number, read_size
from decoders.wire.text import in_bytes
from decoders.wire.varints import read_uvarint

UNKNOWN: Final = "_tagged_fields"
# A tagged field takes a tag and a size at least.
TAG_LEAST: Final = 2


class Span(NamedTuple):
    """Bytes `at` to `end` and what they are: a value, the size before one, a null marker, a tag count, a tag."""

    path: str
    at: int
    end: int
    what: Literal["value", "size", "flag", "tags", "tag"]
    value: object


def weight(field: PlanField) -> int:
    """How many values one element of an array field counts for against VALUES_MAX."""
    return 1 if field.plan is None else 1 + len(field.plan.fields)


class Walker:
    """One reading of one message. `root` holds what was read, also after a failure."""

    __slots__ = ("_buf", "_left", "root", "spans")

    def __init__(self, buf: bytes, spans: list[Span] | None = None) -> None:
        self._buf = buf
        self._left = VALUES_MAX
        self.root: dict[str, Any] = {}
        self.spans = spans

    def read(self, plan: Plan, at: int, end: int) -> int:
        """Read a message into `root`; the offset after it. Raises DecodeError."""
        return self._struct(plan, at, end, self.root, "")

    def leaf(self, field: PlanField, at: int, end: int) -> tuple[object, int]:
        """One element of an array field without structs, and the offset behind it. Raises DecodeError."""
        return self._element(field, at, end, "")

    def _note(
        self, path: str, at: int, end: int, what: Literal["value", "size", "flag", "tags", "tag"], value: object
    ) -> None:
        if self.spans is not None:
            if len(self.spans) >= PARTS_MAX:
                raise LimitExceeded(f"more than {PARTS_MAX:,} fields to name", offset=at)
            self.spans.append(Span(path, at, end, what, value))

    def _spend(self, count: int, at: int) -> None:
        self._left -= count
        if self._left < 0:
            raise LimitExceeded(f"more than {VALUES_MAX} values in one message", offset=at)

    def _struct(self, plan: Plan, at: int, end: int, into: dict[str, Any], path: str) -> int:
        prefix = path + "." if path else ""
        for field in plan.fields:
            at = self._field(field, at, end, into, prefix + field.name)
        if plan.flexible:
            at = at_path(prefix + UNKNOWN, self._tags, plan, at, end, into, prefix)
        return at

    def _field(self, field: PlanField, at: int, end: int, into: dict[str, Any], path: str) -> int:
        if field.array:
            at = at_path(path, self._array, field, at, end, into, path)
        elif field.plan is not None:
            at = at_path(path, self._inner, field, at, end, into, path)
        else:
            into[field.name], at = at_path(path, self._leaf, field, at, end, path)
        return at

    def _leaf(self, field: PlanField, at: int, end: int, path: str) -> tuple[object, int]:
        if field.kind in {"string", "bytes", "records"}:
            return self._sized(field, field.nullable, at, end, path)
        value, after = read_number(field.kind, self._buf, at, end)
        self._note(path, at, after, "value", value)
        return value, after

    def _sized(self, field: PlanField, nullable: bool, at: int, end: int, path: str) -> tuple[object, int]:
        text = field.kind == "string"
        size, start = read_size(not text, field.compact, nullable, self._buf, at, end)
        self._note(path, at, start, "size", size)
        if size < 0:
            return None, start
        after = start + size
        if after > end:
            raise Truncated(f"{field.kind} of {in_bytes(size)}, {max(end - start, 0)} are left", offset=start)
        data = self._buf[start:after]
        value = data.decode("utf-8", "surrogateescape") if text else data
        self._note(path, start, after, "value", value)
        return value, after

    def _array(self, field: PlanField, at: int, end: int, into: dict[str, Any], path: str) -> int:
        count, start = read_size(True, field.compact, field.nullable, self._buf, at, end)
        self._note(path, at, start, "size", count)
        at = start
        if count < 0:
            into[field.name] = None
            return at
        check_left(count, least_element(field), at, end)
        self._spend(count * weight(field), at)
        values: list[Any] = []
        into[field.name] = values
        for number in range(count):
            place = f"{path}[{number}]"
            if field.plan is not None:
                values.append({})
                at = self._struct(field.plan, at, end, values[-1], place)
            else:
                value, at = at_path(place, self._element, field, at, end, place)
                values.append(value)
        return at

    def _element(self, field: PlanField, at: int, end: int, path: str) -> tuple[object, int]:
        if field.kind in {"string", "bytes", "records"}:
            return self._sized(field, False, at, end, path)
        return self._leaf(field, at, end, path)

    def _inner(self, field: PlanField, at: int, end: int, into: dict[str, Any], path: str) -> int:
        assert field.plan is not None
        if field.nullable:
            if field.tag is None:
                number, after = read_number("int8", self._buf, at, end)
                null = isinstance(number, int) and number < 0
            else:
                number, after = read_uvarint(self._buf, at, end)
                null = number == 0
            self._note(path, at, after, "flag", number)
            at = after
            if null:
                into[field.name] = None
                return at
        values: dict[str, Any] = {}
        into[field.name] = values
        return self._struct(field.plan, at, end, values, path)

    def _tags(self, plan: Plan, at: int, end: int, into: dict[str, Any], prefix: str) -> int:
        count, after = read_uvarint(self._buf, at, end)
        self._note(prefix + UNKNOWN, at, after, "tags", count)
        at = after
        check_left(count, TAG_LEAST, at, end)
        if count > TAGS_MAX:
            raise LimitExceeded(f"more than {TAGS_MAX} tagged fields in one struct", offset=at)
        self._spend(count, at)
        known = {field.tag: field for field in plan.tagged}
        unknown: dict[int, bytes] = {}
        for _ in range(count):
            start = at
            tag, at = read_uvarint(self._buf, at, end)
            size, at = read_uvarint(self._buf, at, end)
            field = known.get(tag)
            path = prefix + (field.name if field is not None else f"{UNKNOWN}.{tag}")
            self._note(path, start, at, "tag", tag)
            after = at + size
            if after > end:
                raise Truncated(f"tag {tag} of {in_bytes(size)}, {max(end - at, 0)} are left", offset=at, path=path)
            if field is None:
                unknown[tag] = self._buf[at:after]
                self._note(path, at, after, "value", unknown[tag])
            else:
                stop = self._field(field, at, after, into, path)
                if stop != after:
                    raise Malformed(f"tag {tag} says {in_bytes(size)}, its value has {stop - at}", offset=at, path=path)
            at = after
        put_tags_last(plan, into, unknown)
        return at


def put_tags_last(plan: Plan, into: dict[str, Any], unknown: dict[int, bytes]) -> None:
    """Bring tagged fields into ascending order, however they came, and add the unknown ones."""
    for field in plan.tagged:
        if field.name in into:
            into[field.name] = into.pop(field.name)
    if unknown:
        into[UNKNOWN] = dict(sorted(unknown.items()))


def at_path(path: str, read: Any, *arguments: Any) -> Any:
    """Call `read`; a DecodeError out of it that names no field yet gets this path."""
    try:
        return read(*arguments)
    except DecodeError as failure:
        if not failure.path:
            failure.path = path
        raise


def walk(plan: Plan, buf: bytes, at: int, end: int, spans: list[Span] | None = None) -> tuple[dict[str, Any], int]:
    """The values of a message and the offset after it; with `spans`, the bytes of each. Raises DecodeError."""
    walker = Walker(buf, spans)
    return walker.root, walker.read(plan, at, end)
