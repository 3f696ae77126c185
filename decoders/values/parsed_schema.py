"""A registered schema, and those that it refers to, in; an object that decodes its values out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from decoders.errors import Malformed
from decoders.values.avro.decoder import AvroDecoder
from decoders.values.avro.schema import AvroType, UnknownName, collect_named_types, parse_avro_schema
from decoders.values.model import RegisteredSchema

ParsedSchema: TypeAlias = AvroDecoder


class MissingReference(Malformed):
    """A schema refers to one that is not known, or not yet."""


def parse_schema(registered: RegisteredSchema, references: Mapping[str, ParsedSchema]) -> ParsedSchema:
    """The parsed form of a schema; `references` has those that it refers to, by the names they have in it.

    Raises DecodeError, MissingReference where another schema may still come that mends it.
    """
    if registered.schema_type != "AVRO":
        raise Malformed(f"{registered.schema_type} is not read")
    known: dict[str, AvroType] = {}
    for each in references.values():
        if isinstance(each, AvroDecoder):
            known |= collect_named_types(each.kind)
    try:
        return AvroDecoder(parse_avro_schema(registered.text, known))
    except UnknownName as failure:
        raise MissingReference(failure.text) from None
