"""The first bytes of a TLS stream in, what they say in a few words out: which hello, for whom, which alert (RFC 8446).

Everything may be cut off anywhere: what is not there is not told.
"""

from __future__ import annotations

from typing import Final

VERSIONS: Final = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1", 0x0303: "TLS 1.2", 0x0304: "TLS 1.3"}
_ALERT: Final = 0x15
_HANDSHAKE: Final = 0x16
_CLIENT_HELLO: Final = 1
_RECORDS: Final = {0x14: "change of cipher", 0x17: "encrypted data"}
_HANDSHAKES: Final = {
    0: "HelloRequest",
    2: "ServerHello",
    4: "NewSessionTicket",
    11: "Certificate",
    16: "ClientKeyExchange",
}
_SERVER_NAME, _ALPN, _SUPPORTED_VERSIONS = 0, 16, 43
# Alert descriptions (RFC 8446, 6.2, and the older ones that are still met).
ALERTS: Final = {
    0: "close_notify",
    10: "unexpected_message",
    20: "bad_record_mac",
    22: "record_overflow",
    40: "handshake_failure",
    42: "bad_certificate",
    43: "unsupported_certificate",
    44: "certificate_revoked",
    45: "certificate_expired",
    46: "certificate_unknown",
    47: "illegal_parameter",
    48: "unknown_ca",
    49: "access_denied",
    50: "decode_error",
    51: "decrypt_error",
    70: "protocol_version",
    71: "insufficient_security",
    80: "internal_error",
    86: "inappropriate_fallback",
    90: "user_canceled",
    109: "missing_extension",
    110: "unsupported_extension",
    112: "unrecognized_name",
    113: "bad_certificate_status_response",
    115: "unknown_psk_identity",
    116: "certificate_required",
    120: "no_application_protocol",
}
# What the alerts say about certificates and versions; the others come from servers that were not spoken to in TLS.
_CERTIFICATE: Final = "the other side does not take the certificate: check key store, trust store and dates"
_REMEDIES: Final = {
    **dict.fromkeys((42, 43, 44, 45, 46, 48, 49, 113), _CERTIFICATE),
    40: "no cipher, certificate or name in common: check certificates, ssl.cipher.suites and the client's own",
    112: "the server has no certificate for this name: check the host name",
    116: "the server asks for a client certificate: set ssl.keystore.location",
    120: "the server speaks none of the protocols that were offered",
}


def remedy_of_tls(data: bytes) -> str:
    """What one does about an alert that says more than that TLS is spoken; empty for all else."""
    return _REMEDIES.get(data[6], "") if data[:1] == bytes([_ALERT]) and len(data) > 6 and data[3:5] == b"\0\2" else ""


def tell_tls(data: bytes) -> str:
    """What the first record is."""
    kind = data[0] if data else -1
    if kind == _ALERT:
        if len(data) < 7:
            return "alert"
        if data[3:5] != b"\0\2":
            return "encrypted alert"
        return f"{'fatal ' if data[5] == 2 else ''}alert {ALERTS.get(data[6], data[6])}"
    if kind == _HANDSHAKE:
        if len(data) < 6:
            return f"handshake, {VERSIONS.get(_number(data, 1, 2), 'TLS')} record"
        if data[5] == _CLIENT_HELLO:
            return _client_hello(data)
        if data[5] == 2:
            return _server_hello(data)
        return _HANDSHAKES.get(data[5], "handshake")
    return "hello in the form of SSL 2" if kind >= 0x80 else _RECORDS.get(kind, "a record")


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")


def _client_hello(data: bytes) -> str:
    """Name, versions and protocols that the client asks for."""
    offered, name, protocols = [_number(data, 9, 2)], "", ""
    for kind, start, end in _extensions(data, 43, (1, 2, 1)):  # session id, cipher suites, compression methods
        if kind == _SERVER_NAME and end <= len(data):
            size = _number(data, start + 3, 2)
            name = data[start + 5 : start + 5 + size].decode("ascii", "replace")
        elif kind == _ALPN:
            protocols = data[start + 3 : start + 3 + _number(data, start + 2, 1)].decode("ascii", "replace")
        elif kind == _SUPPORTED_VERSIONS:
            offered = [_number(data, at, 2) for at in range(start + 1, min(end, len(data)) - 1, 2)]
    versions = [VERSIONS[number] for number in sorted(set(offered) & VERSIONS.keys())]
    parts = [f"ClientHello for {name}" if name.isprintable() and name else "ClientHello"]
    if versions:
        parts.append(", ".join((versions[0], *(version.partition(" ")[2] for version in versions[1:]))))
    if protocols.isprintable() and protocols:
        parts.append(f"ALPN {protocols}")
    return ", ".join(parts)


def _server_hello(data: bytes) -> str:
    version = _number(data, 9, 2)
    for kind, start, _ in _extensions(data, 43, (1,), 3):  # session id; then cipher suite and compression method
        if kind == _SUPPORTED_VERSIONS:
            version = _number(data, start, 2)
    return f"ServerHello, {VERSIONS[version]}" if version in VERSIONS else "ServerHello"


def _extensions(data: bytes, at: int, sized: tuple[int, ...], fixed: int = 0) -> list[tuple[int, int, int]]:
    """(type, start, end) of the extensions of a hello, behind what has a size before it and what has a fixed size."""
    for width in sized:
        at += width + _number(data, at, width)
    at += fixed + 2
    found = []
    while at + 4 <= len(data):
        start = at + 4
        end = start + _number(data, at + 2, 2)
        found.append((_number(data, at, 2), start, end))
        at = end
    return found
