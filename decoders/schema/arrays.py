"""The part of a decoder's source that reads arrays: of numbers at once, of fixed structs at once, others in a loop."""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from decoders.schema import runtime
from decoders.schema.emit import Body, Piece, long_table, plus, run_format, table, targets
from decoders.schema.guess import Guessing
from decoders.schema.model import FIXED, Plan, PlanField
from decoders.schema.resolve import least_element, least_struct
from decoders.schema.walk import weight
from decoders.wire.primitives import LETTERS

if TYPE_CHECKING:
    from decoders.schema.decode import Reading
    from decoders.schema.want import Want

# From this many elements on, arrays of fixed structs are unpacked by one iterator.
MANY = 4


class ArrayReading:
    """The reading of one array: `path` and `place` are those of Reading.struct, `before` the values before it."""

    def __init__(
        self, reading: Reading, body: Body, field: PlanField, want: Want, path: str, place: str, before: dict[str, str]
    ) -> None:
        self.reading = reading
        self.body = body
        self.field = field
        self.want = want
        self.path = path
        self.place = place
        self.before = before
        self.number = body.new("n")  # the variable of the count as read: a compact one is one more, 0 for null
        self.value = body.new("x")
        self.count = f"{self.number} - 1" if field.compact else self.number
        # A projection of a large message keeps no more elements than there is room for.
        self.capped = reading.mode.careful and reading.mode.projection and want is not None

    def read(self) -> str | None:
        """Lines that read the array; the expression of its value, None where it is not wanted."""
        body, field, want, value = self.body, self.field, self.want, self.value
        body.piece("S" if field.compact else "i", self.number)
        body.flush()
        if field.plan is None and field.kind in FIXED and not self.reading.mode.careful and want != "count":
            self._numbers(LETTERS[field.kind], FIXED[field.kind])
            return None if want is None else value
        self._check()
        there = self.number if field.compact else f"{self.number} >= 0"
        if want == "count":
            body.put(f"{value} = {self.count} if {there} else None" if field.nullable else f"{value} = {self.count}")
            self.want = None
        if not field.nullable:
            self._elements()
        else:
            with body.block(f"if {there}:"):
                self._elements()
                body.put("pass")
            if self.want is not None:
                body.put("else:", f"    {value} = None")
        return None if want is None else value

    def _check(self) -> None:
        """Check the count and bring `at` behind it."""
        body, field, number = self.body, self.field, self.number
        body.sync()
        least = least_element(field)
        null = "_or_null" if field.nullable else ""
        if field.compact:
            long = f"{number}, at = long_count{null}(buf, at - 1, {body.end}, {least})"
            body.put(f"if not {body.is_short(number)}:", f"    {long}")
        else:
            sure = "True" if field.plan is not None and not least_struct(field.plan) else f"not 0 <= {number} < 16"
            body.put(f"if {sure}:", f"    {number} = count{null}({number}, at, {body.end}, {least})")
        if self.reading.mode.careful:
            body.put(f"if {number} > 0:", f"    spend(left, ({self.count}) * {weight(field)})")

    def _take(self, unpack: str, at: str) -> None:
        """Make the array of what an unpack_from gives."""
        if self.want is None:
            return
        each = self.reading.convert(self.field.kind).format("w")
        values = f"{unpack}(buf, {at})"
        self.body.put(f"{self.value} = [*{values}]" if each == "w" else f"{self.value} = [{each} for w in {values}]")

    def _numbers(self, letter: str, width: int) -> None:
        """An array of a fixed type, in one unpack_from by its count."""
        body, field, number = self.body, self.field, self.number
        form = "%d" + letter if len(letter) == 1 else letter
        tables = table(form, "", 1) if field.compact else long_table(form, "")
        name = body.const("table", tables) if self.want is not None else ""
        shift, body.shift = body.shift, 0
        short = body.is_short(number) if field.compact else f"0 <= {number} < 128"
        with body.block(f"if {short}:"):
            self._take(f"{name}[{number}]", plus("at", shift))
            size = number if width == 1 else f"{width} * {number}"
            body.put(f"at += {plus(size, shift - (width if field.compact else 0))}")
        null = [f"{self.value} = None"] if self.want is not None else []
        if field.nullable:
            with body.block(f"elif not {number}:" if field.compact else f"elif {number} == -1:"):
                body.put(*null, f"at += {shift}")
        with body.block("else:"):
            if field.compact:
                long = "long_count_or_null" if field.nullable else "long_count"
                body.put(f"{number}, at = {long}(buf, {plus('at', shift - 1)}, {body.end}, {width})", f"{number} -= 1")
            else:
                body.put(f"at += {shift}", f"{number} = count({number}, at, {body.end}, {width})")
            if field.nullable and field.compact:  # null may be written in more bytes than one
                body.put(f"if {number} < 0:", *(["    " + line for line in null] or ["    pass"]))
                with body.block("else:"):
                    self._take(f"many({letter!r}, {number})", "at")
                    body.put(f"at += {width} * {number}")
            else:
                self._take(f"many({letter!r}, {number})", "at")
                body.put(f"at += {width} * {number}")

    def _elements(self) -> None:
        """Lines that read the elements of an array whose count is known."""
        if self.field.plan is None:
            self._leaves()
            return
        fixed = (
            None if self.capped and self.want is not None else fixed_struct(self.reading, self.field.plan, self.want)
        )
        if fixed is None:
            self._loop(self.field.plan)
            return
        body, value, count = self.body, self.value, self.count
        many = f"{self.number} > {MANY + self.field.compact}"
        total = f"{fixed.size} * ({count})"
        if self.want is None and not fixed.tags:
            body.put(f"at += {total}")
            return
        if self.want is None:
            slices = "".join(
                f" and buf[{plus('at', n)}:at + {total}:{fixed.size}].count(0) == {count}" for n in fixed.tags
            )
            enough = many + slices
        else:
            each = body.const("each", Struct(">" + fixed.form).iter_unpack)
            no_tags = f" if not ({' or '.join(fixed.tag_names)})" if fixed.tags else ""
            made = f"[{fixed.value} for {fixed.targets} in {each}(buf[at:at + {total}]){no_tags}]"
            enough = f"{many} and len({value} := {made}) == {count}"
        body.put(f"if {enough}:", f"    at += {total}")
        with body.block("else:"):
            self._loop(self.field.plan)

    def _leaves(self) -> None:
        """Numbers at once; strings, bytes and varints one by one."""
        body, field = self.body, self.field
        width = FIXED.get(field.kind)
        if width is not None:
            count = f"room(left, {self.count})" if self.capped else self.count
            self._take(f"many({LETTERS[field.kind]!r}, {count})", "at")
            body.put(f"at += {width} * ({self.count})")
            return
        if self.want is not None:
            body.put(f"{self.value} = []")
        with body.block(f"for _ in {self._numbers_up()}:"):
            if field.kind in {"string", "bytes", "records"}:
                item = self.reading.sized(body, field, False, self.want, self.path + "[]", self.before)
            else:
                item = self.reading.number(body, field, self.want, "")
            body.sync()
            if item is not None:
                self._add(item)

    def _numbers_up(self) -> str:
        """The expression of 0, 1, 2 … below the count."""
        kept = self.body.const("ranges", runtime.RANGES)
        index = self.number if self.field.compact else f"{self.number} + 1"
        return f"({kept}[{index}] if {self.number} < 127 else range({self.count}))"

    def _guess(self, plan: Plan, sample: Mapping[str, Any]) -> tuple[int, list[str]]:
        """Lines that read an element if it has the counts of the sample; the bytes that must be there for that."""
        body = self.body
        kept, body.lines = body.lines, []
        depth = body.depth
        body.depth += 2
        body.guess()
        value = Guessing(self.reading, body).struct(plan, self.want, self.path + "[].", sample)
        body.sync()
        if self.want is not None:
            body.put(f"{self.value}.append({value})")
        body.put("continue")
        lines, body.lines, body.depth = body.lines, kept, depth
        return body.first_run, lines

    def _loop(self, plan: Plan) -> None:
        """Structs one by one."""
        body = self.body
        if self.want is not None:
            body.put(f"{self.value} = []")
        index = body.new("i")
        sample = self.reading.guesses.get(self.path) if body.end == "end" else None
        size, guess = (0, []) if sample is None else self._guess(plan, sample)
        last, start = body.new("last"), body.new("start")
        if guess:
            body.put(f"{last} = {body.end} - {size}")
        with body.block(f"for {index} in {self._numbers_up()}:"):
            if guess:
                body.put(f"{start} = at", f"if at <= {last}:")
                body.lines += guess
                body.put(f"at = {start}", "wrong += 1")
            if any(inner.array and inner.kind not in FIXED for inner in plan.fields):
                body.fail_if(f"at > {body.end}")  # a short message in a long buffer must not be read far beyond its end
            each = self.reading.struct(body, plan, self.want, self.path + "[].", f"{self.place}[{{{index}}}].")
            body.sync()
            if self.want is not None:
                self._add(str(each))

    def _add(self, value: str) -> None:
        """The line that adds an element, in a large projection while there is room."""
        if self.capped:
            self.body.put("if room(left, 1):", f"    {self.value}.append({value})")
        else:
            self.body.put(f"{self.value}.append({value})")


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
