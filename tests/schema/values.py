"""Random values of a plan by seed, in complete canonical form, which encoding and decoding give back unchanged.

Boundary numbers, nulls, defaults, empty, long and strange text, tagged fields and unknown tags all occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any
from uuid import UUID

from decoders.schema.api_declaration import STRUCT_DEFAULT, Plan, PlanField
from decoders.schema.plan_walker import encode_by_walking
from decoders.wire.primitive_types import RANGES

TEXTS = ["", "a", "orders", "τόπος-日本-🙂", "with\ttab\nand line", "control\x00\x1b\x7f", 'quote"back\\slash']
STRANGE = ["\udcff\udc80", "half\udce3\udc81"]
FLOATS = [0.0, -0.0, 1.5, -1e300, 5e-324, float("inf"), float("-inf")]
# Kinds that say their size, which may be -1: null.
SIZED = ("string", "bytes", "records")
TAGS = [9, 10, 127, 128, 16384, 2**31 - 2]


def random_value(
    plan: Plan, rng: Random, *, strange: bool = True, values: int = 400, texts: Sequence[str] = ()
) -> dict[str, Any]:
    """A value of a message. `strange` allows strings that are not UTF-8; about `values` values at most.

    Half of the strings are taken from `texts`, by default from those above.
    """
    return _Maker(rng, texts or (TEXTS + STRANGE if strange else TEXTS), values).struct(plan)


def allow_null(plan: Plan) -> Plan:
    """The plan with every string, bytes and array nullable: what such a plan encodes is null where it is forbidden."""

    def changed(field: PlanField) -> PlanField:
        inner = allow_null(field.plan) if field.plan is not None else None
        may = field.nullable or field.array or field.kind in SIZED
        return field._replace(plan=inner, nullable=may)

    tagged = tuple(map(changed, plan.tagged))
    return Plan(plan.name, plan.version, plan.flexible, tuple(map(changed, plan.fields)), tagged, plan.absent)


def forbidden_places(plan: Plan, value: dict[str, Any], path: str = "") -> Iterator[tuple[dict[str, Any], str, str]]:
    """The struct, the field's name and the path of each value of a message that may not be null."""
    for field in (*plan.fields, *plan.tagged):
        inner = value.get(field.name)
        if inner is None:
            continue
        if not field.nullable and (field.array or field.kind in SIZED):
            yield value, field.name, path + field.name
        if field.plan is not None:
            for number, each in enumerate(inner if field.array else [inner]):
                place = f"{path}{field.name}[{number}]." if field.array else f"{path}{field.name}."
                yield from forbidden_places(field.plan, each, place)


class _Maker:
    def __init__(self, rng: Random, texts: Sequence[str], values: int) -> None:
        self.rng = rng
        self.left = values
        self.texts = texts

    def struct(self, plan: Plan) -> dict[str, Any]:
        self.left -= 1 + len(plan.fields)
        value = {field.name: self.field(field) for field in plan.fields}
        if not plan.flexible:
            return value
        for field in plan.tagged:
            if self.rng.random() < 0.5:
                inner = self.field(field)
                if not is_default(field, inner):
                    value[field.name] = inner
        if self.rng.random() < 0.15:
            tags = self.rng.sample(TAGS, self.rng.randrange(1, 3))
            value["_tagged_fields"] = {tag: self.data() for tag in sorted(tags)}
        return value

    def field(self, field: PlanField) -> Any:
        if field.nullable and self.rng.random() < 0.25:
            return None
        if self.rng.random() < 0.1 and field.default != STRUCT_DEFAULT:
            return final(field, field.default)
        if field.array:
            return [self.element(field) for _ in range(self.count(field))]
        return self.element(field)

    def count(self, field: PlanField) -> int:
        if self.left <= 0:
            return 0
        long = [127, 128, 300] if field.plan is None or self.rng.random() < 0.1 else []
        count = self.rng.choice([0, 1, 1, 2, 2, 3, 5, 7, *long])
        self.left -= count
        return min(count, max(self.left, 3))

    def element(self, field: PlanField) -> Any:
        if field.plan is not None:
            return self.struct(field.plan)
        rng = self.rng
        if field.kind == "bool":
            return rng.random() < 0.5
        if field.kind == "float64":
            return rng.choice(FLOATS)
        if field.kind == "uuid":
            return UUID(bytes=rng.choice([bytes(16), b"\xff" * 16, rng.randbytes(16)]))
        if field.kind == "string":
            return self.text()
        if field.kind in {"bytes", "records"}:
            return self.data()
        low, high = RANGES[field.kind]
        if rng.random() < 0.4:
            return rng.choice([low, high, 0, max(low, -1), 1, min(high, 127), min(high, 128)])
        return rng.randint(low, high) >> rng.randrange(high.bit_length())

    def text(self) -> str:
        roll = self.rng.random()
        if roll < 0.5:
            return self.rng.choice(self.texts)
        if roll < 0.95 or self.left <= 0:
            return "".join(self.rng.choices("abcdefghij-._0123456789", k=self.rng.randrange(1, 40)))
        self.left -= 50
        return "é" * self.rng.choice([63, 64, 65, 200, 9000])

    def data(self) -> bytes:
        roll = self.rng.random()
        if roll < 0.3:
            return self.rng.choice(self.texts).encode("utf-8", "surrogateescape")
        if roll < 0.95 or self.left <= 0:
            return self.rng.randbytes(self.rng.randrange(40))
        self.left -= 50
        return self.rng.randbytes(self.rng.choice([126, 127, 128, 20000]))


def is_default(field: PlanField, value: Any) -> bool:
    """Whether a tagged field with this value would be left out."""
    one = Plan("One", 0, False, (field,), ())
    return encode_by_walking(one, {field.name: value}) == encode_by_walking(one, {field.name: field.default})


def final(field: PlanField, default: Any) -> Any:
    """A plan's default as a decoded value."""
    if field.array and default == ():
        return []
    return UUID(bytes=default) if field.kind == "uuid" and isinstance(default, bytes) else default


def without_defaults(plan: Plan, value: dict[str, Any]) -> dict[str, Any]:
    """A value without the plain fields that have their default."""
    out = dict(value)
    for field in plan.fields:
        if repr(final(field, field.default)) == repr(value[field.name]):
            del out[field.name]
        elif field.plan is not None and value[field.name] is not None:
            inner = value[field.name]
            out[field.name] = (
                [without_defaults(field.plan, each) for each in inner]
                if field.array
                else without_defaults(field.plan, inner)
            )
    return out
