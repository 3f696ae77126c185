"""A declaration in, its mistakes out: those that the vocabulary allows and Kafka's protocol does not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from decoders.schema.api_declaration import Api, Field, Message, Versions

_SNAKE: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*$")
_RANGES: Final = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}
_NULLABLE: Final = frozenset({"string", "bytes", "records", "struct"})


def check_api(api: Api) -> list[str]:
    """Everything wrong with an API's declaration, one line of text each."""
    found = [f"{side.name}: {text}" for side in (api.request, api.response) for text in check_message(side)]
    for (side, version, release), message in api.early.items():
        place = f"{api.name} early {side} {version} in {release}"
        if side not in ("request", "response"):
            found.append(f"{place}: no such side")
        elif version not in api.versions:
            found.append(f"{place}: no such version")
        found += [
            f"{place}: {text}" for text in check_fields(message.fields, Versions(version, version), message.flexible)
        ]
    if not api.listeners:
        found.append(f"{api.name}: who answers it? listeners are missing")
    return found


def check_message(message: Message) -> list[str]:
    """Everything wrong with one message."""
    found = [] if message.versions else ["no versions"]
    return found + list(check_fields(message.fields, message.versions, message.flexible))


def check_fields(fields: Sequence[Field], whole: Versions, flexible: Versions, path: str = "") -> Iterator[str]:
    """Everything wrong with the fields of one struct, which exists in the versions `whole`."""
    for version in range(whole.low, min(whole.high, 255) + 1):
        here = [field for field in fields if version in field.versions]
        names = [field.name for field in here]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"{path}{name}: twice in version {version}"
        tags = sorted(field.tag for field in here if field.tag is not None and version in field.tagged)
        if len(tags) != len(set(tags)):
            yield f"{path or 'the message'}: a tag twice in version {version}"
    for at, field in enumerate(fields):
        for text in _check_field(field, fields[:at], whole, flexible):
            yield f"{path}{field.name}: {text}"
        for old in field.was:
            if any(other.name == old and other.versions & field.versions & whole for other in fields):
                yield f"{path}{field.name}: its older name {old} is another field's name"
        if field.fields:
            yield from check_fields(field.fields, field.versions & whole, flexible, f"{path}{field.name}.")


def _check_field(field: Field, before: Sequence[Field], whole: Versions, flexible: Versions) -> Iterator[str]:
    if not _SNAKE.match(field.name):
        yield "not snake_case"
    if not field.versions & whole:
        yield f"versions {field.versions} are none of {whole}"
    if not _within(field.nullable & whole, field.versions):
        yield f"null {field.nullable} outside its versions"
    if field.nullable and not field.array and field.kind not in _NULLABLE:
        yield f"{field.kind} cannot be null"
    if not _within(field.tagged & whole, field.versions & flexible):
        yield f"tagged {field.tagged} in versions that have no tags"
    if field.since and field.tag is None:
        yield "only a tagged field can be newer than its versions"
    if field.has_default:
        yield from _check_default(field)
    if field.secret and (field.array or field.kind not in ("string", "bytes")):
        yield f"{field.kind} cannot be secret"
    if field.unless and not any(other.name == field.unless and other.kind == "string" for other in before):
        yield f"no string {field.unless} before it to tell whether it is secret"


def _within(inner: Versions, outer: Versions) -> bool:
    return not inner or (inner.low in outer and inner.high in outer)


def _check_default(field: Field) -> Iterator[str]:
    value = field.default
    if value is None:
        if not field.nullable:
            yield "null is its default but not allowed"
    elif field.array or field.kind in ("struct", "bytes", "records"):
        yield f"{value!r} is no default for it"
    elif field.kind in _RANGES:
        low, high = _RANGES[field.kind]
        if type(value) is not int or not low <= value <= high:
            yield f"default {value!r} is no {field.kind}"
    elif type(value) is not {"bool": bool, "float64": float}.get(field.kind, str):
        yield f"default {value!r} is no {field.kind}"
