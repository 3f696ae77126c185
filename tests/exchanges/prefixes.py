"""Prefixes of connections, as turns: PROXY heads, SOCKS, HTTP CONNECT, built by code."""

from __future__ import annotations

import google_crc32c

from tests.exchanges.talks import Turns, request, response

PROXY_1 = b"PROXY TCP4 203.0.113.7 10.0.0.2 55555 9092\r\n"
SIGNATURE = bytes.fromhex("0d0a 0d0a 000d 0a51 5549 540a")


def proxy_2(command: int, family: int, addresses: bytes, tlvs: bytes = b"") -> bytes:
    """A PROXY head of version 2; `command` 0 is LOCAL, `family` with the transport protocol."""
    size = len(addresses) + len(tlvs)
    return SIGNATURE + bytes([0x20 | command, family]) + size.to_bytes(2, "big") + addresses + tlvs


def tlv(kind: int, value: bytes) -> bytes:
    """A TLV of a PROXY head."""
    return bytes([kind]) + len(value).to_bytes(2, "big") + value


FOUR = bytes([203, 0, 113, 7, 10, 0, 0, 2]) + (55555).to_bytes(2, "big") + (9092).to_bytes(2, "big")
SIX = bytes.fromhex("20010db8 00000000 00000000 00000007 20010db8 00000000 00000000 00000002 d903 2384")
TLVS = tlv(0x02, b"kafka.example") + tlv(0xEA, b"\x01vpce-0123456789abcdef0")


def with_checksum(command: int, family: int, addresses: bytes, tlvs: bytes) -> bytes:
    """A head with the TLV of its CRC32C, computed with that field as zeros."""
    blank = proxy_2(command, family, addresses, tlvs + tlv(0x03, bytes(4)))
    checksum: int = google_crc32c.value(blank)
    return blank[:-4] + checksum.to_bytes(4, "big")


SOCKS_5_TO = b"\x05\x01\x00\x03\x06kafka1\x23\x84"
SOCKS_5_DONE = b"\x05\x00\x00\x01\x0a\x00\x00\x02\x9c\x41"
CONNECT = b"CONNECT kafka1:9092 HTTP/1.1\r\nHost: kafka1:9092\r\n\r\n"
CONNECT_AGAIN = b"CONNECT kafka1:9092 HTTP/1.1\r\nHost: kafka1:9092\r\nProxy-Authorization: Basic YTpi\r\n\r\n"
CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
PASSWORD = b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 6\r\n\r\nno way"
CHUNKED = b"HTTP/1.1 407 Password\r\ntransfer-encoding: chunked\r\n\r\n6\r\nno way\r\n0\r\n\r\n"

# Name → turns, the client that it names (empty: none), the target, its protocol.
PREFIXES: dict[str, tuple[Turns, str, str, str]] = {
    "proxy 1": ([(True, PROXY_1)], "203.0.113.7:55555", "10.0.0.2:9092", "PROXY 1"),
    "proxy 1, six": (
        [(True, b"PROXY TCP6 2001:db8::7 2001:db8::2 55555 9092\r\n")],
        "[2001:db8::7]:55555",
        "[2001:db8::2]:9092",
        "PROXY 1",
    ),
    "proxy 1, unknown": ([(True, b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n")], "", "", "PROXY 1"),
    "proxy 2": ([(True, proxy_2(1, 0x11, FOUR))], "203.0.113.7:55555", "10.0.0.2:9092", "PROXY 2"),
    "proxy 2, six": ([(True, proxy_2(1, 0x21, SIX))], "[2001:db8::7]:55555", "[2001:db8::2]:9092", "PROXY 2"),
    "proxy 2, tlvs": ([(True, proxy_2(1, 0x11, FOUR, TLVS))], "203.0.113.7:55555", "10.0.0.2:9092", "PROXY 2"),
    "proxy 2, crc": ([(True, with_checksum(1, 0x11, FOUR, TLVS))], "203.0.113.7:55555", "10.0.0.2:9092", "PROXY 2"),
    "proxy 2, local": ([(True, proxy_2(0, 0x00, b""))], "", "", "PROXY 2"),
    "proxy 2, local with addresses": ([(True, proxy_2(0, 0x11, FOUR))], "", "", "PROXY 2"),
    "proxy 2, unix": ([(True, proxy_2(1, 0x31, b"/a".ljust(108, b"\0") * 2))], "", "", "PROXY 2"),
    "proxy 2, unspecified": ([(True, proxy_2(1, 0x00, b"abc"))], "", "", "PROXY 2"),
    "two heads": (
        [(True, proxy_2(1, 0x11, bytes([10, 9, 9, 9]) + FOUR[4:])), (True, PROXY_1)],
        "203.0.113.7:55555",
        "10.0.0.2:9092",
        "PROXY 2 > PROXY 1",
    ),
    "socks 4": (
        [(True, b"\x04\x01\x23\x84\x0a\x00\x00\x02me\x00"), (False, b"\x00\x5a" + bytes(6))],
        "",
        "10.0.0.2:9092",
        "SOCKS 4",
    ),
    "socks 4a": (
        [(True, b"\x04\x01\x23\x84\x00\x00\x00\x01\x00kafka1\x00"), (False, b"\x00\x5a" + bytes(6))],
        "",
        "kafka1:9092",
        "SOCKS 4a",
    ),
    "socks 5": (
        [(True, b"\x05\x01\x00"), (False, b"\x05\x00"), (True, SOCKS_5_TO), (False, SOCKS_5_DONE)],
        "",
        "kafka1:9092",
        "SOCKS 5",
    ),
    "socks 5, password": (
        [
            *[(True, b"\x05\x02\x00\x02"), (False, b"\x05\x02"), (True, b"\x01\x01a\x02bc"), (False, b"\x01\x00")],
            *[(True, SOCKS_5_TO), (False, SOCKS_5_DONE)],
        ],
        "",
        "kafka1:9092",
        "SOCKS 5",
    ),
    "connect": ([(True, CONNECT), (False, CONNECTED)], "", "kafka1:9092", "CONNECT"),
    "connect, 407 first": (
        [(True, CONNECT), (False, PASSWORD), (True, CONNECT_AGAIN), (False, CONNECTED)],
        "",
        "kafka1:9092",
        "CONNECT",
    ),
    "connect, chunked 407": (
        [(True, CONNECT), (False, CHUNKED), (True, CONNECT_AGAIN), (False, CONNECTED)],
        "",
        "kafka1:9092",
        "CONNECT",
    ),
    "proxy and connect": (
        [(True, PROXY_1), (True, CONNECT), (False, CONNECTED)],
        "203.0.113.7:55555",
        "kafka1:9092",
        "PROXY 1 > CONNECT",
    ),
}
# Name → turns of prefixes that are refused, or no prefixes at all, and what kw says of the connection.
REFUSED: dict[str, tuple[Turns, str]] = {
    "connect": ([(True, CONNECT), (False, b"HTTP/1.1 403 Forbidden\r\n\r\n")], "HTTP/1: CONNECT kafka1:9092"),
    "connect, password": ([(True, CONNECT), (False, PASSWORD)], "HTTP/1: CONNECT kafka1:9092"),
    "socks 5": (
        [(True, b"\x05\x01\x00"), (False, b"\x05\x00"), (True, SOCKS_5_TO), (False, b"\x05\x05\x00\x01" + bytes(6))],
        "SOCKS: version 5, answered by connection refused",
    ),
    "socks 5, no method": ([(True, b"\x05\x01\x00"), (False, b"\x05\xff")], "SOCKS: version 5, answered by no method"),
    "socks 4": (
        [(True, b"\x04\x01\x23\x84\x0a\x00\x00\x02me\x00"), (False, b"\x00\x5b" + bytes(6))],
        "SOCKS: version 4",
    ),
    "proxy 1 alone": ([(True, PROXY_1)], "PROXY protocol: version 1, TCP4 203.0.113.7 10.0.0.2 55555 9092"),
    "local alone": ([(True, proxy_2(0, 0, b""))], "PROXY protocol: version 2, another family"),
    "another version": ([(True, SIGNATURE + b"\x31\x11\0\0")], "PROXY protocol: version 2, TCP over IPv4"),
    "a web server": ([(True, PROXY_1), (True, b"GET / HTTP/1.1\r\n\r\n")], "HTTP/1: GET /"),
}


def kafka() -> Turns:
    """Three exchanges."""
    asked: Turns = []
    for correlation_id in (1, 2, 3):
        asked.append((True, request(3, 9, correlation_id, "app-1", {"topics": None})))
        asked.append((False, response(3, 9, correlation_id, {"cluster_id": "c"})))
    return asked
