"""The libraries that kw is measured against: one message of an API in, functions that decode and encode it out.

uuids are raw bytes on all sides: kafka-python's generator is set to keep them so, kio (native code) gets zero uuids,
which it reads as None. All sides get the message as bytes (kafka-python's code reads memoryviews only, so it has to
make one), and are called below their convenience layers, at their compiled functions.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from kafka.protocol.api_message import ApiMessage  # type: ignore[import-untyped]
from kafka.protocol.schemas.fields import codecs  # type: ignore[import-untyped]
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from decoders.schema.api_declaration import Side


class Peer(NamedTuple):
    """Functions without arguments: one decodes the bytes, one encodes what was decoded."""

    decode: Callable[[], Any]
    encode: Callable[[], bytes]


def _raw_uuids(_: type, /, context: Any, name: str, indent: str, *_compact: bool, **_more: bool) -> None:
    context.emit(indent, f"{name} = bytes(data[pos:pos+16])")
    context.emit(indent, "pos += 16")


def _raw_uuids_out(_: type, /, context: Any, value: str, indent: str, *_compact: bool, **_more: bool) -> None:
    context.emit_reserve(indent, 16)
    context.emit(indent, f"buf[pos:pos+16] = {value}")
    context.emit(indent, "pos += 16")


codecs.UUID.emit_decode_from = classmethod(_raw_uuids)
codecs.UUID.emit_encode_into = classmethod(_raw_uuids_out)


def _classes() -> dict[tuple[int, Side], Any]:
    for name in ("admin", "consumer", "metadata", "producer", "sasl"):
        import_module(f"kafka.protocol.{name}")
    found: dict[tuple[int, Side], Any] = {}
    pending = list(ApiMessage.__subclasses__())
    while pending:
        each = pending.pop()
        pending += each.__subclasses__()
        if each._json is not None and each._class_version is None:
            found[each.API_KEY, each.type] = each
    return found


KAFKA_PYTHON = _classes()


def kafka_python(key: int, version: int, side: Side, data: bytes) -> Peer | None:
    """kafka-python's functions for a message; None where it has none, or does not read these bytes."""
    made = KAFKA_PYTHON.get((key, side))
    if made is None or not 0 <= version <= made.max_version:
        return None
    flexible = made.flexible_version_q(version)
    try:
        read = made._struct.compiled_decode_from(version, compact=flexible, tagged=flexible, data_class=made)
        write = made._struct.compiled_encode_into(version, compact=flexible, tagged=flexible)
        value, after = read(memoryview(data), 0)
    except Exception:  # a message that the peer cannot do has no row
        return None

    def encode() -> bytes:
        with codecs.EncodeBufferPool.acquire() as out:
            write(value, out)
            return bytes(out.result())

    return Peer(lambda: read(memoryview(data), 0), encode) if after == len(data) else None


def kio(key: int, version: int, side: Side, data: bytes) -> Peer | None:
    """kio's functions for a message; None where it has none, or does not read these bytes."""
    try:
        entity = load_request_schema(key, version) if side == "request" else load_response_schema(key, version)
        read = entity_reader(entity)
        write = entity_writer(entity)
        value, size = read(data, 0)
    except Exception:  # a message that the peer cannot do has no row
        return None

    def encode() -> bytes:
        out = io.BytesIO()
        write(out, value)
        return out.getvalue()

    return Peer(lambda: read(data, 0), encode) if size == len(data) else None
