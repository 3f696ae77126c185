"""Asks a broker in plain words: ApiVersions, the only proof that it serves requests, and Metadata for whom it knows."""

from __future__ import annotations

import socket
import struct

from decoders import DecodeError, decode_response, encode_request
from decoders.apis.keys import API_VERSIONS, METADATA

__all__ = ["answers", "brokers_known"]

_METADATA_VERSION = 4  # it makes no topics
# More than nine brokers say; another program may have the port by now.
_ANSWER_MAX = 1 << 20


def answers(host: str, port: int, *, timeout_s: float = 2.0) -> bool:
    """Whether a Kafka listener without TLS answers ApiVersions v0 (SASL listeners do, before authentication)."""
    try:
        frame = _asked(host, port, encode_request(API_VERSIONS, 0, {}, correlation_id=1, client_id="kw"), timeout_s)
        correlation_id, error_code = struct.unpack_from(">ih", frame)
    except (OSError, EOFError, struct.error):
        return False
    return bool(correlation_id == 1 and error_code == 0)


def brokers_known(host: str, port: int, *, timeout_s: float = 2.0) -> set[int]:
    """The ids of the brokers that the one on a listener without TLS and SASL knows; none while it does not answer."""
    request = {"topics": [], "allow_auto_topic_creation": False}
    try:
        frame = _asked(
            host,
            port,
            encode_request(METADATA, _METADATA_VERSION, request, correlation_id=1, client_id="kw"),
            timeout_s,
        )
        body = decode_response(frame, METADATA, _METADATA_VERSION).body
    except (OSError, EOFError, DecodeError):
        return set()
    return {row["node_id"] for row in body["brokers"]}


def _asked(host: str, port: int, request: bytes, timeout_s: float) -> bytes:
    """The frame that answers a frame, without its size."""
    with socket.create_connection((host, port), timeout=timeout_s) as connection:
        connection.settimeout(timeout_s)
        connection.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", _exactly(connection, 4))
        if not 4 <= size <= _ANSWER_MAX:
            raise EOFError
        return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)
