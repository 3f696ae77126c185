"""Handshake messages in, their fields out: hellos, certificates, tickets (RFC 8446, 4; RFC 5246, 7.4); alert names.

Hellos are read as far as they go, since a capture may have only the first bytes; missing fields are empty.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from decoders.limits import TLS_HANDSHAKE_MAX
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import replace_unprintable

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

__all__ = [
    "ALERTS",
    *("CERTIFICATE", "CLIENT_HELLO", "ENCRYPTED_EXTENSIONS", "END_OF_EARLY_DATA", "FINISHED"),
    *("CertificateFacts", "ClientHello", "HandshakeMessages", "ServerHello", "read_certificate", "read_client_hello"),
    *("KEY_UPDATE", "NEW_SESSION_TICKET", "SERVER_HELLO", "TLS_1_2", "TLS_1_3", "VERSIONS"),
    *(
        "read_certificate_facts",
        "read_encrypted_extensions",
        "read_server_hello",
        "read_session_ticket",
        "printable_limited_text",
    ),
]


TLS_1_2: Final = 0x0303
TLS_1_3: Final = 0x0304
VERSIONS: Final = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1", TLS_1_2: "TLS 1.2", TLS_1_3: "TLS 1.3"}

# Types of messages.
CLIENT_HELLO: Final = 1
SERVER_HELLO: Final = 2
NEW_SESSION_TICKET: Final = 4
END_OF_EARLY_DATA: Final = 5
ENCRYPTED_EXTENSIONS: Final = 8
CERTIFICATE: Final = 11
FINISHED: Final = 20
KEY_UPDATE: Final = 24

# Extensions.
_SERVER_NAME: Final = 0
_ALPN: Final = 16
_ENCRYPT_THEN_MAC: Final = 22
_SESSION_TICKET: Final = 35
_PRE_SHARED_KEY: Final = 41
_EARLY_DATA: Final = 42
_SUPPORTED_VERSIONS: Final = 43

# The random of a ServerHello that asks for another ClientHello (RFC 8446, 4.1.3).
_RETRY: Final = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
_RANDOM_SIZE: Final = 32
# Names and subjects are shown: longer ones are cut.
_TEXT_MAX: Final = 256
# Certificates whose facts are kept: a cluster shows the same few on every connection, and reading one takes 0.1 ms.
_CERTIFICATES_MAX: Final = 128


class ClientHello(NamedTuple):
    """The fields of a ClientHello. `random` is empty where the message ends before it."""

    random: bytes
    versions: tuple[int, ...]  # as numbers, in the order of preference
    server_name: str
    protocols: tuple[str, ...]  # ALPN
    session_id: bytes
    early_data: bool
    ticket: bytes  # of TLS 1.2


class ServerHello(NamedTuple):
    """The fields of a ServerHello. `retry`: it asks for another ClientHello, and the server has chosen nothing yet."""

    random: bytes
    version: int
    suite: int
    session_id: bytes
    protocol: str  # ALPN, where the ServerHello has it (TLS 1.2)
    resumed: bool  # by a pre-shared key (TLS 1.3)
    encrypt_then_mac: bool
    retry: bool


class CertificateFacts(NamedTuple):
    """Subject and issuer of a certificate as RFC 4514 writes them, until when it is valid (RFC 3339), and for whom.

    `names`: its subject alternative names, names and addresses of hosts, with commas between them.
    """

    subject: str
    issuer: str
    expires: str
    names: str = ""


class HandshakeMessages:
    """The handshake messages of one direction; `feed` gives (type, body) of the whole ones.

    A message beyond the size limit is passed over.
    """

    __slots__ = ("rest", "skip")

    def __init__(self) -> None:
        self.rest = b""
        self.skip = 0  # bytes still to come of a message that is passed over

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Take the next bytes of the handshake; (type, body) of each message that is whole now."""
        if self.skip:
            skip = min(self.skip, len(data))
            self.skip -= skip
            data = data[skip:]
        data = self.rest + data
        found: list[tuple[int, bytes]] = []
        at = 0
        while len(data) - at >= 4:
            size = _read_big_endian(data, at + 1, 3)
            end = at + 4 + size
            if size > TLS_HANDSHAKE_MAX:
                self.skip = max(end - len(data), 0)
            elif end > len(data):
                break
            else:
                found.append((data[at], data[at + 4 : end]))
            at = min(end, len(data))
        self.rest = data[at:]
        return found

    def drop_message(self) -> None:
        """Forget the message that was begun, because bytes of it are missing."""
        self.rest, self.skip = b"", 0


def _read_big_endian(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")


def _read_extensions(data: bytes, at: int) -> list[tuple[int, int, int]]:
    """(type, start, end) of the extensions in the list whose size field is at `at`; the last may be cut."""
    found = []
    stop = min(at + 2 + _read_big_endian(data, at, 2), len(data))
    at += 2
    while at + 4 <= stop:
        start = at + 4
        end = start + _read_big_endian(data, at + 2, 2)
        found.append((_read_big_endian(data, at, 2), start, end))
        at = end
    return found


def read_client_hello(data: bytes, at: int = 0) -> ClientHello:
    """The ClientHello whose body begins at `at`."""
    random = data[at + 2 : at + 2 + _RANDOM_SIZE]
    session_at = at + 2 + _RANDOM_SIZE
    session_id = data[session_at + 1 : session_at + 1 + _read_big_endian(data, session_at, 1)]
    behind = session_at
    for width in (1, 2, 1):  # session id, cipher suites, compression methods
        behind += width + _read_big_endian(data, behind, width)
    versions: tuple[int, ...] = (_read_big_endian(data, at, 2),)
    name, early = "", False
    ticket = b""
    protocols: tuple[str, ...] = ()
    for kind, start, end in _read_extensions(data, behind):
        if kind == _SERVER_NAME and end <= len(data):
            sent = data[start + 5 : min(start + 5 + _read_big_endian(data, start + 3, 2), end)]
            name = sent[:_TEXT_MAX].decode("utf-8", "surrogateescape")  # as the client sent it, printable or not
        elif kind == _ALPN:
            protocols = _read_alpn_protocols(data, start, end)
        elif kind == _SUPPORTED_VERSIONS:
            versions = tuple(_read_big_endian(data, each, 2) for each in range(start + 1, min(end, len(data)) - 1, 2))
        elif kind == _SESSION_TICKET:
            ticket = data[start:end]
        elif kind == _EARLY_DATA:
            early = True
    whole = random if len(random) == _RANDOM_SIZE else b""
    return ClientHello(whole, versions, name, protocols, session_id, early, ticket)


def read_server_hello(data: bytes, at: int = 0) -> ServerHello:
    """The ServerHello, or HelloRetryRequest, whose body begins at `at`."""
    version = _read_big_endian(data, at, 2)
    random = data[at + 2 : at + 2 + _RANDOM_SIZE]
    session_at = at + 2 + _RANDOM_SIZE
    session_size = _read_big_endian(data, session_at, 1)
    behind = session_at + 1 + session_size
    protocol, resumed, encrypt_then_mac = "", False, False
    for kind, start, end in _read_extensions(data, behind + 3):  # cipher suite and compression method
        if kind == _SUPPORTED_VERSIONS:
            version = _read_big_endian(data, start, 2)
        elif kind == _ALPN:
            protocol = "".join(_read_alpn_protocols(data, start, end)[:1])
        elif kind == _PRE_SHARED_KEY:
            resumed = True
        elif kind == _ENCRYPT_THEN_MAC:
            encrypt_then_mac = True
    return ServerHello(
        random if len(random) == _RANDOM_SIZE else b"",
        version,
        _read_big_endian(data, behind, 2),
        data[session_at + 1 : behind],
        protocol,
        resumed,
        encrypt_then_mac,
        random == _RETRY,
    )


def read_session_ticket(message_body: bytes) -> bytes:
    """The ticket in a NewSessionTicket of TLS 1.2 (RFC 5077, 3.3); empty where the server gives none after all."""
    return message_body[6 : 6 + _read_big_endian(message_body, 4, 2)]


def read_encrypted_extensions(message_body: bytes) -> tuple[str, bool]:
    """The protocol chosen by ALPN, empty where none was, and whether early data is accepted."""
    protocol, early = "", False
    for kind, start, end in _read_extensions(message_body, 0):
        if kind == _ALPN:
            protocol = "".join(_read_alpn_protocols(message_body, start, end)[:1])
        elif kind == _EARLY_DATA:
            early = True
    return protocol, early


def read_certificate(message_body: bytes, version: int) -> bytes:
    """The first certificate of a Certificate message as DER; empty where there is none."""
    at = 0
    if version == TLS_1_3:  # a context before the list
        at = 1 + _read_big_endian(message_body, 0, 1)
    size = _read_big_endian(message_body, at + 3, 3)
    der = message_body[at + 6 : at + 6 + size]
    return der if len(der) == size else b""


@lru_cache(maxsize=_CERTIFICATES_MAX)
def read_certificate_facts(der: bytes) -> CertificateFacts | None:
    """Subject, issuer, end and names of a certificate; None where it cannot be read."""
    import warnings

    from cryptography import x509  # only where there is one: it costs start-up time
    from cryptography.utils import CryptographyDeprecationWarning

    try:
        with warnings.catch_warnings():  # about certificates that are not quite as they should be
            warnings.simplefilter("ignore", CryptographyDeprecationWarning)
            certificate = x509.load_der_x509_certificate(der)
            subject = certificate.subject.rfc4514_string()
            issuer = certificate.issuer.rfc4514_string()
            expires = certificate.not_valid_after_utc.strftime("%Y-%m-%dT%H:%M:%SZ")
            names = _read_alternative_names(certificate)
    except (ValueError, TypeError, OverflowError, x509.InvalidVersion):
        return None
    subject, issuer, names = (printable_limited_text(text.encode()) for text in (subject, issuer, names))
    return CertificateFacts(subject, issuer, expires, names)


def _read_alternative_names(certificate: Certificate) -> str:
    """The names and addresses of hosts, with commas between them; empty where there are none or they are unreadable."""
    from cryptography import x509

    unreadable = (ValueError, TypeError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, *unreadable):
        return ""
    return ", ".join(str(each.value) for each in found if isinstance(each, x509.DNSName | x509.IPAddress))


def printable_limited_text(data: bytes) -> str:
    """Bytes of a name as printable text of limited length."""
    return replace_unprintable(data, _TEXT_MAX)


def _read_alpn_protocols(data: bytes, start: int, end: int) -> tuple[str, ...]:
    """The names in an ALPN extension."""
    found: list[str] = []
    at, end = start + 2, min(end, len(data))
    while at < end:
        size = _read_big_endian(data, at, 1)
        found.append(printable_limited_text(data[at + 1 : min(at + 1 + size, end)]))
        at += 1 + size
    return tuple(found)


# Alert descriptions (RFC 8446, 6.2, and the older ones that are still met).
ALERTS: Final = {
    0: "close_notify",
    10: "unexpected_message",
    20: "bad_record_mac",
    21: "decryption_failed",
    22: "record_overflow",
    30: "decompression_failure",
    40: "handshake_failure",
    41: "no_certificate",
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
    60: "export_restriction",
    70: "protocol_version",
    71: "insufficient_security",
    80: "internal_error",
    86: "inappropriate_fallback",
    90: "user_canceled",
    100: "no_renegotiation",
    109: "missing_extension",
    110: "unsupported_extension",
    111: "certificate_unobtainable",
    112: "unrecognized_name",
    113: "bad_certificate_status_response",
    114: "bad_certificate_hash_value",
    115: "unknown_psk_identity",
    116: "certificate_required",
    120: "no_application_protocol",
    121: "ech_required",
}
