"""What a registry writes and says in, its schemas into the store: records of `_schemas`, HTTP requests with answers.

Registries of Confluent, Redpanda and Karapace keep their schemas in the compacted topic `_schemas`, as JSON in key and
value; they and Apicurio answer the same HTTP requests. A deleted schema stays readable, since values were written with
it; a tombstone takes nothing back for the same reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import orjson

from decoders.protocols.read_http_exchanges import HttpExchange
from decoders.values.schemas_and_decoded_values import RegisteredSchema, SchemaOrigin, SchemaReference

__all__ = [
    "find_unregistered_id",
    "learn_from_http",
    "learn_from_schemas_record",
    "parse_registry_row",
]

# Takes a schema that was learnt.
Learn = Callable[[RegisteredSchema], object]
_TYPES: Final = ("AVRO", "PROTOBUF", "JSON")
_CONTEXT: Final = re.compile(r":\.([^:]*):")
_BY_ID: Final = re.compile(r"/schemas/ids/(\d{1,10})$")
_BY_GUID: Final = re.compile(r"/schemas/guids/([0-9a-fA-F-]{36})$")
_BY_SUBJECT: Final = re.compile(r"/subjects/([^/]+)(?:/versions(?:/[^/]+)?)?$")
_SUBJECT_ASKED: Final = re.compile(r"(?:^|&)subject=([^&]*)")
# What a registry answers about an id that it does not know; a 404 of a proxy is no such answer.
_SCHEMA_NOT_FOUND: Final = 40403
_QUOTED: Final = re.compile(rb"%([0-9a-fA-F]{2})")


def learn_from_schemas_record(
    key: bytes | None, value: bytes | None, learn: Learn, *, origin: SchemaOrigin, registry: str | None
) -> None:
    """Learn the schema of a record of `_schemas`, if it is one of a schema."""
    head, row = _parse_object(key), _parse_object(value)
    if head is not None and row is not None and head.get("keytype") == "SCHEMA":
        subject = row.get("subject", head.get("subject"))
        _learn_schema_row(row, learn, origin, registry, subject=subject, schema_id=row.get("id"))


def parse_registry_row(
    row: dict[str, Any], *, origin: SchemaOrigin, registry: str | None, schema_id: int | None = None
) -> RegisteredSchema | None:
    """The schema in a registry's answer; None where it has none. `schema_id`: that was asked for."""
    found: list[RegisteredSchema] = []
    number = row.get("id") if schema_id is None else schema_id
    _learn_schema_row(row, found.append, origin, registry, subject=row.get("subject"), schema_id=number)
    return found[0] if found else None


def learn_from_http(exchange: HttpExchange, learn: Learn, registry: str) -> None:
    """Learn the schema of a request to a registry and its answer, if they have one."""
    answer = _parse_object(exchange.received) if exchange.status == 200 else None
    if answer is None:
        return
    path, _, query = exchange.target.partition("?")
    origin = SchemaOrigin("capture", exchange.packet)
    asked_for = _decode_percent_encoding(match[1]) if (match := _SUBJECT_ASKED.search(query)) is not None else None
    if (match := _BY_ID.search(path)) is not None:
        _learn_schema_row(answer, learn, origin, registry, subject=asked_for, schema_id=int(match[1]))
    elif (match := _BY_GUID.search(path)) is not None:
        _learn_schema_row(
            {"guid": match[1], **answer}, learn, origin, registry, subject=asked_for, schema_id=answer.get("id")
        )
    elif (match := _BY_SUBJECT.search(path)) is not None:
        # An answer to a registration may have the number alone; the schema is in the request.
        row = {**((_parse_object(exchange.sent) or {}) if exchange.method == "POST" else {}), **answer}
        _learn_schema_row(
            row, learn, origin, registry, subject=_decode_percent_encoding(match[1]), schema_id=answer.get("id")
        )


def find_unregistered_id(exchange: HttpExchange) -> int | None:
    """The id of a schema that a registry says it does not know; None where an exchange is about something else."""
    match = _BY_ID.search(exchange.target.partition("?")[0]) if exchange.status == 404 else None
    if match is None or (_parse_object(exchange.received) or {}).get("error_code") != _SCHEMA_NOT_FOUND:
        return None
    return int(match[1])


def _decode_percent_encoding(text: str) -> str:
    """A part of an address without its percent encoding."""
    data = _QUOTED.sub(lambda match: bytes([int(match[1], 16)]), text.encode("latin-1", "replace"))
    return data.decode("utf-8", "replace")


def _parse_object(data: bytes | None) -> dict[str, Any] | None:
    try:
        found = orjson.loads(data or b"")
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _learn_schema_row(
    row: dict[str, Any],
    learn: Learn,
    origin: SchemaOrigin,
    registry: str | None,
    *,
    subject: Any,
    schema_id: Any,
) -> None:
    """Learn a schema from the fields that a registry has for it, if they are what they should be."""
    text, kind, guid, version = row.get("schema"), row.get("schemaType", "AVRO"), row.get("guid"), row.get("version")
    if not isinstance(text, str) or kind not in _TYPES:
        return
    schema_id = schema_id if isinstance(schema_id, int) and not isinstance(schema_id, bool) else None
    subject = subject if isinstance(subject, str) else None
    learn(
        RegisteredSchema(
            kind,
            text,
            origin,
            schema_id=schema_id,
            guid=guid.lower() if isinstance(guid, str) else None,
            subject=_CONTEXT.sub("", subject, count=1) if subject is not None else None,
            version=version if isinstance(version, int) else None,
            references=tuple(_read_schema_references(row.get("references"))),
            registry=_registry_with_context(registry, subject),
        )
    )


def _registry_with_context(registry: str | None, subject: str | None) -> str | None:
    """The registry with the context of a subject, whose ids are its own: `:.team-a:orders-value`."""
    match = None if subject is None else _CONTEXT.match(subject)
    return registry if match is None or not match[1] else f"{registry or ''}:{match[1]}"


def _read_schema_references(rows: Any) -> Iterable[SchemaReference]:
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            name, subject, version = row.get("name"), row.get("subject"), row.get("version")
            if isinstance(name, str) and isinstance(subject, str) and isinstance(version, int):
                yield SchemaReference(name, _CONTEXT.sub("", subject, count=1), version)
