"""Asks a broker for ApiVersions v0 on a plain socket: the only proof that it serves requests, not just accepts them."""

from __future__ import annotations

import socket
import struct

__all__ = ["answers"]

_API_VERSIONS_V0 = struct.pack(">hhih", 18, 0, 1, 2) + b"kw"


def answers(host: str, port: int, *, timeout_s: float = 2.0) -> bool:
    """Whether a Kafka listener without TLS answers ApiVersions v0 (SASL listeners do, before authentication)."""
    try:
        with socket.create_connection((host, port), timeout=timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(struct.pack(">i", len(_API_VERSIONS_V0)) + _API_VERSIONS_V0)
            (size,) = struct.unpack(">i", _exactly(connection, 4))
            correlation_id, error_code = struct.unpack_from(">ih", _exactly(connection, size))
    except (OSError, EOFError):
        return False
    return bool(correlation_id == 1 and error_code == 0)


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)
