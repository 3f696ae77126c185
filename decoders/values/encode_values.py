"""A value in JSON form and a schema in, the bytes that a serializer would write out."""

from __future__ import annotations

from typing import Any, Literal

import orjson

from decoders.errors import DecodeError, EncodeError
from decoders.values.avro.avro_decoder import AvroDecoder
from decoders.values.avro.avro_encoder import encode_avro
from decoders.values.avro.avro_schema import compute_fingerprint
from decoders.values.check_values_against_json_schema import JsonSchema
from decoders.values.protobuf.protobuf_encoder import encode_indexes, encode_message
from decoders.values.schema_store import StoredSchema

# `prefix`: Confluent's, with the schema's id; `single-object`: Avro's own; `none`: the body alone.
ValueFraming = Literal["prefix", "single-object", "none"]


def encode_value(
    value: Any, schema: StoredSchema, framing: ValueFraming = "prefix", *, message: str | None = None
) -> bytes:
    """The bytes of a value by a schema; `message` is that of a Protobuf schema that has several, else the first.

    Raises EncodeError, which names the part that does not fit, or says what is wrong with the schema.
    """
    try:
        parsed = schema.parse()
        if isinstance(parsed, AvroDecoder):
            indexes, body = b"", encode_avro(parsed.kind, value)
        elif isinstance(parsed, JsonSchema):
            misfit = parsed.find_misfit(value)
            if misfit is not None:
                raise EncodeError(misfit)
            indexes, body = b"", orjson.dumps(value)
        else:
            one = parsed.find_by_name(message) if message else parsed.find_by_indexes([0])
            indexes, body = encode_indexes(parsed, one), encode_message(parsed, one, value)
    except DecodeError as failure:
        raise EncodeError(str(failure)) from None
    if framing == "none":
        return body
    if framing == "single-object":
        if not isinstance(parsed, AvroDecoder):
            raise EncodeError("only Avro has a form of a single object")
        return b"\xc3\x01" + compute_fingerprint(parsed.kind) + body
    if schema.registered.schema_id is None:
        raise EncodeError("the schema has no id, which a prefix names")
    return b"\0" + schema.registered.schema_id.to_bytes(4, "big") + indexes + body
