"""JSON text in, its value out: plain, in the envelope of Kafka Connect's converter, or a CloudEvent."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from decoders.errors import LimitExceeded, Malformed
from decoders.limits import VALUE_NESTING_MAX
from decoders.schema.body_json_form import has_at_most_levels, json_bytes
from decoders.values.avro.logical_types import format_date, format_decimal, format_time_of_day, format_timestamp

CLOUD_EVENT: Final = ("specversion", "type", "source", "id")
_CONNECT: Final = "org.apache.kafka.connect.data."
_DEBEZIUM: Final = "io.debezium.time."
_SCALES: Final = range(1001)
_MILLIS, _MICROS, _NANOS = 10**6, 10**3, 1


def read_json(data: bytes) -> Any:
    """The value of a JSON text, which is all of `data`. Raises DecodeError."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as failure:
        raise Malformed(f"no JSON: {failure.msg}", offset=failure.pos) from None
    brackets = data.count(b"[") + data.count(b"{")  # a level has one; counting them takes a tenth of counting levels
    if brackets > VALUE_NESTING_MAX and not has_at_most_levels(found, VALUE_NESTING_MAX):
        raise LimitExceeded(f"JSON of more than {VALUE_NESTING_MAX} levels")
    return found


def is_cloud_event(value: Any) -> bool:
    """Whether an object has what every CloudEvent has."""
    if not isinstance(value, dict) or "specversion" not in value:
        return False
    return all(isinstance(value.get(name), str) for name in CLOUD_EVENT)


def read_cloud_event_data(value: Mapping[str, Any]) -> bytes | None:
    """The bytes of an event's data where they are in base64."""
    return _decode_base64(value.get("data_base64"))


def is_connect_envelope(value: Any) -> bool:
    """Whether an object is what Connect's JsonConverter writes with `schemas.enable`."""
    if not isinstance(value, dict) or len(value) != 2 or "payload" not in value or "schema" not in value:
        return False
    schema = value["schema"]
    return schema is None or (isinstance(schema, dict) and isinstance(schema.get("type"), str))


def unwrap_connect_envelope(value: Mapping[str, Any]) -> tuple[str | None, Any]:
    """The name of the envelope's schema, and the payload with decimals, times and bytes in readable form."""
    schema = value["schema"]
    if schema is None:
        return None, value["payload"]
    name = schema.get("name")
    return name if isinstance(name, str) else None, _payload_to_json(schema, value["payload"])


def _payload_to_json(schema: Any, value: Any) -> Any:
    """A part of the payload; what does not fit its schema stays as it is. The depth is that of the JSON text."""
    if value is None or not isinstance(schema, dict):
        return value
    kind, name = schema.get("type"), schema.get("name")
    if isinstance(name, str) and name in _READABLE_FORMS:
        return _READABLE_FORMS[name](schema, value)
    if kind == "struct" and isinstance(value, dict):
        fields = schema.get("fields")
        found = dict(value)
        for field in fields if isinstance(fields, list) else ():
            inner = field.get("field") if isinstance(field, dict) else None
            if isinstance(inner, str) and inner in value:
                found[inner] = _payload_to_json(field, value[inner])
        return found
    if kind == "array" and isinstance(value, list):
        return [_payload_to_json(schema.get("items"), each) for each in value]
    if kind == "map" and isinstance(value, dict):
        return {key: _payload_to_json(schema.get("values"), each) for key, each in value.items()}
    if kind == "bytes" and (data := _decode_base64(value)) is not None:
        return json_bytes(data)
    return value


def _decode_base64(value: Any) -> bytes | None:
    try:
        return b64decode(value, validate=True) if isinstance(value, str) else None
    except (NotBase64, ValueError):
        return None


def _decimal_to_text(schema: Mapping[str, Any], value: Any) -> Any:
    parameters = schema.get("parameters")
    scale = parameters.get("scale") if isinstance(parameters, dict) else None
    data = _decode_base64(value)
    if data is None or not isinstance(scale, str) or not scale.isdecimal() or len(scale) > 4:
        return value
    return format_decimal(data, int(scale)) if int(scale) in _SCALES else value


def _make_number_converter(form: Callable[..., Any], *arguments: int) -> Callable[[Mapping[str, Any], Any], Any]:
    return lambda _schema, value: form(value, *arguments) if type(value) is int else value


# Name of a schema → the function that gives the readable form of its value.
_READABLE_FORMS: Final[dict[str, Callable[[Mapping[str, Any], Any], Any]]] = {
    f"{_CONNECT}Decimal": _decimal_to_text,
    f"{_CONNECT}Date": _make_number_converter(format_date),
    f"{_CONNECT}Time": _make_number_converter(format_time_of_day, _MILLIS),
    f"{_CONNECT}Timestamp": _make_number_converter(format_timestamp, _MILLIS),
    f"{_DEBEZIUM}Date": _make_number_converter(format_date),
    f"{_DEBEZIUM}Time": _make_number_converter(format_time_of_day, _MILLIS),
    f"{_DEBEZIUM}MicroTime": _make_number_converter(format_time_of_day, _MICROS),
    f"{_DEBEZIUM}NanoTime": _make_number_converter(format_time_of_day, _NANOS),
    f"{_DEBEZIUM}Timestamp": _make_number_converter(format_timestamp, _MILLIS),
    f"{_DEBEZIUM}MicroTimestamp": _make_number_converter(format_timestamp, _MICROS),
    f"{_DEBEZIUM}NanoTimestamp": _make_number_converter(format_timestamp, _NANOS),
}
