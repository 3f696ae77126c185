"""What goes into the store of schemas and what comes out of a value: a schema with its origin, a decoded value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from decoders.named_tuple import NamedTuple

OriginKind = Literal["capture", "file", "cache", "registry"]
SchemaType = Literal["AVRO", "PROTOBUF", "JSON"]
# Apicurio's two ids of a schema, which count for themselves; Confluent's API has one.
IdKind = Literal["globalId", "contentId"]
ID_KINDS: Final[tuple[IdKind, ...]] = ("contentId", "globalId")
# The format of a value whose prefix names a schema that is not known, so that its body cannot be read.
UNKNOWN_SCHEMA: Final = "unknown"


class SchemaOrigin(NamedTuple):
    """Where a schema comes from: the packet of a capture, or the place (a file, an address) that gave it."""

    kind: OriginKind
    packet: int | None = None
    place: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The origin in the record of an exchange: `{"kind": "capture", "packet": 88}`."""
        form: dict[str, Any] = {"kind": self.kind}
        if self.packet is not None:
            form["packet"] = self.packet
        if self.place is not None:
            form["place"] = self.place
        return form


class SchemaReference(NamedTuple):
    """A schema that another one uses: the name it has there (an import's path, a type's name), and where it is."""

    name: str
    subject: str
    version: int


class RegisteredSchema(NamedTuple):
    """A schema as a registry, a file or a record of `_schemas` has it.

    `registry` tells registries apart whose ids are the same (a cluster id, an HTTP host); None, as of files, is any.
    `id_kind` is that of the id, where Apicurio's own API gave it.
    """

    schema_type: SchemaType
    text: str
    origin: SchemaOrigin
    schema_id: int | None = None
    guid: str | None = None
    subject: str | None = None
    version: int | None = None
    references: Sequence[SchemaReference] = ()
    registry: str | None = None
    id_kind: IdKind | None = None


class DecodedValue:
    """A key or value in a known form.

    `value` is what `orjson` writes: decimals and times are texts (`"1.50"`, `"2026-11-28T10:00:00.000000Z"`), bytes
    have their JSON form as elsewhere in the record. It is None where `error` says why, with the byte's offset, or where
    `missing_schema`: the id is known and its schema is not. `guessed`: neither a header nor a known schema says so.
    `id_kind`: which of Apicurio's ids `schema_id` is, where a header says so. `reading`: how the bytes were read, where
    they have a prefix or fields to point to.
    """

    __slots__ = (
        "error", "format", "guessed", "id_kind", "missing_schema", "name", "reading", "schema_from", "schema_id",
        "value",
    )  # fmt: skip

    def __init__(
        self,
        form: str,
        value: Any,
        *,
        schema_id: int | str | None = None,
        name: str | None = None,
        schema_from: SchemaOrigin | None = None,
        guessed: bool = False,
        error: str | None = None,
    ) -> None:
        self.format = form
        self.value = value
        self.schema_id = schema_id
        self.name = name
        self.schema_from = schema_from
        self.guessed = guessed
        self.error = error
        self.missing_schema = False
        self.id_kind: IdKind | None = None
        self.reading: Any = None  # a ValueReading (parse_schema.py), which this module cannot name

    def to_json(self) -> Mapping[str, Any]:
        """The dict in a record: `format schema_id name schema_from value`, and what else there is to say."""
        form: dict[str, Any] = {
            "format": self.format,
            "schema_id": self.schema_id,
            "name": self.name,
            "schema_from": None if self.schema_from is None else self.schema_from.to_json(),
            "value": self.value,
        }
        if self.guessed:
            form["guessed"] = True
        if self.missing_schema:
            form["missing_schema"] = True
        if self.error is not None:
            form["error"] = self.error
        return form

    def __repr__(self) -> str:
        return f"DecodedValue({self.to_json()})"
