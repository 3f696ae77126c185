"""One version of an API in; the layout of its request and response on the wire, byte by byte, in JSON form, out."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Final

from decoders.protocol_facts.header_versions import (
    request_header_plan,
    request_header_version,
    response_header_plan,
    response_header_version,
)
from decoders.protocol_facts.kafka_releases import versions_of_api_by_release
from decoders.schema.api_declaration import FIXED, STRUCT_DEFAULT, Api, Plan, PlanField, Side, resolve
from kwcli.reference.api_at_release import find_message_in_release

Row = dict[str, Any]
TAGS: Final = "_tagged_fields"
SIDES: Final[tuple[Side, Side]] = ("request", "response")

# How each word of `encoding` is read; `uvarint` occurs in compact and tagged encodings.
LEGEND: Final[dict[str, str]] = {
    "bool": "1 byte: 0 is false, anything else true",
    "int": "big-endian, two's complement; the number is its bits",
    "uint": "big-endian, unsigned; the number is its bits",
    "float64": "8 bytes, big-endian IEEE 754",
    "uuid": "16 bytes; all zero stands for none",
    "string": "int16 size, then as many bytes of UTF-8; nullable: size -1 is null",
    "compact string": "uvarint size + 1, then the bytes; nullable: 0 is null",
    "bytes": "int32 size, then the bytes; nullable: size -1 is null",
    "compact bytes": "uvarint size + 1, then the bytes; nullable: 0 is null",
    "records": "as bytes: record batches (or, before 0.11, message sets) one after the other",
    "compact records": "as compact bytes: record batches one after the other",
    "array": "int32 count, then the elements; nullable: count -1 is null",
    "compact array": "uvarint count + 1, then the elements; nullable: 0 is null",
    "nullable struct": "int8: -1 is null and ends it, 1 goes before the fields",
    "tagged fields": "uvarint count, then of each, tags ascending: uvarint tag, uvarint size, value",
    "uvarint": "7 bits a byte, lowest first; a set high bit: more follow",
}


def make_wire_layouts(found: Api, version: int, release: str | None = None) -> Row:
    """The layouts of both sides of one version, with their headers; of `release` where its layout was another one."""
    return {
        "key": found.key,
        "name": found.name,
        "version": version,
        "flexible": version in found.flexible,
        "releases": [one for one, versions in versions_of_api_by_release(found.key).items() if version in versions],
        "early": sorted({place[2] for place in found.early if place[1] == version and place[2] != release}),
        "release": release,
        "request": _make_side_layout(found, "request", version, release),
        "response": _make_side_layout(found, "response", version, release),
    }


def _make_side_layout(found: Api, side: Side, version: int, release: str | None) -> Row:
    if side == "request":
        number = request_header_version(found.key, version)
        header = _make_struct_rows(request_header_plan(number))
        for row, constant in zip(header, (found.key, version), strict=False):
            row |= {"default": constant, "constant": constant}
    else:
        number = response_header_version(found.key, version)
        header = _make_struct_rows(response_header_plan(number))
    body = resolve(find_message_in_release(found, side, version, release), version)
    return {"header_version": number, "header": header, "body": _make_struct_rows(body)}


def _make_struct_rows(plan: Plan) -> list[Row]:
    """The fields of a struct in wire order; in a flexible struct the tagged fields come last."""
    rows = [_make_field_row(field) for field in plan.fields]
    if plan.flexible:
        tagged = [_make_field_row(field) for field in plan.tagged]
        rows.append(_make_layout_row(TAGS, "tags", "tagged fields", None, fields=tagged))
    return rows


def _make_field_row(field: PlanField) -> Row:
    return _make_layout_row(
        field.name,
        "[]" * field.array + field.kind,
        describe_field_encoding(field),
        None if field.array or field.nullable else FIXED.get(field.kind),
        nullable=field.nullable,
        tag=field.tag,
        default=make_json_default(field.default),
        ignorable=field.ignorable,
        secret=field.secret,
        entity=field.entity or None,
        fields=_make_struct_rows(field.plan) if field.plan is not None else [],
    )


def _make_layout_row(name: str, kind: str, encoded: str, size: int | None, **more: Any) -> Row:
    row: Row = {"name": name, "type": kind, "encoding": encoded, "size": size, "nullable": False, "tag": None}
    row |= {"default": None, "ignorable": False, "secret": False, "entity": None, "fields": []}
    return row | more


def describe_field_encoding(field: PlanField) -> str:
    """The form of a value in words that LEGEND explains: `compact nullable array of compact string`, `int32`."""
    element = _describe_element_encoding(field, null=field.nullable and not field.array)
    if not field.array:
        return element
    words = ("compact " * field.compact, "nullable " * field.nullable, "array of ", element)
    return "".join(words)


def _describe_element_encoding(field: PlanField, *, null: bool) -> str:
    if field.kind in ("string", "bytes", "records"):
        return "compact " * field.compact + "nullable " * null + field.kind
    return "nullable " * null + field.kind


def make_json_default(value: object) -> Any:
    """A plan's default as a JSON value; an empty struct is {}."""
    if value == STRUCT_DEFAULT:
        return {}
    if isinstance(value, tuple):
        return []
    if isinstance(value, bytes):
        return _format_uuid(value) if len(value) == 16 else value.decode()
    return value


def _format_uuid(value: bytes) -> str:
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(uuid.UUID(bytes=value).bytes).decode().rstrip("=")


def collect_encodings(rows: Sequence[Row]) -> set[str]:
    """All encodings in these rows and in the rows below them."""
    found: set[str] = set()
    for row in rows:
        found.add(row["encoding"])
        found |= collect_encodings(row["fields"])
    return found


def find_legend_rows(words: set[str]) -> list[tuple[str, str]]:
    """The rows of LEGEND that explain these encodings, in the order of LEGEND."""
    used: set[str] = set()
    for word in words:
        for part in word.split(" of "):
            used.add(part.replace("nullable ", "") if not part.startswith("nullable struct") else part)
    names = {_find_legend_name(word) for word in used}
    if any(word.startswith(("compact", "tagged")) for word in names):
        names.add("uvarint")
    return [(name, text) for name, text in LEGEND.items() if name in names]


def _find_legend_name(word: str) -> str:
    if word.startswith("int"):
        return "int"
    return "uint" if word.startswith("uint") else word
