"""What a projection gives, worked out plainly from what the walker reads: for messages too rare to generate code for.

It is also what the tests hold generated projections against.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from decoders.limits import ERRORS_SHOWN_MAX
from decoders.schema.form import redacted
from decoders.schema.model import FIXED, Plan, PlanField
from decoders.schema.walk import UNKNOWN, Span, walk
from decoders.schema.want import ALL, Want

Places = dict[str, tuple[int, int]]


def project(
    plan: Plan, want: Want, errors: bool, buf: bytes, at: int, end: int
) -> tuple[dict[str, Any], list[tuple[str, int]] | None, int]:
    """The view, the error codes that are not 0 with their paths, and the offset after the message. As a projector."""
    spans: list[Span] | None = [] if _asks_places(want) else None
    value, after = walk(plan, buf, at, end, spans)
    places = {span.path: (span.at, span.end - span.at) for span in spans or () if span.what == "value"}
    found = list(islice(error_codes(plan, value), ERRORS_SHOWN_MAX)) if errors else None
    return _struct(plan, value, want, "", places), found or None, after


def _asks_places(want: Want) -> bool:
    return any(map(_asks_places, want.values())) if isinstance(want, dict) else want == "span"


def _struct(plan: Plan, value: dict[str, Any], want: Want, place: str, places: Places) -> dict[str, Any]:
    fields = {field.name: field for field in (*plan.fields, *plan.tagged)}
    view: dict[str, Any] = {}
    for name, inner in value.items():
        part = want.get(name) if isinstance(want, dict) else want
        if part is None:
            continue
        view[name] = inner if name == UNKNOWN else _field(fields[name], inner, part, place + name, places)
    return view


def _field(field: PlanField, value: Any, want: Want, place: str, places: Places) -> Any:
    if value is None:
        return None
    if want == "count":
        return len(value)
    if want == "span":
        return places[place]
    if field.array:
        return [_element(field, each, want, f"{place}[{number}]", places) for number, each in enumerate(value)]
    return _element(field, value, want, place, places)


def _element(field: PlanField, value: Any, want: Want, place: str, places: Places) -> Any:
    if field.plan is not None:
        return _struct(field.plan, value, want, place + ".", places)
    if field.secret and want == ALL:
        size = len(value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value)
        return redacted(FIXED.get(field.kind, size))
    return value


def error_codes(plan: Plan, value: dict[str, Any], place: str = "") -> Iterator[tuple[str, int]]:
    """Every error code of a decoded message that is not 0, with its path, in wire order."""
    for field in (*plan.fields, *plan.tagged):
        inner = value.get(field.name)
        here = place + field.name
        if field.plan is not None and inner is not None:
            if field.array:
                for number, each in enumerate(inner):
                    yield from error_codes(field.plan, each, f"{here}[{number}].")
            else:
                yield from error_codes(field.plan, inner, here + ".")
        elif field.kind == "int16" and field.name.endswith("error_code") and not field.array and inner:
            yield here, inner
