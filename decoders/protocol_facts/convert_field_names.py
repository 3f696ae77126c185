"""A body with camelCase or older field names in, the same body with the names of its version out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from decoders.schema.api_declaration import Field


def rename_to_current_names(fields: Sequence[Field], version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    """`body` with every name that can be understood replaced; what cannot stays for the encoder to complain about."""
    known = {field.name: field for field in fields if version in field.versions}
    spelt = _fields_by_spelling(fields, version)
    renamed: dict[str, Any] = {}
    for name, inner in body.items():
        field = known.get(name) or spelt.get(_fold_field_name(name))
        if field is None or (field.name != name and field.name in body):
            renamed[name] = inner
        else:
            renamed[field.name] = _rename_inner_fields(field, version, inner)
    return renamed


def drop_unknown_fields(fields: Sequence[Field], version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    """`body` without what this version does not have, at any depth, in the order of its fields."""
    here = [field for field in fields if version in field.versions and field.name in body]
    return {field.name: _drop_unknown_inner_fields(field, version, body[field.name]) for field in here}


def _drop_unknown_inner_fields(field: Field, version: int, value: Any) -> Any:
    if not field.fields:
        return value
    if isinstance(value, list):
        return [_drop_unknown_inner_fields(field, version, element) for element in value]
    return drop_unknown_fields(field.fields, version, value) if isinstance(value, Mapping) else value


def _rename_inner_fields(field: Field, version: int, value: Any) -> Any:
    if not field.fields:
        return value
    if field.array and isinstance(value, list | tuple):
        return [_rename_struct_fields(field, version, element) for element in value]
    return _rename_struct_fields(field, version, value)


def _rename_struct_fields(field: Field, version: int, value: Any) -> Any:
    return rename_to_current_names(field.fields, version, value) if isinstance(value, Mapping) else value


def _fields_by_spelling(fields: Sequence[Field], version: int) -> dict[str, Field]:
    """Every way to write a name, without case and separators; this version's fields first, older names after newer."""
    found: dict[str, Field] = {}
    for here in (True, False):
        some = [field for field in fields if (version in field.versions) is here]
        for field in some:
            found.setdefault(_fold_field_name(field.name), field)
        for field in some:
            for name in field.was:
                found.setdefault(_fold_field_name(name), field)
    return found


def find_field_by_any_name(fields: Sequence[Field], name: str, version: int | None = None) -> Field | None:
    """The field that a name means, however it is spelt, in one version; in any where none is given (newest first)."""
    here = [field for field in reversed(fields) if version is None or version in field.versions]
    for field in here:
        if field.name == name:
            return field
    folded = _fold_field_name(name)
    for field in here:
        if _fold_field_name(field.name) == folded:
            return field
    return next((field for field in here if any(_fold_field_name(old) == folded for old in field.was)), None)


def _fold_field_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
