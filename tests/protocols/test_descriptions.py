"""First bytes of other protocols in words, without what may be a secret."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from decoders.protocols import recognise_protocols as p


@pytest.mark.parametrize(
    ("describe", "data", "text"),
    [
        (p.describe_first_line, b"EHLO x\r\nmore", "EHLO x"),
        (p.describe_first_line, b"x" * 81, "x" * 80),
        (p.describe_http1, b"GET /a?token=1 HTTP/1.1\r\n", "GET /a"),
        (p.describe_http1, b"HTTP/1.1 400 Bad Request\r\n", "answer 400 Bad Request"),
        (p.describe_ssh, b"SSH-2.0-OpenSSH_9\r\n", "2.0-OpenSSH_9"),
        (p.describe_amqp, b"AMQP\0\0\x09\x01", "version 0.9.1"),
        (p.describe_amqp, b"AMQP\0\0\x09", ""),
        (p.describe_proxy, b"PROXY TCP4 1.2.3.4\r\n", "version 1, TCP4 1.2.3.4"),
        (p.describe_proxy, bytes(13) + b"\x11", "version 2, TCP over IPv4"),
        (p.describe_proxy, bytes(13) + b"\x21", "version 2, TCP over IPv6"),
        (p.describe_proxy, bytes(13) + b"\x31", "version 2, another family"),
        (p.describe_proxy, bytes(13), "version 2"),
        (p.describe_mqtt, b"\x10\x10\0\4MQTT\x04", "CONNECT 3.1.1"),
        (p.describe_mqtt, b"\x10\x10\0\6MQIsdp\x03", "CONNECT 3.1"),
        (p.describe_mqtt, b"\x10\x10\0\4MQTT\x05", "CONNECT 5.0"),
        (p.describe_mqtt, b"\x10\x10\0\4MQTT\x06", "CONNECT"),
        (p.describe_mqtt, b"\x10\x10\0\4MQTT", "CONNECT"),
        (p.describe_mysql, b"\x4a\0\0\0\x0a8.0.36\0rest", "server's greeting, 8.0.36"),
        (p.describe_mysql, b"\x4a\0\0\0\x0a" + b"8" * 41, f"server's greeting, {'8' * 40}"),
        (p.describe_redis, b"*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n", "command AUTH"),
        (p.describe_redis, b"*2\r\n$4\r\nAUTH", ""),
        (p.describe_redis, b"*2\r\n:4\r\nAUTH\r\n", ""),
        (p.describe_redis, b"*2\r\n$4\r\nAU H\r\n", ""),
        (p.describe_redis, b"*1\r\n$21\r\n" + b"A" * 21 + b"\r\n", f"command {'A' * 20}"),
        (p.describe_redis, b"-ERR no\r\nx", "answer -ERR no"),
        (p.describe_redis, b"+OK\r\n", "answer +OK"),
        (p.describe_redis, b":1\r\n", ""),
        (p.describe_mongodb, bytes(12) + (2013).to_bytes(4, "little"), "OP_MSG"),
        (p.describe_mongodb, bytes(12) + (2004).to_bytes(4, "little"), "OP_QUERY"),
        (p.describe_mongodb, bytes(12) + (2012).to_bytes(4, "little"), "OP_COMPRESSED"),
        (p.describe_mongodb, bytes(12) + (1).to_bytes(4, "little"), "OP_REPLY"),
        (p.describe_mongodb, bytes(16), ""),
        (p.describe_postgresql, b"E\0\0\0\x20SFATAL\0Mno such role\0\0", "error no such role"),
        (p.describe_postgresql, b"E\0\0\0\x20SFATAL\0\0", "error"),
        (p.describe_postgresql, bytes(4) + (196608).to_bytes(4, "big"), "start-up packet, protocol 3.0"),
        (p.describe_postgresql, bytes(4) + (196610).to_bytes(4, "big"), "start-up packet, protocol 3.2"),
        (p.describe_postgresql, bytes(4) + (80877102).to_bytes(4, "big"), "cancel request"),
        (p.describe_postgresql, bytes(4) + (80877103).to_bytes(4, "big"), "request for TLS"),
        (p.describe_postgresql, bytes(4) + (80877104).to_bytes(4, "big"), "request for GSSAPI"),
        (p.describe_postgresql, bytes(8), ""),
        (p.describe_zookeeper, b"ruok", "word ruok"),
        (p.describe_zookeeper, b"Zookeeper version: 3.8\nmore", "Zookeeper version: 3.8"),
        (p.describe_zookeeper, b"\0\0\0\x2c", "connect request"),
        (p.describe_zookeeper, b"\0\0\0\x2d", "connect request"),
        (p.describe_zookeeper, b"\0\0\0\x2e", "connect response"),
    ],
)
def test_a_description(describe: Callable[[bytes], str], data: bytes, text: str) -> None:
    found = describe(data)
    assert found.rstrip("…") == text.rstrip("…")
