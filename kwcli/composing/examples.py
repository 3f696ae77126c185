"""An API and a version in, its example request out, or what a new element of one of its arrays begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from decoders.apis.elements import ELEMENTS
from decoders.apis.examples import EXAMPLES, ON_CONTROLLER
from decoders.apis.names import known_fields
from decoders.schema.model import Api, Field, Versions

__all__ = ["element", "example"]


def example(api: Api, version: int, *, controller: bool = False) -> dict[str, Any]:
    """A request in JSON form that is answered and does no harm; it is the caller's to change.

    `controller`: for a controller's own listener, where a few have to ask for something else.
    """
    row = EXAMPLES.get(api.key, {})
    if controller:
        row = {**row, **ON_CONTROLLER.get(api.key, {})}
    return known_fields(api.request.fields, version, _at(row, version))


def element(api: Api, fields: Sequence[Field], version: int) -> dict[str, Any]:
    """What an array's new element with these fields begins with; what is not in it is left to the default."""
    made: dict[str, Any] = {}
    for field in fields:
        if version not in field.versions:
            continue
        nullable = version in field.nullable
        if field.array:
            if nullable and not field.has_default:
                made[field.name] = None
        elif field.fields:
            if not nullable and version not in field.tagged:
                made[field.name] = element(api, field.fields, version)
        elif not field.has_default and field.kind not in ("uuid", "bytes", "records"):
            name = f"{api.name}.{field.name}"
            name = name if name in ELEMENTS else field.name
            if name in ELEMENTS and (nullable or ELEMENTS[name] is not None):
                made[field.name] = ELEMENTS[name]
    return made


def _at(value: Any, version: int) -> Any:
    """A row, or a part of one, in which each `name@VERSIONS` stands under its name or is gone."""
    if isinstance(value, list):
        return [_at(element, version) for element in value]
    if not isinstance(value, Mapping):
        return value
    found = {name: _at(inner, version) for name, inner in value.items() if "@" not in name}
    for name, inner in value.items():
        plain, marked, versions = name.partition("@")
        if marked and version in Versions.parse(versions):
            found[plain] = _at(inner, version)
    return found
