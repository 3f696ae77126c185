"""A sample element of an array in, lines that read elements with the same counts in as few steps as possible out.

The problem. Elements of an array of structs (partitions of a topic) have arrays of their own (replicas), whose counts
break the run of fields that one unpack reads.

The idea. Assume that an element is like the sample, and check it afterwards:

```
if at <= last:                      bytes enough for the run are there
    one unpack over what are several runs otherwise
    if counts == those of the sample and no tag and no error code:
        append; continue
at = start                          not like the sample: the usual code below reads it; `wrong` counts
```

The code assumes the counts of arrays of fixed-size elements, which structs are null, that no field is tagged and that
no error code is set. Strings and bytes may have any size.

What always holds: where an element is not like the sample, the attempt leaves no trace. What is given up: elements with
more than VALUES_MAX values are read as usual.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from decoders.schema.codegen_support import Body
from decoders.schema.model import FIXED, Plan, PlanField
from decoders.schema.plan_walker import UNKNOWN
from decoders.schema.projection import Want

# How many values of one element are read without a loop, and how many elements of an array in it.
VALUES_MAX: Final = 60
COUNT_MAX: Final = 40


def worth_guessing(plan: Plan) -> bool:
    """Whether a struct has arrays of fixed-size elements, or null markers; others gain nothing from a guess."""
    return _unrolls(plan) and _has_counts(plan)


def _unrolls(plan: Plan) -> bool:
    return all(_fixed(field) if field.array else field.plan is None or _unrolls(field.plan) for field in plan.fields)


def _fixed(field: PlanField) -> bool:
    """Whether one element of a field has a fixed size."""
    if field.plan is None:
        return field.kind in FIXED
    return all(not inner.array and not inner.nullable and _fixed(inner) for inner in field.plan.fields)


def _has_counts(plan: Plan) -> bool:
    return any(
        field.array or (field.plan is not None and (field.nullable or _has_counts(field.plan))) for field in plan.fields
    )


def signature(plan: Plan, value: Mapping[str, Any]) -> tuple[object, ...] | None:
    """The counts and null markers that two elements must share for the same lines to read them; None for no guess."""
    found: list[object] = []
    return tuple(found) if _sign(plan, value, found) and len(found) <= VALUES_MAX else None


def _sign(plan: Plan, value: Mapping[str, Any], found: list[object]) -> bool:
    if UNKNOWN in value or any(field.name in value for field in plan.tagged):
        return False
    return all(_sign_field(field, value[field.name], found) for field in plan.fields)


def _sign_field(field: PlanField, value: Any, found: list[object]) -> bool:
    if field.array:
        found.append(-1 if value is None else len(value))
        if value and field.plan is None:
            found += [0] * len(value)
        return len(value or ()) <= COUNT_MAX and all(
            field.plan is None or _sign(field.plan, each, found) for each in value or ()
        )
    if field.plan is not None:
        found.append(value is None)
        return value is None or _sign(field.plan, value, found)
    found.append(0)
    return True


class LeafReading(Protocol):
    """The part of DecoderSource (schema/decoder_codegen.py) that reads single values."""

    def is_error(self, inner: PlanField) -> bool:
        """Whether a field goes into the list of errors."""

    def number(self, body: Body, inner: PlanField, want: Want, place: str) -> str | None:
        """Lines that read a value of fixed size, or a varint; the expression of the value."""

    def sized(
        self, body: Body, inner: PlanField, nullable: bool, want: Want, path: str, before: dict[str, str]
    ) -> str | None:
        """Lines that read a string, bytes or records; the expression of the value."""


class Guessing:
    """Puts the lines that read one element into the body of a decoder, after `body.guess()`."""

    def __init__(self, reading: LeafReading, body: Body) -> None:
        self.reading = reading
        self.body = body

    def struct(self, plan: Plan, want: Want, path: str, sample: Mapping[str, Any]) -> str | None:
        """Put the lines that read a struct like the sample; returns the expression of its value, None if not wanted."""
        entries: dict[str, str] = {}
        for field in plan.fields:
            part = want.get(field.name) if isinstance(want, dict) else want
            value = self._field(field, part, path + field.name, entries, sample[field.name])
            if value is not None:
                entries[field.name] = value
        if plan.flexible:
            self.body.expect("S", "0")
        return None if want is None else "{" + ", ".join(f"{name!r}: {text}" for name, text in entries.items()) + "}"

    def _field(self, field: PlanField, want: Want, path: str, before: dict[str, str], sample: Any) -> str | None:
        if field.array:
            return self._array(field, want, path, before, sample)
        if field.plan is None:
            return self._leaf(field, field.nullable, want, path, before)
        if field.nullable:
            self.body.expect("S", "null" if sample is None else "1")
            if sample is None:
                return None if want is None else "None"
        return self.struct(field.plan, want, path + ".", sample)

    def _leaf(self, field: PlanField, nullable: bool, want: Want, path: str, before: dict[str, str]) -> str | None:
        if field.kind in {"string", "bytes", "records"}:
            return self.reading.sized(self.body, field, nullable, want, path, before)
        if self.reading.is_error(field):
            self.body.expect("h", "0")
            return None if want is None else "0"
        return self.reading.number(self.body, field, want, "")

    def _array(self, field: PlanField, want: Want, path: str, before: dict[str, str], sample: Any) -> str | None:
        count = -1 if sample is None else len(sample)
        if field.compact:
            self.body.expect("S", str(count + 1))
        else:
            self.body.expect("i", str(count))
        inner = None if want == "count" else want
        if field.plan is None and inner is None and field.kind in FIXED:
            if count > 0:
                self.body.piece(f"{FIXED[field.kind] * count}s")
            items: list[str | None] = []
        elif field.plan is None:
            items = [self._leaf(field, False, inner, path + "[]", before) for _ in range(count)]
        else:
            items = [self.struct(field.plan, inner, path + "[].", each) for each in sample or ()]
        if want == "count":
            return str(count) if count >= 0 else "None"
        return None if want is None else "None" if count < 0 else f"[{', '.join(map(str, items))}]"
