"""Metrics that a client pushes in, their JSON form out, and back (KIP-714: OTLP's MetricsData in protobuf, compressed).

The request says in another field how the bytes are compressed. In JSON that is `$codec`. The other fields have the
names and types of opentelemetry/proto/metrics/v1/metrics.proto; only fields on the wire are there. Another compressor,
or another protobuf encoder, gives other bytes for the same metrics: then `_original` holds the bytes that were sent,
and encoding gives these bytes as long as the fields are unchanged.

Bytes that cannot be read stay bytes, with the reason: {"base64": …, "error": {"reason", "text"}}. The reason is
`codec`, `limit`, `malformed`, or `package` if opentelemetry-proto is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from struct import Struct
from typing import Any, Final

from decoders.errors import DecodeError, EncodeError, LimitExceeded
from decoders.limits import METRICS_MESSAGES_MAX, METRICS_SIZE_MAX
from decoders.named_tuple import NamedTuple
from decoders.records.codecs import NAMES, deflate, inflate
from decoders.schema.body_json_form import (
    ERROR,
    base64_json,
    bytes_from_json,
    float_json,
    json_bytes,
    leaf_from_json,
    quote_json,
)
from decoders.wire.format_and_escape_text import format_bytes

__all__ = ["CODEC", "METRICS", "ORIGINAL", "TEMPORALITY", "encode_metrics_from_json", "metrics_json"]

METRICS: Final = "MetricsData"
CODEC: Final = "$codec"
ORIGINAL: Final = "_original"
# Whether a sum counts from the previous push (delta) or from the start of the client (cumulative).
TEMPORALITY: Final = {0: "unspecified", 1: "delta", 2: "cumulative"}
_HEAD: Final = {"$type": METRICS, "$version": 1}
_AROUND: Final = frozenset({*_HEAD, CODEC, ORIGINAL})
_MAGIC: Final = 2  # LZ4 as in batches of magic 2
# How deep messages may be nested: protobuf's own limit.
_DEPTH_MAX: Final = 100
_DOUBLE: Final = Struct("<d")
_NAN: Final = _DOUBLE.pack(float("nan"))


class _Otlp(NamedTuple):
    """The classes of opentelemetry-proto and protobuf that are needed."""

    data: Any
    message: Any
    failed: tuple[type[Exception], ...]


@cache
def _load_otlp_classes() -> _Otlp | None:
    """The OTLP classes, loaded on first use; None if opentelemetry-proto is not installed."""
    try:
        metrics = import_module("opentelemetry.proto.metrics.v1.metrics_pb2")
        message = import_module("google.protobuf.message")
    except ImportError:
        return None
    return _Otlp(metrics.MetricsData, message.Message, (message.DecodeError, message.EncodeError))


def metrics_json(data: bytes | None, codec: int | None) -> Any:
    """The JSON form of a PushTelemetry request's `metrics`; `codec` is its compression_type, None if not known."""
    if not data:
        return None if data is None else json_bytes(data)
    try:
        plain = _decompress_metrics(data, codec or 0)
        found = _parse_metrics(plain)
    except LimitExceeded:
        return _unreadable_metrics_json(data, "limit", f"more than {format_bytes(METRICS_SIZE_MAX)} of metrics")
    except DecodeError as problem:
        return _unreadable_metrics_json(data, "codec", problem.text)
    if found is None:
        missing = _load_otlp_classes() is None
        text = "opentelemetry-proto is not installed" if missing else "no OTLP metrics"
        return _unreadable_metrics_json(data, "package" if missing else "malformed", text)
    made: dict[str, Any] = {**_HEAD, CODEC: NAMES[codec]} if codec else dict(_HEAD)
    walk = _MetricsWalk()
    try:
        made |= _message_fields_json(found, walk)
    except LimitExceeded as full:
        return _unreadable_metrics_json(data, "limit", full.text)
    if walk.has_unusual_nan or _encode_parsed_metrics(found, made.get(CODEC, NAMES[0]), plain) != data:
        made[ORIGINAL] = base64_json(data)
    return made


def encode_metrics_from_json(value: Mapping[str, Any], path: str) -> bytes:
    """The bytes of metrics in JSON form, compressed as `$codec` says. Raises EncodeError under `path`."""
    if value.get("$version", 1) != 1:
        raise EncodeError(f"{METRICS} has version 1, not {quote_json(value['$version'])}", path=f"{path}.$version")
    codec = value.get(CODEC, NAMES[0])
    if codec not in NAMES:
        raise EncodeError(
            f"no compression is called {quote_json(codec)}; there are {', '.join(NAMES)}", path=f"{path}.{CODEC}"
        )
    if ORIGINAL in value:
        sent = bytes_from_json(value[ORIGINAL], f"{path}.{ORIGINAL}")
        if metrics_json(sent, NAMES.index(codec)) == dict(value):
            return sent
    return _encode_metrics(value, path)


def _unreadable_metrics_json(data: bytes, reason: str, text: str) -> dict[str, Any]:
    return {**base64_json(data), ERROR: {"reason": reason, "text": text}}


def _decompress_metrics(data: bytes, codec: int) -> bytes:
    """The plain bytes, METRICS_SIZE_MAX at most. Raises DecodeError."""
    if len(data) > METRICS_SIZE_MAX:
        raise LimitExceeded(f"{format_bytes(len(data))} of metrics")
    return bytes(inflate(codec, memoryview(data), METRICS_SIZE_MAX, _MAGIC)) if codec else data


def _parse_metrics(plain: bytes) -> Any:
    """The MetricsData message; None if the bytes are no such message, or hold none of its fields."""
    otlp = _load_otlp_classes()
    if otlp is None:
        return None
    try:
        found = otlp.data.FromString(plain)
    except otlp.failed:
        return None
    return found if found.ListFields() or not plain else None


class _MetricsWalk:
    """What a walk over a message counts: the messages that are still allowed, and whether a NaN has other bits."""

    __slots__ = ("has_unusual_nan", "messages_left")

    def __init__(self) -> None:
        self.messages_left = METRICS_MESSAGES_MAX
        self.has_unusual_nan = False  # JSON has one NaN, so the bits of another are lost there


def _message_fields_json(message: Any, walk: _MetricsWalk) -> dict[str, Any]:
    """The fields that are set in a message."""
    walk.messages_left -= 1
    if walk.messages_left < 0:
        raise LimitExceeded(f"more than {METRICS_MESSAGES_MAX:,} values in metrics")
    return {field.name: _field_value_json(value, walk) for field, value in message.ListFields()}


def _field_value_json(value: Any, walk: _MetricsWalk) -> Any:
    if isinstance(value, float):
        if value != value and _DOUBLE.pack(value) != _NAN:
            walk.has_unusual_nan = True
        return float_json(value)
    if isinstance(value, bytes):
        return json_bytes(value)
    if isinstance(value, str | int):
        return value
    return (
        _message_fields_json(value, walk)
        if hasattr(value, "ListFields")
        else [_field_value_json(each, walk) for each in value]
    )


def _encode_parsed_metrics(message: Any, codec: str, plain: bytes) -> bytes | None:
    """The bytes that the JSON form of a parsed message gives, compressed; None where they are not those of `plain`.

    They are made of the message itself, which JSON has whole: all but fields that are not declared, and bits of a NaN.
    """
    message.DiscardUnknownFields()
    made: bytes = message.SerializeToString(deterministic=True)
    return deflate(codec, made) if made == plain else None


def _encode_metrics(value: Mapping[str, Any], path: str) -> bytes:
    """The bytes of metrics in JSON form, compressed as `$codec` says. Raises EncodeError."""
    otlp = _load_otlp_classes()
    if otlp is None:
        raise EncodeError("opentelemetry-proto is not installed", path=path)
    message = otlp.data()
    _fill_message_from_json(
        otlp, message, {name: inner for name, inner in value.items() if name not in _AROUND}, path, 0
    )
    try:
        plain: bytes = message.SerializeToString(deterministic=True)
    except otlp.failed as problem:
        raise EncodeError(str(problem), path=path) from None
    return deflate(value.get(CODEC, NAMES[0]), plain)


def _fill_message_from_json(otlp: _Otlp, message: Any, fields_json: object, path: str, depth: int) -> None:
    """Set the fields of a protobuf message from JSON. Raises EncodeError."""
    if not isinstance(fields_json, Mapping):
        raise EncodeError(f"an object expected, not {quote_json(fields_json)}", path=path)
    if depth > _DEPTH_MAX:
        raise EncodeError(f"values inside values, more than {_DEPTH_MAX} deep", path=path)
    message.SetInParent()
    known = message.DESCRIPTOR.fields_by_name
    for name, inner in fields_json.items():
        place = f"{path}.{name}" if path else str(name)
        if name not in known:
            few = ", ".join(known)
            raise EncodeError(
                f"{message.DESCRIPTOR.name} has no field {quote_json(name)} (there are {few})", path=place
            )
        current = getattr(message, name)
        if isinstance(current, otlp.message):
            _fill_message_from_json(otlp, current, inner, place, depth + 1)
        elif isinstance(current, str | bytes | int | float):
            _set_message_field(message, name, _scalar_from_json(current, inner, place), place)
        elif not isinstance(inner, list | tuple):
            raise EncodeError(f"an array expected, not {quote_json(inner)}", path=place)
        elif hasattr(current, "add"):
            for index, element in enumerate(inner):
                _fill_message_from_json(otlp, current.add(), element, f"{place}[{index}]", depth + 1)
        else:
            _extend_repeated_scalar(current, known[name], inner, place)


def _scalar_from_json(current_value: object, json_value: object, path: str) -> object:
    """The value of a scalar field as protobuf takes it; `current_value` is a value of the field's type."""
    if isinstance(current_value, bytes):
        return bytes_from_json(json_value, path)
    if isinstance(current_value, float):
        return leaf_from_json("float64", json_value, path)
    if isinstance(current_value, bool) != isinstance(json_value, bool):
        raise EncodeError(f"{'true or false' if isinstance(current_value, bool) else 'no boolean'} expected", path=path)
    return json_value


def _set_message_field(message: Any, name: str, value: object, path: str) -> None:
    try:
        setattr(message, name, value)
    except (TypeError, ValueError):
        raise EncodeError(f"{quote_json(value)} does not fit", path=path) from None


def _extend_repeated_scalar(repeated_field: Any, field: Any, values: Any, path: str) -> None:
    numbers = field.cpp_type in (field.CPPTYPE_DOUBLE, field.CPPTYPE_FLOAT)
    for index, value in enumerate(values):
        place = f"{path}[{index}]"
        try:
            repeated_field.append(leaf_from_json("float64", value, place) if numbers else value)
        except (TypeError, ValueError):
            raise EncodeError(f"{quote_json(value)} does not fit", path=place) from None
