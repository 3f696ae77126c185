"""The part of a decoder's source that reads arrays: of numbers at once, of fixed structs at once, others in a loop."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from decoders.schema.emit import Body, Piece, long_table, plus, run_format, table, targets
from decoders.schema.model import FIXED, Plan, PlanField
from decoders.schema.resolve import least_element, least_struct
from decoders.schema.walk import weight
from decoders.wire.primitives import LETTERS

if TYPE_CHECKING:
    from decoders.schema.decode import Reading, Want

# From this many elements on, arrays of fixed structs are unpacked by one iterator.
MANY = 4


def read(reading: Reading, body: Body, field: PlanField, want: Want, path: str, place: str) -> str | None:
    """Lines that read an array; the expression of its value, None where it is not wanted."""
    number = body.new("n")
    body.piece("S" if field.compact else "i", number)
    body.flush()
    if field.plan is None and field.kind in FIXED and not reading.mode.careful and want != "count":
        return _numbers(reading, body, field, want, number)
    _count(reading, body, field, number)
    count = f"{number} - 1" if field.compact else number
    there = number if field.compact else f"{number} >= 0"
    value = body.new("x")
    if want == "count":
        body.put(f"{value} = {count} if {there} else None" if field.nullable else f"{value} = {count}")
    inner = None if want == "count" else want
    if not field.nullable:
        _elements(reading, body, field, inner, number, count, value, path, place)
    else:
        with body.block(f"if {there}:"):
            _elements(reading, body, field, inner, number, count, value, path, place)
        if inner is not None:
            with body.block("else:"):
                body.put(f"{value} = None")
    return None if want is None else value


def _count(reading: Reading, body: Body, field: PlanField, number: str) -> None:
    """Check the count and bring `at` behind it; a compact one stays one more than it is, 0 for null."""
    body.sync()
    least = least_element(field)
    null = "_or_null" if field.nullable else ""
    if field.compact:
        long = f"{number}, at = long_count{null}(buf, at - 1, {body.end}, {least})"
        body.put(f"if not {body.is_short(number)}:", f"    {long}")
    else:
        long = f"{number} = count{null}({number}, at, {body.end}, {least})"
        sure = "True" if field.plan is not None and not least_struct(field.plan) else f"not 0 <= {number} < 16"
        body.put(f"if {sure}:", f"    {long}")
    if reading.mode.careful:
        values = f"({number} - 1)" if field.compact else number
        body.put(f"if {number} > 0:", f"    spend(left, {values} * {weight(field)})")


def _numbers(reading: Reading, body: Body, field: PlanField, want: Want, number: str) -> str | None:
    """An array of a fixed type, in one unpack_from by its count."""
    letter = LETTERS[field.kind]
    width = FIXED[field.kind]
    value = body.new("x") if want is not None else ""
    convert = reading.convert(field.kind)
    tables = table(_repeat(letter), "", 1) if field.compact else long_table(_repeat(letter), "")
    name = body.const("table", tables) if value else ""
    shift, body.shift = body.shift, 0

    def take(unpack: str, at: str) -> None:
        if value:
            values = f"{unpack}(buf, {at})"
            each = convert.format("w")
            body.put(f"{value} = [*{values}]" if each == "w" else f"{value} = [{each} for w in {values}]")

    short = body.is_short(number) if field.compact else f"0 <= {number} < 128"
    with body.block(f"if {short}:"):
        take(f"{name}[{number}]", plus("at", shift))
        size = number if width == 1 else f"{width} * {number}"
        body.put(f"at += {plus(size, shift - (width if field.compact else 0))}")
    if field.nullable:
        with body.block(f"elif not {number}:" if field.compact else f"elif {number} == -1:"):
            body.put(*([f"{value} = None"] if value else []), f"at += {shift}")
    null = "_or_null" if field.nullable else ""
    with body.block("else:"):
        if field.compact:
            body.put(f"{number}, at = long_count{null}(buf, {plus('at', shift - 1)}, {body.end}, {width})")
            body.put(f"{number} -= 1")
        else:
            body.put(f"at += {shift}", f"{number} = count{null}({number}, at, {body.end}, {width})")
        if field.nullable and field.compact:
            with body.block(f"if {number} < 0:"):
                body.put(f"{value} = None" if value else "pass")
            with body.block("else:"):
                take(f"many({letter!r}, {number})", "at")
                body.put(f"at += {width} * {number}")
        else:
            take(f"many({letter!r}, {number})", "at")
            body.put(f"at += {width} * {number}")
    return value or None


def _repeat(letter: str) -> str:
    """A format for a count: struct repeats single letters itself, others are repeated as text."""
    return "%d" + letter if len(letter) == 1 else letter


def _elements(
    reading: Reading,
    body: Body,
    field: PlanField,
    want: Want,
    number: str,
    count: str,
    value: str,
    path: str,
    place: str,
) -> None:
    """Lines that read the elements of an array whose count is known."""
    if field.plan is None:
        _leaves(reading, body, field, want, count, value, path)
        return
    fixed = fixed_struct(reading, field.plan, want)
    if fixed is None:
        _loop(reading, body, field.plan, want, count, value, path, place)
        return
    size = fixed.size
    many = f"{number} > {MANY + 1 if field.compact else MANY}"
    total = f"{size} * ({count})" if field.compact else f"{size} * {number}"
    if want is None:
        if not fixed.tags:
            body.put(f"at += {total}")
            return
        slices = " and ".join(
            f"buf[{plus('at', offset)}:at + {total}:{size}].count(0) == {count}" for offset in fixed.tags
        )
        with body.block(f"if {many} and {slices}:"):
            body.put(f"at += {total}")
    else:
        each = body.const("each", Struct(">" + fixed.form).iter_unpack)
        no_tags = f" if not ({' or '.join(fixed.tag_names)})" if fixed.tags else ""
        made = f"[{fixed.value} for {fixed.targets} in {each}(buf[at:at + {total}]){no_tags}]"
        enough = f"{many} and len({value} := {made}) == {count}" if fixed.tags else many
        with body.block(f"if {enough}:"):
            if not fixed.tags:
                body.put(f"{value} = {made}")
            body.put(f"at += {total}")
    with body.block("else:"):
        _loop(reading, body, field.plan, want, count, value, path, place)


def _leaves(reading: Reading, body: Body, field: PlanField, want: Want, count: str, value: str, path: str) -> None:
    """Numbers at once; strings, bytes and varints one by one."""
    width = FIXED.get(field.kind)
    if width is not None:
        if want is not None:
            each = reading.convert(field.kind).format("w")
            body.put(f"{value} = [{each} for w in many({LETTERS[field.kind]!r}, {count})(buf, at)]")
        body.put(f"at += {width} * ({count})")
        return
    if want is not None:
        body.put(f"{value} = []")
    with body.block(f"for _ in range({count}):"):
        if field.kind in {"string", "bytes", "records"}:
            item = reading.sized(body, field, False, want, path + "[]", {})
        else:
            item = reading.number(body, field, want, "")
        body.sync()
        if item is not None:
            body.put(f"{value}.append({item})")


def _loop(reading: Reading, body: Body, plan: Plan, want: Want, count: str, value: str, path: str, place: str) -> None:
    """Structs one by one."""
    if want is not None:
        body.put(f"{value} = []")
    index = body.new("i")
    with body.block(f"for {index} in range({count}):"):
        if any(inner.array for inner in plan.fields):
            body.fail_if(
                f"at > {body.end}"
            )  # so that a short message in a long buffer does not read far beyond its end
        each = reading.struct(body, plan, want, path + "[].", f"{place}[{{{index}}}].")
        body.sync()
        if want is not None:
            body.put(f"{value}.append({each})")


class FixedStruct(NamedTuple):
    """A struct of fixed size when it has no tagged fields: `tags` are the offsets of its tag counts."""

    form: str
    size: int
    targets: str
    value: str
    tags: list[int]
    tag_names: list[str]


def fixed_struct(reading: Reading, plan: Plan, want: Want) -> FixedStruct | None:
    """How to read a struct in one step; None where its size varies or its errors are asked for."""
    pieces: list[Piece] = []
    value = _flatten(reading, plan, want, pieces, want is not None)
    if value is None:
        return None
    form = run_format(pieces)
    tags = [number for number, piece in enumerate(pieces) if piece.letter == "S"]
    offsets = [Struct(">" + run_format(pieces[:number])).size for number in tags]
    if want is not None and not any(piece.target for piece in pieces if piece.letter != "S"):
        return None
    return FixedStruct(form, Struct(">" + form).size, targets(pieces), value, offsets, [pieces[n].target for n in tags])


def _flatten(reading: Reading, plan: Plan, want: Want, pieces: list[Piece], tags: bool) -> str | None:
    """Add a struct's pieces, with names for the tag counts; its value, None where its size varies."""
    entries: list[str] = []
    for field in plan.fields:
        part: Any = want.get(field.name) if isinstance(want, dict) else want
        if field.array or (field.plan is not None and field.nullable) or field.secret:
            return None
        if field.plan is not None:
            inner = _flatten(reading, field.plan, part, pieces, tags)
            if inner is None:
                return None
            value = inner
        elif field.kind in FIXED:
            if reading.mode.errors and field.name.endswith("error_code"):
                return None
            target = reading.unit.new("v") if part is not None else ""
            pieces.append(Piece(LETTERS[field.kind], target))
            value = reading.convert(field.kind).format(target)
        else:
            return None
        if part is not None:
            entries.append(f"{field.name!r}: {value}")
    if plan.flexible:
        pieces.append(Piece("S", reading.unit.new("t") if tags else ""))
    return "{" + ", ".join(entries) + "}"
