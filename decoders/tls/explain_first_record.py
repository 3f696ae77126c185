"""The first record of a TLS connection in; its description in words, and the remedy for its alert, out."""

from __future__ import annotations

from typing import Final

from decoders.tls.read_handshake import (
    ALERTS,
    CLIENT_HELLO,
    SERVER_HELLO,
    VERSIONS,
    read_client_hello,
    read_server_hello,
)
from decoders.wire.format_and_escape_text import escape_text

__all__ = ["describe_first_tls_record", "remedy_of_alert_name", "remedy_of_tls_alert"]

_ALERT: Final = 0x15
_HANDSHAKE: Final = 0x16
_RECORDS: Final = {0x14: "change of cipher", 0x17: "encrypted data"}
_HANDSHAKES: Final = {
    0: "HelloRequest",
    4: "NewSessionTicket",
    11: "Certificate",
    16: "ClientKeyExchange",
}
# Alerts about certificates, ciphers and names; the others come from servers that were not spoken to in TLS.
_CERTIFICATE: Final = "the other side does not take the certificate: check key store, trust store and dates"
_REMEDIES: Final = {
    **dict.fromkeys((42, 43, 44, 45, 46, 48, 49, 113), _CERTIFICATE),
    40: "no cipher, certificate or name in common: check certificates, ssl.cipher.suites and the client's own",
    112: "the server has no certificate for this name: check the host name",
    116: "the server asks for a client certificate: set ssl.keystore.location",
    120: "the server speaks none of the protocols that were offered",
}


def remedy_of_tls_alert(first_record: bytes) -> str:
    """The remedy for an alert that says more than that TLS is spoken; empty for everything else."""
    return (
        _REMEDIES.get(first_record[6], "")
        if first_record[:1] == bytes([_ALERT]) and len(first_record) > 6 and first_record[3:5] == b"\0\2"
        else ""
    )


def remedy_of_alert_name(name: str) -> str:
    """The remedy for an alert by its name; empty where there is none."""
    return next((_REMEDIES[number] for number, its in ALERTS.items() if its == name and number in _REMEDIES), "")


def describe_first_tls_record(data: bytes) -> str:
    """The first record of a TLS connection in words."""
    kind = data[0] if data else -1
    if kind == _ALERT:
        if len(data) < 7:
            return "alert"
        if data[3:5] != b"\0\2":
            return "encrypted alert"
        return f"{'fatal ' if data[5] == 2 else ''}alert {ALERTS.get(data[6], data[6])}"
    if kind == _HANDSHAKE:
        if len(data) < 6:
            return f"handshake, {VERSIONS.get(_read_big_endian(data, 1, 2), 'TLS')} record"
        if data[5] == CLIENT_HELLO:
            return _describe_client_hello(data)
        if data[5] == SERVER_HELLO:
            return _describe_server_hello(data)
        return _HANDSHAKES.get(data[5], "handshake")
    return "hello in the form of SSL 2" if kind >= 0x80 else _RECORDS.get(kind, "a record")


def _read_big_endian(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")


def _describe_client_hello(data: bytes) -> str:
    """Name, versions and protocols that the client asks for."""
    hello = read_client_hello(data, 9)
    versions = [VERSIONS[number] for number in sorted(set(hello.versions) & VERSIONS.keys())]
    parts = [f"ClientHello for {escape_text(hello.server_name)}" if hello.server_name else "ClientHello"]
    if versions:
        parts.append(", ".join((versions[0], *(version.partition(" ")[2] for version in versions[1:]))))
    if hello.protocols and hello.protocols[0]:
        parts.append(f"ALPN {hello.protocols[0]}")
    return ", ".join(parts)


def _describe_server_hello(data: bytes) -> str:
    version = read_server_hello(data, 9).version
    return f"ServerHello, {VERSIONS[version]}" if version in VERSIONS else "ServerHello"
