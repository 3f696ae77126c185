"""A decoded response in, its error codes that are not 0 out, with path and name.

The function that looks is generated for each layout: nested loops over the arrays that hold error codes, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from decoders.apis.error_codes import error_name
from decoders.schema.model import Plan

Found = list[dict[str, Any]]
Finder = Callable[[Any, Found], None]


def errors_in(plan: Plan, body: Any) -> Found:
    """The error codes of a response, in JSON or Python form, that are not 0."""
    found: Found = []
    finder = error_finder(plan)
    if finder is not None:
        finder(body, found)
    return found


@cache
def error_finder(plan: Plan) -> Finder | None:
    """The function that adds the errors of a body to a list; None where the layout has no error code."""
    lines = list(_lines(plan, "body", "", 1))
    if not lines:
        return None
    names: dict[str, Any] = {"note": note}
    exec("\n".join(["def find(body, found):", *lines]), names)
    finder: Finder = names["find"]
    return finder


def note(found: Found, path: str, code: int) -> None:
    """Add an error."""
    found.append({"path": path, "code": code, "name": error_name(code)})


def _lines(plan: Plan, owner: str, path: str, depth: int) -> Iterator[str]:
    """Lines that look through one struct; `path` is the inside of an f-string."""
    pad = " " * depth
    for field in (*plan.fields, *plan.tagged):
        name = path + field.name
        if field.plan is None:
            if field.kind == "int16" and not field.array and field.name.endswith("error_code"):
                yield f"{pad}code = {owner}.get({field.name!r})"
                yield f"{pad}if code: note(found, f'{name}', code)"
            continue
        inner, number = f"v{depth}", f"n{depth}"
        loop = f"for {number}, {inner} in enumerate({owner}.get({field.name!r}) or ()):"
        struct = f"if ({inner} := {owner}.get({field.name!r})) is not None:"
        below = list(_lines(field.plan, inner, f"{name}[{{{number}}}]." if field.array else name + ".", depth + 1))
        if below:
            yield pad + (loop if field.array else struct)
            yield from below
