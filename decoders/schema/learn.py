"""Messages as they come in, faster code for the usual ones out: decoders that specialise for what they read.

The problem. Generated code reads a message field by field, since sizes and counts vary. In real traffic they hardly do:
a client's heartbeats all have the same size, and the partitions of a Metadata response are alike.

The idea. Watch what comes, and make code for what comes often:

```
small message ─► shapes[size] ─► None        : not worth it; the usual code
                              ─► see         : count; after ENOUGH of this size make a function for its shape
                              ─► a function  : one unpack and some checks; another shape → None, the usual code
large message ─► study: after BYTES_ENOUGH generate the decoder again, with a guess of each array's elements (guess.py)
                 guessed_wrong: too many elements were not like that → generate it again, ROUNDS_MAX times at most
```

What always holds: what is decoded, and what is refused, stays the same; the checks of a shape cover everything that the
usual code would look at. Work and memory are bounded: SIZES_MAX sizes watched, SHAPES_MAX functions a decoder.

What is given up: the first ENOUGH messages of a size gain nothing, and a kind whose sizes all differ never does. Gains:
`python -m tests.bench.codec`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from decoders.limits import BODY_WHOLE_MAX
from decoders.schema.decode import SMALL, DecoderSource
from decoders.schema.emit import Lines, Unit
from decoders.schema.guess import signature, worth_guessing
from decoders.schema.model import FIXED, Plan, PlanField
from decoders.schema.runtime import CRUDE
from decoders.schema.shapes import shape_of, unpack_line
from decoders.schema.want import ALL, Mode, Want

# Making a function costs about as much as it saves for so many messages.
ENOUGH: Final = 600
# Sizes that are watched for one decoder, and functions made for it; beyond that its messages have no usual size.
SIZES_MAX: Final = 200
SHAPES_MAX: Final = 24
# Bytes of large messages after which a decoder is generated again.
BYTES_ENOUGH: Final = 200_000
# How often that is done.
ROUNDS_MAX: Final = 4
# Elements of an array that are looked at, and the share of them that must have the same shape.
ELEMENTS: Final = 64
SHARE: Final = 0.6

Install = Callable[[Unit, str], Callable[..., Any]]


def may_learn(plan: Plan) -> bool:
    """Whether messages have sizes in them at all, other than counts of tagged fields."""
    return any(_varies(field) for field in plan.fields)


def _varies(field: PlanField) -> bool:
    if field.array or field.nullable or (field.plan is None and field.kind not in FIXED):
        return True
    return field.plan is not None and may_learn(field.plan)


class Learner:
    """What one decoder has seen. `shapes` is asked by a message's size; it holds `see` where there is no answer yet."""

    def __init__(self, plan: Plan, want: Want, mode: Mode, unit: Unit, install: Install, enough: int = ENOUGH) -> None:
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
        """Count a small message; make a function for its size when there were enough."""
        size = end - at
        self._seen[size] += 1
        if self._seen[size] >= self._enough:
            self._make(buf, at, end)
        elif len(self._seen) > SIZES_MAX:
            self._stop()

    def missed(self, buf: bytes, at: int, end: int) -> None:
        """Count a message of another shape than its size has mostly; try another shape when there were many."""
        size = end - at
        self._missed[size] += 1
        if self._missed[size] % (2 * self._enough) == 0:
            self.shapes[size] = None
            if self._missed[size] < 5 * self._enough:
                self._make(buf, at, end)

    def study(self, buf: bytes, at: int, end: int, *_table: object) -> None:
        """Count a large message; generate the decoder again when there were enough."""
        if end - at > BODY_WHOLE_MAX:
            return  # as values it would take too much room
        self._bytes += max(end - at, 0)
        if self._bytes >= self._bytes_enough:
            self._regenerate(buf, at, end)

    def guessed_wrong(self, buf: bytes, at: int, end: int, elements: int) -> None:
        """Count elements that were not as guessed; generate the decoder again when there were many."""
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
        """A unit of this function only, with the names of the decoder's."""
        unit = Unit()
        unit.names = self._unit.names
        unit.parts.append("\n".join(body.lines))
        return unit

    def _regenerate(self, buf: bytes, at: int, end: int) -> None:
        """Put new code into the decoder that guesses what elements are like; at last, code that does not."""
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
        """The values of a message, which may be too large for the walker; empty where it is broken."""
        unit = Unit()
        DecoderSource(unit, Mode(careful=True)).root(self._plan, ALL)
        try:
            value: dict[str, Any] = self._install(unit, "decode")(buf, at, end)[0]
        except CRUDE:
            return {}
        return value


def usual_elements(plan: Plan, value: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """An element like most of an array, by the array's path without indices, in a sample message."""
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
            inner = inner[:: len(inner) // ELEMENTS + 1]  # a few of them tell as much as all
            found.setdefault(path, []).extend((field.plan, each) for each in inner)
        for each in inner if field.array else [inner]:
            _collect(field.plan, each, path + ("[]." if field.array else "."), found)
