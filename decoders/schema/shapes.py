"""A sample of a struct in, how to read all structs of that shape in one step out.

The problem. A string's size decides where the next field begins, so code that must read any message reads in as many
steps as there are sizes.

The idea. The shape of a message is every size, count, null marker and tag count in it. Where another message has the
same ones, each of its values stands at the same place:

```
sample   00 00 00 07 │ 00 03 │ 61 70 70 │ 00 00      correlation 7, client id of 3 bytes, error 0
shape      i           h==3    3s         h==0        one unpack_from, two checks
```

`unpack_from` reads all values and all markers at once; `checks` compare the markers. Where one differs, the usual code
reads the message.

What always holds: a message that meets the checks has the value that the usual code would give. Messages with tagged
fields, error codes that are set, or more than PIECES_MAX values have no shape.
"""

from __future__ import annotations

from struct import calcsize
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from decoders.schema.emit import unpacker
from decoders.schema.model import FIXED, Plan, PlanField
from decoders.schema.runtime import CRUDE, uvarint
from decoders.wire.primitives import LETTERS

if TYPE_CHECKING:
    from decoders.schema.decode import DecoderSource
    from decoders.schema.want import Want

# Values and sizes that one step may unpack; beyond that the gain shrinks and the text grows.
PIECES_MAX: Final = 72
SIZED: Final = frozenset({"string", "bytes", "records"})


class FixedShape(NamedTuple):
    """How to read it: `targets` are the variables of `unpack`, `checks` what must hold of them."""

    form: str
    size: int
    targets: str
    checks: tuple[str, ...]
    value: str | None

    @property
    def condition(self) -> str:
        """The checks as one expression."""
        return " and ".join(self.checks) or "True"


class _NoShapeError(Exception):
    """Not to be read in one step: too large, tagged fields, a varint, an error code that is not 0."""


def shape_of(
    reading: DecoderSource, plan: Plan, want: Want, path: str, buf: bytes, at: int, end: int
) -> FixedShape | None:
    """The shape of the struct at `at`; None where it is better read piece by piece."""
    shaping = _Shaping(reading, buf, at, end)
    try:
        value = shaping.struct(plan, want, path)
    except (_NoShapeError, *CRUDE):
        return None
    form = "".join(shaping.forms)
    if shaping.at > end or not shaping.targets:
        return None
    targets = ", ".join(shaping.targets) + ("," if len(shaping.targets) == 1 else "")
    return FixedShape(form, calcsize(">" + form), targets, tuple(shaping.checks), value)


def unpack_line(reading: DecoderSource, shape: FixedShape) -> str:
    """The line that unpacks a shape at `at`."""
    return f"{shape.targets} = {reading.unit.constant('unpack', unpacker(shape.form))}(buf, at)"


class _Shaping:
    def __init__(self, reading: DecoderSource, buf: bytes, at: int, end: int) -> None:
        self.reading = reading
        self.buf = buf
        self.start = at
        self.at = at
        self.end = end
        self.forms: list[str] = []
        self.targets: list[str] = []
        self.checks: list[str] = []

    def struct(self, plan: Plan, want: Want, path: str) -> str | None:
        entries: dict[str, str] = {}
        for field in plan.fields:
            value = self._field(field, _part(want, field.name), path, entries)
            if value is not None:
                entries[field.name] = value
        if plan.flexible:
            self._expect_varint(0)
        return None if want is None else "{" + ", ".join(f"{name!r}: {text}" for name, text in entries.items()) + "}"

    def _take(self, form: str, target: str) -> None:
        """The next bytes, into a variable where one is given."""
        size = calcsize(">" + form)
        self.forms.append(form if target else f"{size}x")
        if target:
            self.targets.append(target)
            if len(self.targets) > PIECES_MAX:
                raise _NoShapeError
        self.at += size

    def _expect(self, form: str, value: object) -> None:
        """The next bytes must be these in each struct of the shape."""
        target = self.reading.unit.new("c")
        self._take(form, target)
        self.checks.append(f"{target} == {value!r}" if value else f"not {target}")

    def _expect_varint(self, required: int | None = None) -> int:
        value, after = uvarint(self.buf, self.at)
        if required is not None and value != required:
            raise _NoShapeError
        size = after - self.at
        if size == 1:
            self._expect("B", value)
        else:
            self._expect(f"{size}s", self.buf[self.at : after])
        return value

    def _size(self, field: PlanField, wide: bool) -> int:
        """The size or count before a value, -1 for null."""
        if field.compact:
            size = self._expect_varint() - 1
        else:
            width = 4 if wide else 2
            size = int.from_bytes(self.buf[self.at : self.at + width], "big", signed=True)
            self._expect("i" if wide else "h", size)
        if size < -1 or size > self.end - self.at:
            raise _NoShapeError
        return size

    def _field(self, field: PlanField, want: Want, path: str, before: dict[str, str]) -> str | None:
        path += field.name
        if field.array:
            return self._array(field, want, path, before)
        if field.plan is not None:
            if field.nullable:
                null = self.buf[self.at] > 127
                self._expect("B", self.buf[self.at])
                if null:
                    return None if want is None else "None"
            return self.struct(field.plan, want, path + ".")
        if field.kind in SIZED:
            return self._sized(field, field.nullable, want, path, before)
        return self._number(field, want)

    def _number(self, field: PlanField, want: Want) -> str | None:
        letter = LETTERS.get(field.kind)
        if letter is None:
            raise _NoShapeError
        if self.reading.is_error(field):
            if any(self.buf[self.at : self.at + 2]):
                raise _NoShapeError
            self._expect(letter, 0)
            return None if want is None else "0"
        if want is None:
            self._take(letter, "")
            return None
        value = self.reading.unit.new("v")
        self._take(letter, value)
        if field.secret and want != "raw" and not self.reading.mode.reveal:
            return f"{{'redacted': {FIXED[field.kind]}}}"
        return self.reading.convert(field.kind).format(value)

    def _sized(self, field: PlanField, nullable: bool, want: Want, path: str, before: dict[str, str]) -> str | None:
        size = self._size(field, field.kind != "string")
        if size < 0 and not nullable:
            raise _NoShapeError
        if want is None:
            self._take(f"{max(size, 0)}s", "")
            return None
        shown = self.reading.shown(field, want, path)
        if size < 0:
            return shown.null
        if shown.by_place:
            value = shown.by_place.format(start=f"at + {self.at - self.start}", size=size)
            self._take(f"{size}s", "")
            return value
        raw = self.reading.unit.new("v")
        self._take(f"{size}s", raw)
        return shown.unless_secret(raw, before, field.unless) if shown.secret else shown.convert.format(raw)

    def _array(self, field: PlanField, want: Want, path: str, before: dict[str, str]) -> str | None:
        count = self._size(field, True)
        if count < 0 and not field.nullable:
            raise _NoShapeError
        if count > PIECES_MAX:
            raise _NoShapeError
        inner = None if want == "count" else want
        items: list[Any] = [self._element(field, inner, path, before) for _ in range(count)]
        if want == "count":
            return str(count) if count >= 0 else "None"
        return None if want is None else "None" if count < 0 else f"[{', '.join(items)}]"

    def _element(self, field: PlanField, want: Want, path: str, before: dict[str, str]) -> str | None:
        if field.plan is not None:
            return self.struct(field.plan, want, path + "[].")
        if field.kind in SIZED:
            return self._sized(field, False, want, path + "[]", before)
        return self._number(field, want)


def _part(want: Want, name: str) -> Want:
    return want.get(name) if isinstance(want, dict) else want
