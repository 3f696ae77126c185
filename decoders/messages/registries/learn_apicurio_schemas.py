"""Requests to Apicurio's own API (2.x and 3.x) with their answers in, the schemas in them out.

An answer is the text of a schema and nothing else: its ids are in the address, its type follows from the text, and what
it refers to is the answer to another question. A schema has two ids, of which clients use one: the global id is of a
version of an artifact, the content id of a text, which several artifacts may have. An artifact is what Confluent calls
a subject.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import orjson

from decoders.limits import SCHEMAS_MAX
from decoders.protocols.read_http_exchanges import HttpExchange
from decoders.values.schemas_and_decoded_values import (
    IdKind,
    RegisteredSchema,
    SchemaOrigin,
    SchemaReference,
    SchemaType,
)

__all__ = ["ApicurioTraffic", "find_schema_type", "read_artifact_references"]

Row = dict[str, Any]
_API: Final = "/apis/registry/v"
_BY_ID: Final = re.compile(r"/ids/(globalIds|contentIds)/(\d{1,18})(/references)?$")
_BY_VERSION: Final = re.compile(r"/artifacts/([^/]+)/versions/([^/]+?)(?:/content)?$")
_ARTIFACT: Final = re.compile(r"/artifacts/([^/]+)$")
_ARTIFACTS: Final = re.compile(r"/artifacts(?:/([^/]+)/versions)?$")
_ID_KINDS: Final[dict[str, IdKind]] = {"globalIds": "globalId", "contentIds": "contentId"}
_AVRO_TYPES: Final = frozenset(["record", "enum", "fixed", "error", "map", "bytes", "int", "long", "float", "double"])
_QUOTED: Final = re.compile(r"%([0-9a-fA-F]{2})")


def find_schema_type(text: str) -> SchemaType:
    """The type of a schema's text: `.proto` text is no JSON, and of JSON Avro's types are not those of JSON Schema."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return "PROTOBUF"
    if isinstance(found, dict):
        kind = found.get("type")
        return "AVRO" if (kind in _AVRO_TYPES if isinstance(kind, str) else isinstance(kind, dict)) else "JSON"
    return "AVRO" if isinstance(found, str | list) else "JSON"


def read_artifact_references(rows: Any) -> tuple[SchemaReference, ...]:
    """What an answer lists of the schemas that another one refers to."""
    found = []
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and isinstance(row.get("name"), str) and isinstance(row.get("artifactId"), str):
            found.append(SchemaReference(row["name"], row["artifactId"], _number_of_version(row.get("version"))))
    return tuple(found)


def _number_of_version(version: Any) -> int:
    """The version as a number, as Apicurio gives it unless a user does; 0: which one is not known."""
    text = str(version)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _decode_percent_encoding(text: str) -> str:
    return _QUOTED.sub(lambda match: chr(int(match[1], 16)), text)


def _parse_json_or_none(data: bytes | None) -> Any:
    try:
        return orjson.loads(data or b"")
    except orjson.JSONDecodeError:
        return None


class ApicurioTraffic:
    """Learns from exchanges; a schema is learnt again when the answer that says what it refers to has come."""

    def __init__(self, learn: Callable[[RegisteredSchema], object]) -> None:
        self._learn = learn
        self._by_id: dict[tuple[str, IdKind, int], RegisteredSchema] = {}

    def learn_from_exchange(self, exchange: HttpExchange, registry: str) -> None:
        """Learn the schema of an exchange, if it is of Apicurio's own API and has one."""
        path = exchange.target.partition("?")[0]
        if _API not in path or exchange.status != 200 or exchange.received is None:
            return
        origin = SchemaOrigin("capture", exchange.packet)
        if exchange.method == "GET":
            self._learn_from_answer(path, exchange.received, origin, registry)
        elif exchange.method in ("POST", "PUT") and (match := _ARTIFACTS.search(path)) is not None:
            self._learn_from_creation(exchange, match[1], origin, registry)

    def _learn_from_answer(self, path: str, received: bytes, origin: SchemaOrigin, registry: str) -> None:
        match = _BY_ID.search(path)
        if match is not None:
            kind, number = _ID_KINDS[match[1]], int(match[2])
            if match[3]:
                self._add_references(registry, kind, number, read_artifact_references(_parse_json_or_none(received)))
            else:
                self._keep_schema(received, origin, registry, schema_id=number, id_kind=kind)
        elif (match := _BY_VERSION.search(path)) is not None:
            version = _number_of_version(match[2])
            self._keep_schema(received, origin, registry, subject=_decode_percent_encoding(match[1]), version=version)
        elif (match := _ARTIFACT.search(path)) is not None:
            self._keep_schema(received, origin, registry, subject=_decode_percent_encoding(match[1]))

    def _keep_schema(self, text: bytes | str, origin: SchemaOrigin, registry: str, **known: Any) -> None:
        """Learn a schema of a text, by what is known of it."""
        if isinstance(text, bytes):
            try:
                text = text.decode()
            except UnicodeDecodeError:
                return
        found = RegisteredSchema(find_schema_type(text), text, origin, registry=registry, **known)
        if found.schema_id is not None and found.id_kind is not None and len(self._by_id) < SCHEMAS_MAX:
            self._by_id[registry, found.id_kind, found.schema_id] = found
        self._learn(found)

    def _add_references(
        self, registry: str, kind: IdKind, number: int, references: tuple[SchemaReference, ...]
    ) -> None:
        kept = self._by_id.get((registry, kind, number))
        if kept is not None and references and kept.references != references:
            self._by_id[registry, kind, number] = kept = kept._replace(references=references)
            self._learn(kept)

    def _learn_from_creation(
        self, exchange: HttpExchange, artifact: str | None, origin: SchemaOrigin, registry: str
    ) -> None:
        """A new artifact or version: the text is in the request, its ids are in the answer."""
        answer = _parse_json_or_none(exchange.received)
        if not isinstance(answer, dict):
            return
        head = answer.get("version") if isinstance(answer.get("version"), dict) else answer  # 3.x, 2.x
        assert isinstance(head, dict)
        text, references = _read_posted_schema(exchange.sent or b"")
        name = head.get("artifactId", head.get("id", artifact))
        if text is None or not isinstance(name, str):
            return
        for kind in _ID_KINDS.values():
            number = head.get(kind)
            if isinstance(number, int):
                self._keep_schema(
                    text, origin, registry, schema_id=number, id_kind=kind, subject=name,
                    version=_number_of_version(head.get("version")), references=references,
                )  # fmt: skip


def _read_posted_schema(sent: bytes) -> tuple[str | None, tuple[SchemaReference, ...]]:
    """The text of a schema in a request, alone (2.x) or inside an object (references, 3.x), and what it refers to."""
    row = _parse_json_or_none(sent)
    for names in (("firstVersion", "content"), ("content",), ()):
        place: Any = row
        for name in names:
            place = place.get(name) if isinstance(place, dict) else None
        if isinstance(place, dict) and isinstance(place.get("content"), str):
            return place["content"], read_artifact_references(place.get("references"))
    try:
        return sent.decode(), ()
    except UnicodeDecodeError:
        return None, ()
