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

from decoders.limits import HTTP_CONNECTIONS_MAX
from decoders.messages.learn_apicurio_schemas import ApicurioTraffic
from decoders.protocols.read_http_exchanges import HTTP2_PREFACE, HttpConversation, HttpExchange, begins_as_http_request
from decoders.tcp.chunks import Chunk, Close, Gap
from decoders.values.model import RegisteredSchema, SchemaOrigin, SchemaReference

__all__ = [
    "SCHEMAS_TOPIC",
    "RegistryTraffic",
    "learn_from_http",
    "learn_from_schemas_record",
    "parse_registry_row",
]

SCHEMAS_TOPIC: Final = "_schemas"
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
        _learn_row(row, learn, origin, registry, subject=subject, schema_id=row.get("id"))


def parse_registry_row(
    row: dict[str, Any], *, origin: SchemaOrigin, registry: str | None, schema_id: int | None = None
) -> RegisteredSchema | None:
    """The schema in a registry's answer; None where it has none. `schema_id`: that was asked for."""
    found: list[RegisteredSchema] = []
    number = row.get("id") if schema_id is None else schema_id
    _learn_row(row, found.append, origin, registry, subject=row.get("subject"), schema_id=number)
    return found[0] if found else None


def learn_from_http(exchange: HttpExchange, learn: Learn, registry: str) -> None:
    """Learn the schema of a request to a registry and its answer, if they have one."""
    answer = _parse_object(exchange.received) if exchange.status == 200 else None
    if answer is None:
        return
    path, _, query = exchange.target.partition("?")
    origin = SchemaOrigin("capture", exchange.packet)
    asked_for = _unquote(match[1]) if (match := _SUBJECT_ASKED.search(query)) is not None else None
    if (match := _BY_ID.search(path)) is not None:
        _learn_row(answer, learn, origin, registry, subject=asked_for, schema_id=int(match[1]))
    elif (match := _BY_GUID.search(path)) is not None:
        _learn_row({"guid": match[1], **answer}, learn, origin, registry, subject=asked_for, schema_id=answer.get("id"))
    elif (match := _BY_SUBJECT.search(path)) is not None:
        # An answer to a registration may have the number alone; the schema is in the request.
        row = {**((_parse_object(exchange.sent) or {}) if exchange.method == "POST" else {}), **answer}
        _learn_row(row, learn, origin, registry, subject=_unquote(match[1]), schema_id=answer.get("id"))


def find_unregistered_id(exchange: HttpExchange) -> int | None:
    """The id of a schema that a registry says it does not know; None where an exchange is about something else."""
    match = _BY_ID.search(exchange.target.partition("?")[0]) if exchange.status == 404 else None
    if match is None or (_parse_object(exchange.received) or {}).get("error_code") != _SCHEMA_NOT_FOUND:
        return None
    return int(match[1])


def _unquote(text: str) -> str:
    """A part of an address without its percent encoding."""
    data = _QUOTED.sub(lambda match: bytes([int(match[1], 16)]), text.encode("latin-1", "replace"))
    return data.decode("utf-8", "replace")


def _parse_object(data: bytes | None) -> dict[str, Any] | None:
    try:
        found = orjson.loads(data or b"")
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _learn_row(
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
            references=tuple(_read_references(row.get("references"))),
            registry=_name_registry(registry, subject),
        )
    )


def _name_registry(registry: str | None, subject: str | None) -> str | None:
    """The registry with the context of a subject, whose ids are its own: `:.team-a:orders-value`."""
    match = None if subject is None else _CONTEXT.match(subject)
    return registry if match is None or not match[1] else f"{registry or ''}:{match[1]}"


def _read_references(rows: Any) -> Iterable[SchemaReference]:
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            name, subject, version = row.get("name"), row.get("subject"), row.get("version")
            if isinstance(name, str) and isinstance(subject, str) and isinstance(version, int):
                yield SchemaReference(name, _CONTEXT.sub("", subject, count=1), version)


class RegistryTraffic:
    """Learns from the HTTP/1.1 connections among all chunks of a capture, plain or decrypted.

    `http2` counts connections that cannot be read, since they are HTTP/2.
    """

    def __init__(self, learn: Learn, note_unregistered: Callable[[int], object]) -> None:
        """`note_unregistered` takes the ids that a registry says it does not know."""
        self._learn = learn
        self._apicurio = ApicurioTraffic(learn)
        self._note_unregistered = note_unregistered
        self._conversations: dict[int, tuple[HttpConversation, object]] = {}  # with the client's half
        self._others: set[int] = set()  # connections that are none of HTTP
        self.http2 = 0

    def feed(self, chunks: Iterable[Chunk]) -> None:
        """Learn from these chunks."""
        for half, _, packet, data in chunks:
            number = half.connection.number
            if isinstance(data, Close):
                self._others.discard(number)
                self._end_conversation(number, packet)
            elif isinstance(data, bytes):
                if number in self._others:
                    continue
                kept = self._conversations.get(number)
                if kept is None:
                    kept = self._begin_conversation(number, half, data)
                    if kept is None:
                        continue
                talk, client = kept
                found = talk.feed_client(data) if half is client else talk.feed_server(data, packet)
                for exchange in found:
                    self._learn_from_exchange(exchange, exchange.host or half.connection.first.target)
                if talk.ended:
                    self._forget_conversation(number)
            elif isinstance(data, Gap) and number in self._conversations:
                self._forget_conversation(number)

    def _begin_conversation(self, number: int, half: Any, data: bytes) -> tuple[HttpConversation, object] | None:
        if not begins_as_http_request(data) or len(self._conversations) >= HTTP_CONNECTIONS_MAX:
            self.http2 += data.startswith(HTTP2_PREFACE)
            self._others.add(number)
            return None
        kept = self._conversations[number] = HttpConversation(), half
        return kept

    def _end_conversation(self, number: int, packet: int) -> None:
        kept = self._conversations.pop(number, None)
        if kept is not None:
            for exchange in kept[0].feed_server(b"", packet):  # a body may end with its connection
                self._learn_from_exchange(exchange, exchange.host or "")

    def _learn_from_exchange(self, exchange: HttpExchange, registry: str) -> None:
        learn_from_http(exchange, self._learn, registry)
        self._apicurio.learn_from_exchange(exchange, registry)
        schema_id = find_unregistered_id(exchange)
        if schema_id is not None:
            self._note_unregistered(schema_id)

    def _forget_conversation(self, number: int) -> None:
        del self._conversations[number]
        self._others.add(number)
