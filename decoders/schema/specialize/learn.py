"""A sample of a struct in, the way to read all structs of the same shape in one step out.

The problem. A string's size decides where the next field begins, so code that can read any message needs as many steps
as there are sizes.

The idea. The shape of a message is every size, count, null marker and tag count in it. In another message of the same
shape, each value is at the same offset:

```
sample   00 00 00 07 │ 00 03 │ 61 70 70 │ 00 00      correlation 7, client id of 3 bytes, error 0
shape      i           h==3    3s         h==0        one unpack_from, two checks
```

`unpack_from` reads all values, sizes and markers at once; `checks` compare the sizes and markers. Where one differs,
the usual code reads the message.

What it gains, speculate.py included, where messages of one shape are decoded again and again
(`python -m tests.bench.codec`): 2.66 times kafka-python with it, 2.01 without; 0.73 and 0.56 times kio's native code.
The messages of captures differ more: `kw sniff -o text` of real captures (`python -m tests.bench.real`) took 2 % more
time with it than without, so projections do not learn.

What always holds: a message that passes the checks gets the value that the usual code would give. Messages with tagged
fields, error codes that are set, or more than PIECES_MAX values have no shape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from struct import calcsize
from typing import Any, Final

from decoders.limits import BODY_WHOLE_MAX
from decoders.named_tuple import NamedTuple
from decoders.schema.codegen_support import CRUDE, Lines, Unit, unpacker, uvarint
from decoders.schema.decoder_codegen import SMALL, DecoderSource
from decoders.schema.model import FIXED, Plan, PlanField
from decoders.schema.projection import ALL, Mode, Want
from decoders.schema.specialize.speculate import signature, worth_guessing
from decoders.wire.primitives import LETTERS

# How many values and sizes one step may unpack; beyond that the gain shrinks and the generated text grows.
PIECES_MAX: Final = 72
SIZED: Final = frozenset({"string", "bytes", "records"})


class FixedShape(NamedTuple):
    """How to read a struct of one shape: `form` unpacks into the variables `targets`, which must meet `checks`."""

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
    """A struct cannot be read in one step: too large, tagged fields, a varint, an error code that is not 0."""


def shape_of(
    reading: DecoderSource, plan: Plan, want: Want, path: str, buf: bytes, at: int, end: int
) -> FixedShape | None:
    """The shape of the struct at `at`; None where the struct is better read piece by piece."""
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
    """The line of code that unpacks a struct of this shape at `at`."""
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
        """Unpack the next bytes into the variable `target`, or skip them if it is empty."""
        size = calcsize(">" + form)
        self.forms.append(form if target else f"{size}x")
        if target:
            self.targets.append(target)
            if len(self.targets) > PIECES_MAX:
                raise _NoShapeError
        self.at += size

    def _expect(self, form: str, value: object) -> None:
        """Require that the next bytes are `value` in each struct of the shape."""
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
        """Require the size or count before a value; returns it, -1 for null."""
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
        shown = self.reading.shown(field, want, path, before)
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


# Messages in, faster code for the most frequent ones out: decoders that specialise in the messages they read.
#
# The problem. Generated code reads a message field by field, since sizes and counts may vary. In real traffic they
# hardly vary: a client's heartbeats all have the same size, and the partitions of a Metadata response are alike.
#
# The idea. Count the messages, and generate code for those that come often:
#
# ```
# small message ─► shapes[size] ─► None        : no function for this size; the usual code
#                               ─► see         : count; after ENOUGH of this size, make a function for its shape
#                               ─► a function  : one unpack and some checks; another shape → None, the usual code
# large message ─► study: after BYTES_ENOUGH generate the decoder again, with a guess of each array's elements
# (speculate.py)
#                  guessed_wrong: too many elements were not as guessed → generate it again, ROUNDS_MAX times at most
# ```
#
# What always holds: the same values come out and the same messages fail; the checks of a shape cover everything that
# the usual code checks. Work and memory are bounded: SIZES_MAX sizes watched, SHAPES_MAX functions per decoder.
#
# What is given up: the first ENOUGH messages of a size gain nothing; a kind whose sizes all differ never gains.
# Gains: `python -m tests.bench.codec`.


# Making a function costs about as much time as it saves over this many messages.
ENOUGH: Final = 600
# How many sizes are watched for one decoder, and how many functions are made for it; beyond these limits its messages
# are taken to have no usual size.
SIZES_MAX: Final = 200
SHAPES_MAX: Final = 24
# Bytes of large messages after which a decoder is generated again.
BYTES_ENOUGH: Final = 200_000
# How often a decoder is generated again at most.
ROUNDS_MAX: Final = 4
# How many elements of an array are compared, and the share of them that must have the same shape.
ELEMENTS: Final = 64
SHARE: Final = 0.6

Install = Callable[[Unit, str], Callable[..., Any]]


def may_learn(plan: Plan) -> bool:
    """Whether messages of this plan can differ in shape, apart from their tagged fields."""
    return any(_varies(field) for field in plan.fields)


def _varies(field: PlanField) -> bool:
    if field.array or field.nullable or (field.plan is None and field.kind not in FIXED):
        return True
    return field.plan is not None and may_learn(field.plan)


class Learner:
    """The statistics of one decoder. `shapes[size]` reads messages of a size: `see`, a generated function, or None."""

    def __init__(
        self, plan: Plan, want: Want, mode: Mode, unit: Unit, install: Install, enough: int | None = None
    ) -> None:
        enough = ENOUGH if enough is None else enough
        self._plan = plan
        self._want = want
        self._mode = mode
        self._unit = unit
        self._install = install
        self._enough = enough
        self._seen: Counter[int] = Counter()
        self._missed: Counter[int] = Counter()
        self._bytes = 0
        self._bytes_enough = BYTES_ENOUGH * enough // ENOUGH
        self._wrong = 0
        self._rounds = 0
        self._made = 0
        self.decode: Callable[..., Any] | None = None
        self.shapes: list[Callable[..., Any] | None] = [self.see] * SMALL
        unit.names.update(shapes=self.shapes, study=self.study, missed=self.missed, guessed_wrong=self.guessed_wrong)

    def see(self, buf: bytes, at: int, end: int, *_table: object) -> None:
        """Count a small message; after enough of its size, make a function for that size."""
        size = end - at
        self._seen[size] += 1
        if self._seen[size] >= self._enough:
            self._make(buf, at, end)
        elif len(self._seen) > SIZES_MAX:
            self._stop()

    def missed(self, buf: bytes, at: int, end: int) -> None:
        """Count a message whose shape is not the one expected for its size; after many of them, try another shape."""
        size = end - at
        self._missed[size] += 1
        if self._missed[size] % (2 * self._enough) == 0:
            self.shapes[size] = None
            if self._missed[size] < 5 * self._enough:
                self._make(buf, at, end)

    def study(self, buf: bytes, at: int, end: int, *_table: object) -> None:
        """Count the bytes of a large message; after enough bytes, generate the decoder again."""
        if end - at > BODY_WHOLE_MAX:
            return  # the message would take too much memory as Python values
        self._bytes += max(end - at, 0)
        if self._bytes >= self._bytes_enough:
            self._regenerate(buf, at, end)

    def guessed_wrong(self, buf: bytes, at: int, end: int, elements: int) -> None:
        """Count elements that were not as guessed; after many of them, generate the decoder again."""
        self._wrong += elements
        if self._wrong >= 4 * self._enough:
            self._wrong = 0
            if end - at <= BODY_WHOLE_MAX:
                self._regenerate(buf, at, end)

    def _stop(self) -> None:
        for size, shape in enumerate(self.shapes):
            if shape == self.see:
                self.shapes[size] = None

    def _make(self, buf: bytes, at: int, end: int) -> None:
        size = end - at
        self.shapes[size] = None
        reading = DecoderSource(self._unit, self._mode)
        shape = shape_of(reading, self._plan, self._want, "", buf, at, end)
        if shape is None or shape.size != size:
            self.study(buf, at, end)
            return
        body = Lines(self._unit)
        name = body.new("shape")
        table = ", table" if self._mode.json else ""
        body.put(f"def {name}(buf, at, end{table}):")
        body.depth = 1
        body.put(unpack_line(reading, shape), f"if {shape.condition}:", f"    return {shape.value}")
        body.put("return missed(buf, at, end)")
        made = self._install(self._alone(body), name)
        self._made += 1
        self.shapes[size] = made
        if self._made >= SHAPES_MAX:
            self._stop()

    def _alone(self, body: Lines) -> Unit:
        """A unit with this function only, which shares the decoder's globals."""
        unit = Unit()
        unit.names = self._unit.names
        unit.parts.append("\n".join(body.lines))
        return unit

    def _regenerate(self, buf: bytes, at: int, end: int) -> None:
        """Replace the decoder's code by code that guesses the shape of elements; in the last round, by code without."""
        self._rounds += 1
        last = self._rounds == ROUNDS_MAX
        guesses = {} if last else usual_elements(self._plan, self._sample(buf, at, end))
        self._bytes = 0
        self._bytes_enough *= 10
        assert self.decode is not None
        self._unit.parts.clear()
        reading = DecoderSource(self._unit, self._mode, guesses)
        reading.root(self._plan, self._want, asks=True, studies=not guesses and not last)
        self.decode.__code__ = self._install(self._unit, "decode").__code__

    def _sample(self, buf: bytes, at: int, end: int) -> dict[str, Any]:
        """The values of a message, which may be too large for the walker; empty where the message is broken."""
        unit = Unit()
        DecoderSource(unit, Mode(careful=True)).root(self._plan, ALL)
        try:
            value: dict[str, Any] = self._install(unit, "decode")(buf, at, end)[0]
        except CRUDE:
            return {}
        return value


def usual_elements(plan: Plan, value: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """For each array of a sample message, by path without indices: an element of the most frequent shape."""
    found: dict[str, list[tuple[Plan, Mapping[str, Any]]]] = {}
    _collect(plan, value, "", found)
    usual: dict[str, Mapping[str, Any]] = {}
    for path, elements in found.items():
        if not worth_guessing(elements[0][0]):
            continue
        step = len(elements) // ELEMENTS + 1
        signed = [(signature(*each), each[1]) for each in elements[::step]]
        sizes, number = Counter(sign for sign, _ in signed).most_common(1)[0]
        if sizes is not None and number >= SHARE * len(signed):
            usual[path] = next(element for sign, element in signed if sign == sizes)
    return usual


def _collect(
    plan: Plan, value: Mapping[str, Any], prefix: str, found: dict[str, list[tuple[Plan, Mapping[str, Any]]]]
) -> None:
    for field in (*plan.fields, *plan.tagged):
        inner = value.get(field.name)
        if field.plan is None or not inner:
            continue
        path = prefix + field.name
        if field.array:
            inner = inner[:: len(inner) // ELEMENTS + 1]  # a few elements tell as much as all
            found.setdefault(path, []).extend((field.plan, each) for each in inner)
        for each in inner if field.array else [inner]:
            _collect(field.plan, each, path + ("[]." if field.array else "."), found)
