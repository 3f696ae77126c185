"""What projections should give, worked out slowly from the walker's values and spans: the oracle of their tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from decoders.schema.model import Plan, PlanField
from decoders.schema.walk import UNKNOWN, Span, walk


def project(
    plan: Plan, buf: bytes, at: int, end: int, paths: frozenset[str]
) -> tuple[dict[str, Any], list[tuple[str, int]] | None, int]:
    """The view of these paths, the errors, the offset after the message."""
    spans: list[Span] = []
    value, after = walk(plan, buf, at, end, spans)
    places = {span.path: (span.at, span.end - span.at) for span in spans if span.what == "value"}
    wanted = dict(
        path.replace("[]", "").rpartition(":")[::2] if ":" in path else (path.replace("[]", ""), "") for path in paths
    )
    return _pick(plan, value, "", "", wanted, places), list(errors(plan, value)) or None, after


def _pick(
    plan: Plan, value: dict[str, Any], path: str, place: str, wanted: dict[str, str], places: dict[str, tuple[int, int]]
) -> dict[str, Any]:
    view: dict[str, Any] = {}
    fields = {field.name: field for field in (*plan.fields, *plan.tagged)}
    for name, inner in value.items():
        here = path + name
        if name == UNKNOWN:
            if here in wanted:
                view[name] = inner
            continue
        field = fields[name]
        if here in wanted:
            view[name] = _leaf(field, inner, place + name, wanted.get(here, ""), places)
        elif any(each.startswith(here + ".") for each in wanted):
            view[name] = _below(field, inner, here, place + name, wanted, places)
    return view


def _below(
    field: PlanField, inner: Any, path: str, place: str, wanted: dict[str, str], places: dict[str, tuple[int, int]]
) -> Any:
    assert field.plan is not None
    if inner is None:
        return None
    if not field.array:
        return _pick(field.plan, inner, path + ".", place + ".", wanted, places)
    return [
        _pick(field.plan, each, path + ".", f"{place}[{number}].", wanted, places) for number, each in enumerate(inner)
    ]


def _leaf(field: PlanField, value: Any, place: str, word: str, places: dict[str, tuple[int, int]]) -> Any:
    if value is None:
        return None
    if word == "count":
        return len(value)
    if word == "span":
        return places[place]
    return value if word == "raw" else redact(field, value)


def redact(field: PlanField, value: Any) -> Any:
    """A value with every secret in it replaced by its size."""
    if value is None:
        return None
    if field.array:
        return [_redact_one(field, each) for each in value]
    return _redact_one(field, value)


def _redact_one(field: PlanField, value: Any) -> Any:
    if field.plan is not None:
        fields = {inner.name: inner for inner in (*field.plan.fields, *field.plan.tagged)}
        return {name: redact(fields[name], inner) if name in fields else inner for name, inner in value.items()}
    if field.secret:
        return {"redacted": len(value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value)}
    return value


def errors(plan: Plan, value: dict[str, Any], place: str = "") -> Iterator[tuple[str, int]]:
    """Every error code that is not 0, in wire order."""
    for field in (*plan.fields, *plan.tagged):
        inner = value.get(field.name)
        here = place + field.name
        if field.plan is not None and inner is not None:
            if field.array:
                for number, each in enumerate(inner):
                    yield from errors(field.plan, each, f"{here}[{number}].")
            else:
                yield from errors(field.plan, inner, here + ".")
        elif field.kind == "int16" and field.name.endswith("error_code") and not field.array and inner:
            yield here, inner
