"""Plan and bytes in, values out, and back, slowly and exactly: errors carry the path of the field that is wrong.

Generated code is tested against this module, and hex views are built on it.

"""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence
from functools import cache
from struct import Struct, unpack_from
from typing import Any, Final, Literal

from decoders.errors import DecodeError, EncodeError, LimitExceeded, Malformed, Truncated
from decoders.limits import PARTS_MAX, REMARKS_MAX, TAGS_MAX, VALUES_MAX
from decoders.mypyc_modules import mypyc_attr
from decoders.named_tuple import NamedTuple
from decoders.schema.api_declaration import (
    STRUCT_DEFAULT,
    Field,
    Plan,
    PlanField,
    equals_default,
    least_size_of_element,
)
from decoders.wire.format_and_escape_text import format_bytes
from decoders.wire.primitive_types import (
    LETTERS,
    NULL_FORBIDDEN,
    RANGES,
    STRUCTS,
    VARINTS,
    check_bytes_left,
    encode_number,
    encode_size,
    encode_text,
    encode_uvarint,
    read_number,
    read_size,
    read_uvarint,
)

What = Literal["value", "size", "flag", "tags", "tag"]


class BytePart(NamedTuple):
    """Bytes `at` to `end` and what they are, as in Span, with the field's type in words and whether it is a secret.

    `array`: a `size` is the count of an array. `kind` is `int32`, `compact string`, `varint`, …; empty where the bytes
    are no field of their own. `foreign`: of a user's key or value, whose names do not mean what Kafka's mean.
    """

    path: str
    at: int
    end: int
    what: What
    value: Any
    kind: str = ""
    secret: bool = False
    array: bool = False
    means: str = ""  # as Field.means
    foreign: bool = False


# Reading, slowly and exactly: with the path and the byte span of everything

# The walker says where a message is broken, hex views are built on it, and generated code is tested against it. It
# fails exactly when generated code fails. With spans it raises LimitExceeded beyond PARTS_MAX of them.


UNKNOWN: Final = "_tagged_fields"
# A tagged field takes a tag and a size at least.
TAG_LEAST: Final = 2


class ReadingRemark(NamedTuple):
    """What is against the protocol in bytes that were read all the same; `id` as in exchange_remarks.py."""

    id: Literal["null", "varint", "tag_order", "tag_twice"]
    path: str
    at: int
    text: str


class Span(NamedTuple):
    """Bytes `at` to `end` and what they are: a value, the size before a value, a null marker, a tag count, a tag."""

    path: str
    at: int
    end: int
    what: Literal["value", "size", "flag", "tags", "tag"]
    value: Any


def count_values_of_element(field: PlanField) -> int:
    """How many values of VALUES_MAX one element of an array field uses up."""
    return 1 if field.plan is None else 1 + len(field.plan.fields)


@mypyc_attr(allow_interpreted_subclasses=True)
class Walker:
    """One reading of one message. `root` holds what was read, also after a failure.

    `remarks` are the first REMARKS_MAX of what is against the protocol in what was read, `remark_count` counts all. If
    `lenient`, null is read where it is not allowed, with a remark; else it is a failure.
    """

    __slots__ = ("_buf", "_left", "_lenient", "remark_count", "remarks", "root", "spans")

    def __init__(self, buf: bytes, spans: MutableSequence[Span] | None = None, *, lenient: bool = False) -> None:
        self._buf = buf
        self._left = VALUES_MAX
        self._lenient = lenient
        self.root: dict[str, Any] = {}
        self.spans = spans
        self.remarks: list[ReadingRemark] = []
        self.remark_count = 0

    def read(self, plan: Plan, at: int, end: int) -> int:
        """Read a message into `root`; returns the offset after the message. Raises DecodeError."""
        return self._read_struct(plan, at, end, self.root, "")

    def read_array_element(self, field: PlanField, at: int, end: int) -> tuple[object, int]:
        """One element of an array field without structs, and the offset after it. Raises DecodeError."""
        return self._read_element(field, at, end, "")

    def _note_span(
        self, path: str, at: int, end: int, what: Literal["value", "size", "flag", "tags", "tag"], value: object
    ) -> None:
        if self.spans is not None:
            if len(self.spans) >= PARTS_MAX:
                raise LimitExceeded(f"more than {PARTS_MAX:,} fields to name", offset=at)
            self.spans.append(Span(path, at, end, what, value))

    def _add_remark(self, remark: ReadingRemark) -> None:
        self.remark_count += 1
        if len(self.remarks) < REMARKS_MAX:
            self.remarks.append(remark)

    def _remark_long_varint(self, path: str, at: int, after: int) -> None:
        """Note a varint whose last byte adds nothing to its value."""
        if after - at > 1 and not self._buf[after - 1]:
            self._add_remark(ReadingRemark("varint", path, at, f"a varint of {after - at} bytes, the last of them 0"))

    def _read_size(self, field: PlanField, nullable: bool, wide: bool, at: int, end: int, path: str) -> tuple[int, int]:
        """The length or count before a value, and the offset after it."""
        size, after = read_size(wide, field.compact, nullable or self._lenient, self._buf, at, end)
        if field.compact:
            self._remark_long_varint(path, at, after)
        if size < 0 and not nullable:
            self._add_remark(ReadingRemark("null", path, at, NULL_FORBIDDEN))
        return size, after

    def _charge_values(self, count: int, at: int) -> None:
        self._left -= count
        if self._left < 0:
            raise LimitExceeded(f"more than {VALUES_MAX} values in one message", offset=at)

    def _read_struct(self, plan: Plan, at: int, end: int, into: dict[str, Any], path: str) -> int:
        prefix = path + "." if path else ""
        for field in plan.fields:
            at = self._read_field(field, at, end, into, prefix + field.name)
        if plan.flexible:
            at = call_at_path(prefix + UNKNOWN, self._read_tags, plan, at, end, into, prefix)
        return at

    def _read_field(self, field: PlanField, at: int, end: int, into: dict[str, Any], path: str) -> int:
        if field.array:
            at = call_at_path(path, self._read_array, field, at, end, into, path)
        elif field.plan is not None:
            at = call_at_path(path, self._read_struct_field, field, at, end, into, path)
        else:
            into[field.name], at = call_at_path(path, self._read_leaf, field, at, end, path)
        return at

    def _read_leaf(self, field: PlanField, at: int, end: int, path: str) -> tuple[object, int]:
        if field.kind in {"string", "bytes", "records"}:
            return self._read_sized(field, field.nullable, at, end, path)
        value, after = read_number(field.kind, self._buf, at, end)
        self._note_span(path, at, after, "value", value)
        if field.kind in VARINTS:
            self._remark_long_varint(path, at, after)
        return value, after

    def _read_sized(self, field: PlanField, nullable: bool, at: int, end: int, path: str) -> tuple[object, int]:
        text = field.kind == "string"
        size, start = self._read_size(field, nullable, not text, at, end, path)
        self._note_span(path, at, start, "size", size)
        if size < 0:
            return None, start
        after = start + size
        if after > end:
            raise Truncated(f"{field.kind} of {format_bytes(size)}, {max(end - start, 0)} are left", offset=start)
        data = self._buf[start:after]
        value = data.decode("utf-8", "surrogateescape") if text else data
        self._note_span(path, start, after, "value", value)
        return value, after

    def _read_array(self, field: PlanField, at: int, end: int, into: dict[str, Any], path: str) -> int:
        count, start = self._read_size(field, field.nullable, True, at, end, path)
        self._note_span(path, at, start, "size", count)
        at = start
        if count < 0:
            into[field.name] = None
            return at
        check_bytes_left(count, least_size_of_element(field), at, end)
        self._charge_values(count * count_values_of_element(field), at)
        if self.spans is None:
            found = read_numbers(field, self._buf, at, count)
            if found is not None:
                into[field.name], at = found
                return at
        values: list[Any] = []
        into[field.name] = values
        for number in range(count):
            place = f"{path}[{number}]"
            if field.plan is not None:
                values.append({})
                at = self._read_struct(field.plan, at, end, values[-1], place)
            else:
                value, at = call_at_path(place, self._read_element, field, at, end, place)
                values.append(value)
        return at

    def _read_element(self, field: PlanField, at: int, end: int, path: str) -> tuple[object, int]:
        if field.kind in {"string", "bytes", "records"}:
            return self._read_sized(field, False, at, end, path)
        return self._read_leaf(field, at, end, path)

    def _read_struct_field(self, field: PlanField, at: int, end: int, into: dict[str, Any], path: str) -> int:
        assert field.plan is not None
        if field.nullable:
            if field.tag is None:
                number, after = read_number("int8", self._buf, at, end)
                null = isinstance(number, int) and number < 0
            else:
                number, after = read_uvarint(self._buf, at, end)
                self._remark_long_varint(path, at, after)
                null = number == 0
            self._note_span(path, at, after, "flag", number)
            at = after
            if null:
                into[field.name] = None
                return at
        values: dict[str, Any] = {}
        into[field.name] = values
        return self._read_struct(field.plan, at, end, values, path)

    def _read_tags(self, plan: Plan, at: int, end: int, into: dict[str, Any], prefix: str) -> int:
        count, after = read_uvarint(self._buf, at, end)
        self._note_span(prefix + UNKNOWN, at, after, "tags", count)
        self._remark_long_varint(prefix + UNKNOWN, at, after)
        at = after
        check_bytes_left(count, TAG_LEAST, at, end)
        if count > TAGS_MAX:
            raise LimitExceeded(f"more than {TAGS_MAX} tagged fields in one struct", offset=at)
        self._charge_values(count, at)
        known = {field.tag: field for field in plan.tagged}
        unknown: dict[int, bytes] = {}
        before: list[int] = []
        for _ in range(count):
            start = at
            tag, middle = read_uvarint(self._buf, at, end)
            size, at = read_uvarint(self._buf, middle, end)
            field = known.get(tag)
            path = prefix + (field.name if field is not None else f"{UNKNOWN}.{tag}")
            self._note_span(path, start, at, "tag", tag)
            self._remark_long_varint(path, start, middle)
            self._remark_long_varint(path, middle, at)
            if before and tag <= before[-1]:
                if tag in before:
                    self._add_remark(ReadingRemark("tag_twice", path, start, f"tag {tag} again"))
                else:
                    text = f"tag {tag} behind tag {before[-1]}"
                    self._add_remark(ReadingRemark("tag_order", path, start, text))
            before.append(tag)
            after = at + size
            if after > end:
                raise Truncated(f"tag {tag} of {format_bytes(size)}, {max(end - at, 0)} are left", offset=at, path=path)
            if field is None:
                unknown[tag] = self._buf[at:after]
                self._note_span(path, at, after, "value", unknown[tag])
            else:
                stop = self._read_field(field, at, after, into, path)
                if stop != after:
                    raise Malformed(
                        f"tag {tag} says {format_bytes(size)}, its value has {stop - at}", offset=at, path=path
                    )
            at = after
        put_tags_last(plan, into, unknown)
        return at


# The kinds of numbers with a fixed size.
_NUMBERS: Final = RANGES.keys() & LETTERS.keys()


def read_numbers(field: PlanField, buf: bytes, at: int, count: int) -> tuple[list[Any], int] | None:
    """The elements of an array, and the offset after it, read at once; None where they have more than numbers.

    ApiVersions has 75 structs of three numbers. The bytes are known to be there.
    """
    plan = field.plan
    if plan is None:
        if field.kind not in _NUMBERS:
            return None
        return list(unpack_from(f">{count}{LETTERS[field.kind]}", buf, at)), at + count * STRUCTS[field.kind].size
    form = _find_struct_of_numbers(plan)
    if form is None:
        return None
    after = at + count * form.size
    if plan.flexible and buf[at + form.size - 1 : after : form.size].count(0) != count:
        return None  # some have tagged fields
    names = [field.name for field in plan.fields]
    return [dict(zip(names, row, strict=False)) for row in form.iter_unpack(buf[at:after])], after


@cache
def _find_struct_of_numbers(plan: Plan) -> Struct | None:
    """The form of a struct of numbers, the count of its tagged fields behind them; None for any other struct."""
    letters = [LETTERS[field.kind] for field in plan.fields if not field.array and field.kind in _NUMBERS]
    if not letters or len(letters) < len(plan.fields):
        return None
    return Struct(">" + "".join(letters) + "B" * plan.flexible)


def put_tags_last(plan: Plan, into: dict[str, Any], unknown: dict[int, bytes]) -> None:
    """Put the tagged fields last, in ascending order of tag, and add the unknown ones under `_tagged_fields`."""
    for field in plan.tagged:
        if field.name in into:
            into[field.name] = into.pop(field.name)
    if unknown:
        into[UNKNOWN] = dict(sorted(unknown.items()))


def call_at_path(path: str, read: Any, *arguments: Any) -> Any:
    """Call `read`; a DecodeError that names no field yet gets `path`."""
    try:
        return read(*arguments)
    except DecodeError as failure:
        if not failure.path:
            failure.path = path
        raise


def decode_by_walking(
    plan: Plan, buf: bytes, at: int, end: int, spans: list[Span] | None = None
) -> tuple[dict[str, Any], int]:
    """The values of a message and the offset after it; with `spans`, the bytes of each. Raises DecodeError."""
    walker = Walker(buf, spans)
    return walker.root, walker.read(plan, at, end)


# Writing, slowly and exactly: fills in defaults and says which field is wrong

# Generated encoders take complete values of the right types; all other values are encoded here.


TAG_MAX: Final = (1 << 31) - 2  # Kafka refuses 2**31 - 1
BUFFERS: Final = (bytes, bytearray, memoryview)


def encode_by_walking(plan: Plan, value: object) -> bytes:
    """The bytes of a message whose missing fields take their defaults. Raises EncodeError."""
    out: list[bytes] = []
    _write_struct(plan, value, out, "")
    return b"".join(out)


def _write_struct(plan: Plan, value: object, out: list[bytes], path: str) -> None:
    if not isinstance(value, Mapping):
        raise EncodeError(f"a struct (dict) expected, not {value!r:.80}", path=path)
    prefix = path + "." if path else ""
    _check_field_names(plan, value, prefix)
    for field in plan.fields:
        _write_field(field, value.get(field.name, field.default), out, prefix + field.name)
    if plan.flexible:
        _write_tags(plan, value, out, prefix)


def _check_field_names(plan: Plan, value: Mapping[Any, Any], prefix: str) -> None:
    names = {field.name for field in plan.fields}
    names.update(field.name for field in plan.tagged)
    for name in value:
        if name in names:
            continue
        if name == UNKNOWN:
            if value[name] and not plan.flexible:
                raise EncodeError("this version has no tagged fields", path=prefix + UNKNOWN)
            continue
        absent = plan.absent.get(name)
        if absent is None:
            raise EncodeError(f"no such field; there are {', '.join(sorted(names)) or 'none'}", path=f"{prefix}{name}")
        if not absent.ignorable and not equals_default(absent, value[name]):
            raise EncodeError(_describe_versions_of_field(absent, plan.version), path=prefix + absent.name)


def _describe_versions_of_field(field: Field, version: int) -> str:
    return f"version {version} cannot carry it; versions {field.versions} have it"


def _write_field(field: PlanField, value: object, out: list[bytes], path: str) -> None:
    if field.array:
        _write_array(field, value, out, path)
    elif field.plan is not None:
        _write_struct_field(field, value, out, path)
    else:
        _write_leaf(field, field.nullable, value, out, path)


def _write_leaf(field: PlanField, nullable: bool, value: object, out: list[bytes], path: str) -> None:
    try:
        if field.kind not in {"string", "bytes", "records"}:
            out.append(encode_number(field.kind, value))
            return
        wide = field.kind != "string"
        if value is None:
            if not nullable:
                raise ValueError("null is not allowed")
            out.append(encode_size(-1, wide, field.compact))
            return
        data = _require_bytes(value) if wide else encode_text(value)
        out.append(encode_size(len(data), wide, field.compact))
        out.append(data)
    except ValueError as failure:
        raise EncodeError(str(failure), path=path) from None


def _require_bytes(value: object) -> bytes:
    if isinstance(value, dict) and "redacted" in value:
        raise ValueError("a redacted secret cannot be encoded; decode with --reveal-secrets to keep its value")
    if not isinstance(value, BUFFERS):
        raise ValueError(f"bytes expected, not {value!r:.80}")
    return bytes(value)


def _write_array(field: PlanField, value: object, out: list[bytes], path: str) -> None:
    if value is None:
        if not field.nullable:
            raise EncodeError("null is not allowed", path=path)
        out.append(encode_size(-1, True, field.compact))
        return
    if not isinstance(value, list | tuple):
        raise EncodeError(f"an array (list) expected, not {value!r:.80}", path=path)
    out.append(encode_size(len(value), True, field.compact))
    for number, element in enumerate(value):
        place = f"{path}[{number}]"
        if field.plan is not None:
            _write_struct(field.plan, element, out, place)
        else:
            _write_leaf(field, False, element, out, place)


def _write_struct_field(field: PlanField, value: object, out: list[bytes], path: str) -> None:
    assert field.plan is not None
    if value == STRUCT_DEFAULT:
        value = {}
    if field.nullable:
        if value is None:
            out.append(b"\xff" if field.tag is None else b"\0")
            return
        out.append(b"\1")
    elif value is None:
        raise EncodeError("null is not allowed", path=path)
    _write_struct(field.plan, value, out, path)


def _write_tags(plan: Plan, value: Mapping[str, Any], out: list[bytes], prefix: str) -> None:
    parts: dict[int, bytes] = {}
    for field in plan.tagged:
        if field.name not in value:
            continue
        content: list[bytes] = []
        _write_field(field, value[field.name], content, prefix + field.name)
        data = b"".join(content)
        if data != default_bytes(field):
            parts[field.tag or 0] = data
    known = {field.tag: field.name for field in plan.tagged}
    for tag, data in unknown_tags(value.get(UNKNOWN), prefix + UNKNOWN).items():
        if tag in known:
            raise EncodeError(f"tag {tag} is {known[tag]} in this version", path=f"{prefix}{UNKNOWN}.{tag}")
        parts[tag] = data
    out.append(encode_uvarint(len(parts)))
    for tag in sorted(parts):
        out += (encode_uvarint(tag), encode_uvarint(len(parts[tag])), parts[tag])


def default_bytes(field: PlanField) -> bytes:
    """The bytes of a tagged field's default value; a field with these bytes is left out."""
    content: list[bytes] = []
    _write_field(field, field.default, content, "")
    return b"".join(content)


def unknown_tags(value: object, path: str) -> dict[int, bytes]:
    """The bytes of `_tagged_fields` by tag as an int (text keys are accepted), ascending. Raises EncodeError."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise EncodeError(f"a dict of tag: bytes expected, not {value!r:.80}", path=path)
    tags: dict[int, bytes] = {}
    for name, data in value.items():
        try:
            tag = int(name)
        except (TypeError, ValueError):
            raise EncodeError("a tag is a number", path=f"{path}.{name}") from None
        if not 0 <= tag <= TAG_MAX:
            raise EncodeError(f"a tag is 0 to {TAG_MAX}", path=f"{path}.{tag}")
        if tag in tags:
            raise EncodeError("the same tag twice", path=f"{path}.{tag}")
        if not isinstance(data, BUFFERS):
            raise EncodeError(f"bytes expected, not {data!r:.80}", path=f"{path}.{tag}")
        tags[tag] = bytes(data)
    return dict(sorted(tags.items()))
