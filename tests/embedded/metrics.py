"""Random metrics of every kind that OTLP has, as bytes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

__all__ = ["otlp", "random_metrics"]

_TEXTS = ("org.apache.kafka.consumer.request.total", "", "Ünï", "a\nb", "{redacted 3}", "x" * 300)
_NUMBERS = (0, 1, -1, (1 << 63) - 1, -(1 << 63), 53 << 20)
_FLOATS = (0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan"), 1e300, 5e-324)


def otlp() -> Any:
    """The module with OpenTelemetry's messages; skips the test if it is not installed."""
    return pytest.importorskip("opentelemetry.proto.metrics.v1.metrics_pb2", reason="opentelemetry-proto is missing")


def random_metrics(rng: Random) -> bytes:
    """A few resources, scopes and metrics; every field is optional."""
    message = otlp().MetricsData()
    _fill(message, rng, 0)
    return bytes(message.SerializeToString(deterministic=True))


def _fill(message: Any, rng: Random, depth: int) -> None:
    for field in message.DESCRIPTOR.fields:
        if rng.random() < (0.3 if depth > 3 else 0):
            continue
        current = getattr(message, field.name)
        if hasattr(current, "add"):
            for _ in range(rng.randrange(depth < 4, 3) if depth < 9 else 0):
                _fill(current.add(), rng, depth + 1)
        elif hasattr(current, "DESCRIPTOR"):
            if depth < 9:
                current.SetInParent()
                _fill(current, rng, depth + 1)
        elif isinstance(current, str | bytes | int | float):
            setattr(message, field.name, _scalar(field, current, rng))
        else:
            kinds = {field.CPPTYPE_DOUBLE: 0.5, field.CPPTYPE_STRING: ""}
            current.extend([_scalar(field, kinds.get(field.cpp_type, 0), rng) for _ in range(3)])


def _scalar(field: Any, current: object, rng: Random) -> object:
    if isinstance(current, bool):
        return rng.random() < 0.5
    if isinstance(current, str):
        return rng.choice(_TEXTS)
    if isinstance(current, bytes):
        return rng.choice((b"", b"\xff\0", bytes(16)))
    if isinstance(current, float):
        return rng.choice(_FLOATS)
    bits = 31 if field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_UINT32, field.CPPTYPE_ENUM) else 63
    number = rng.choice(_NUMBERS) % (1 << bits)
    signed = field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_INT64)
    return -number if signed and rng.random() < 0.3 else number
