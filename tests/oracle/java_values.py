"""A plan and a seed in, a random value of that message out, in the library's Python form.

The styles: `plain`, `empty`, `nulls`, `edges` of the number ranges, `long` arrays and strings, all `tagged` fields set,
`unknown` tags in every struct.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from decoders.schema.api_declaration import Plan, PlanField

STYLES: Final = ("plain", "empty", "nulls", "edges", "long", "tagged", "unknown")
_RANGES: Final = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}
_EDGE_FLOATS: Final = (0.0, -0.0, 1.5, float("inf"), float("-inf"), 5e-324, 1.7976931348623157e308)
_LETTERS: Final = 'abcdefghijklmnopqrstuvwxyz-_.09 AZ/äß€漢😀\n\t"\\'
# The elements of one message in the style `long`, shared among its arrays.
_LONG_COUNT: Final = 300
_LONG_STRING: Final = 32767  # Kafka refuses longer ones, in every encoding


@dataclass(slots=True)
class _Maker:
    """A message in the making; `room` is the number of long values that it may still get."""

    style: str
    dice: random.Random
    room: int = 3

    def struct(self, plan: Plan) -> dict[str, Any]:
        value = {field.name: self.field(field) for field in plan.fields}
        for field in plan.tagged:
            if self.style == "tagged" or (self.style != "empty" and self.dice.random() < 0.5):
                made = self.field(field)
                if not is_default(field, made):
                    value[field.name] = made
        if self.style == "unknown" and plan.flexible:
            value["_tagged_fields"] = self.unknown(plan)
        return value

    def unknown(self, plan: Plan) -> dict[int, bytes]:
        known = {field.tag for field in plan.tagged}
        known |= {field.tag for field in plan.absent.values()}  # Kafka refuses the tags of other versions
        tags = {self.dice.choice((*range(20), 127, 128, 16384, (1 << 31) - 2)) for _ in range(3)} - known
        return {tag: self.dice.randbytes(self.dice.choice((0, 1, 5, 130))) for tag in sorted(tags)}

    def field(self, field: PlanField) -> Any:
        if field.nullable and self.null():
            return None
        if not field.array:
            return self.one(field)
        return [self.one(field) for _ in range(self.count(field))]

    def null(self) -> bool:
        return self.style == "nulls" or (self.style in ("plain", "edges") and self.dice.random() < 0.2)

    def count(self, field: PlanField) -> int:
        if self.style == "empty":
            return 0
        if self.style == "long" and self.room and (field.plan is None or not _deep(field.plan)):
            self.room -= 1
            return _LONG_COUNT
        return self.dice.choice((0, 1, 1, 2, 3))

    def one(self, field: PlanField) -> Any:
        if field.plan is not None:
            return self.struct(field.plan)
        return _LEAVES[field.kind](self, field.kind)

    def integer(self, kind: str) -> int:
        low, high = _RANGES[kind]
        if self.style == "empty":
            return 0
        if self.style == "edges":
            return self.dice.choice((low, high, low + 1, high - 1, 0, 1, max(low, -1)))
        return self.dice.randint(max(low, -9), 9) if self.dice.random() < 0.3 else self.dice.randint(low, high)

    def boolean(self, _: str) -> bool:
        return self.style != "empty" and self.dice.random() < 0.5

    def float64(self, _: str) -> float:
        if self.style == "empty":
            return 0.0
        return self.dice.choice(_EDGE_FLOATS) if self.style == "edges" else self.dice.uniform(-1e12, 1e12)

    def uuid(self, _: str) -> UUID:
        return UUID(int=0) if self.style == "empty" else UUID(bytes=self.dice.randbytes(16))

    def string(self, _: str) -> str:
        if self.style == "empty":
            return ""
        if self.style in ("long", "edges") and self.room and self.dice.random() < 0.3:
            self.room -= 1
            return "x" * self.dice.choice((127, 128, 16383, 16384, _LONG_STRING))
        return "".join(self.dice.choices(_LETTERS, k=self.dice.choice((0, 1, 3, 12))))

    def data(self, _: str) -> bytes:
        if self.style == "empty":
            return b""
        if self.style == "long" and self.room:
            self.room -= 1
            return self.dice.randbytes(self.dice.choice((127, 128, 16384, 70000)))
        return self.dice.randbytes(self.dice.choice((0, 1, 7, 126)))


_LEAVES: Final[dict[str, Callable[[_Maker, str], Any]]] = {
    **dict.fromkeys(_RANGES, _Maker.integer),
    "bool": _Maker.boolean,
    "float64": _Maker.float64,
    "uuid": _Maker.uuid,
    "string": _Maker.string,
    "bytes": _Maker.data,
    "records": _Maker.data,
}


def _deep(plan: Plan) -> bool:
    """Whether elements of this struct hold arrays of structs, so that a long array of them would be huge."""
    return any(field.array and field.plan is not None for field in plan.fields)


def is_default(field: PlanField, value: Any) -> bool:
    """Whether a tagged field with this value is left out on the wire."""
    if field.default == "struct" and field.plan is not None:
        return (
            isinstance(value, dict)
            and all(
                is_default(inner, value[inner.name]) if inner.name in value else True
                for inner in (*field.plan.fields, *field.plan.tagged)
            )
            and not value.get("_tagged_fields")
        )
    if isinstance(value, UUID):
        return value.bytes == field.default
    if isinstance(value, list):
        return not value and field.default == ()
    return bool(value == field.default) and type(value) is type(field.default)


def random_value(plan: Plan, style: str, seed: str) -> dict[str, Any]:
    """A random value of the message; the same for the same seed."""
    return _Maker(style, random.Random(seed)).struct(plan)
