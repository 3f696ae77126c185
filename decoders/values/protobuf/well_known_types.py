"""Messages that Protobuf, Confluent and Google define for everyone: their declarations, and their JSON forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from decoders.schema.body_json_form import json_bytes
from decoders.values.avro.logical_types import format_decimal, format_timestamp
from decoders.values.protobuf.proto_text import parse_proto_text
from decoders.values.protobuf.protobuf_schema import ProtobufSchema, link_files

_WRAPPED: Final = {
    "DoubleValue": "double", "FloatValue": "float", "Int64Value": "int64", "UInt64Value": "uint64",
    "Int32Value": "int32", "UInt32Value": "uint32", "BoolValue": "bool", "StringValue": "string", "BytesValue": "bytes",
}  # fmt: skip
_GOOGLE: Final = """
syntax = "proto3";
package google.protobuf;
message Timestamp { int64 seconds = 1; int32 nanos = 2; }
message Duration { int64 seconds = 1; int32 nanos = 2; }
message Any { string type_url = 1; bytes value = 2; }
message Empty {}
message FieldMask { repeated string paths = 1; }
message Struct { map<string, Value> fields = 1; }
message ListValue { repeated Value values = 1; }
enum NullValue { NULL_VALUE = 0; }
message Value { oneof kind {
    NullValue null_value = 1; double number_value = 2; string string_value = 3; bool bool_value = 4;
    Struct struct_value = 5; ListValue list_value = 6; } }
""" + "".join(f"message {name} {{ {kind} value = 1; }}\n" for name, kind in _WRAPPED.items())
_CONFLUENT: Final = """
syntax = "proto3";
package confluent.type;
message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
"""
_GOOGLE_TYPES: Final = """
syntax = "proto3";
package google.type;
message Date { int32 year = 1; int32 month = 2; int32 day = 3; }
message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }
message LatLng { double latitude = 1; double longitude = 2; }
message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }
"""
# Imports whose types are here, or that have none that a message could hold.
KNOWN_IMPORTS: Final = ("google/protobuf/", "google/type/", "google/api/", "confluent/")
_SCALES: Final = range(1001)


@cache
def load_well_known_types() -> ProtobufSchema:
    """The well-known types, parsed once."""
    return link_files([parse_proto_text(text) for text in (_GOOGLE, _CONFLUENT, _GOOGLE_TYPES)], (), None)


def _timestamp_to_json(found: Mapping[str, Any]) -> Any:
    form = format_timestamp(found["seconds"] * 10**9 + found["nanos"], 1)
    return form if isinstance(form, str) else dict(found)


def _duration_to_json(found: Mapping[str, Any]) -> str:
    total = found["seconds"] * 10**9 + found["nanos"]
    seconds, nanos = divmod(abs(total), 10**9)
    fraction = f".{nanos:09}".rstrip("0") if nanos else ""
    return f"{'-' if total < 0 else ''}{seconds}{fraction}s"


def _struct_value_to_json(found: Mapping[str, Any]) -> Any:
    return None if "null_value" in found else next(iter(found.values()), None)


def _decimal_to_text(found: Mapping[str, Any]) -> Any:
    scale = found["scale"]
    if found["value"] and scale in _SCALES:
        return format_decimal(found["value"], scale)
    return {**found, "value": json_bytes(found["value"] or b"")}


# Full name → the function that gives the JSON form of the message's fields.
FORMS: Final[dict[str, Callable[[Mapping[str, Any]], Any]]] = {
    "google.protobuf.Timestamp": _timestamp_to_json,
    "google.protobuf.Duration": _duration_to_json,
    "google.protobuf.FieldMask": lambda found: ",".join(map(str, found["paths"])),
    "google.protobuf.Struct": lambda found: found["fields"],
    "google.protobuf.ListValue": lambda found: found["values"],
    "google.protobuf.Value": _struct_value_to_json,
    "confluent.type.Decimal": _decimal_to_text,
    **{f"google.protobuf.{name}": lambda found: found["value"] for name in _WRAPPED},
}
# Messages whose bytes their forms need as they are.
RAW_BYTES: Final = frozenset({"confluent.type.Decimal", "google.protobuf.Any"})
ANY: Final = "google.protobuf.Any"
