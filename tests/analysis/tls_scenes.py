"""Scenes of TLS handshakes in clear, with the certificates of brokers: for test_doctor.py."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from decoders.protocol_facts.api_keys import METADATA
from tests.analysis.scenes import FIN, Scene

# A hello that offers TLS 1.2, and the one that takes it.
_HELLO: Final = bytes.fromhex("160303002d010000290303") + bytes(33) + bytes.fromhex("0002c030" + "0100")
_SERVER_HELLO: Final = bytes.fromhex("160303002a020000260303") + bytes(33) + bytes.fromhex("c02f00")
_BAD_CERTIFICATE: Final = bytes([0x15, 3, 3, 0, 2, 2, 42])
_UNKNOWN_CA: Final = bytes([0x15, 3, 3, 0, 2, 2, 48])


@cache
def _show_certificate(*hosts: str, issuer: str = "Shop CA") -> bytes:
    """A hello of a broker and its certificate, for some hosts and addresses, as records of TLS."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject, authority = (
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]) for name in ("kafka-2", issuer)
    )
    names = [x509.DNSName(host) if host[-1].isalpha() else x509.IPAddress(ip_address(host)) for host in hosts]
    made = x509.CertificateBuilder(authority, subject, key.public_key(), 5).add_extension(
        x509.SubjectAlternativeName(names), critical=False
    )
    made = made.not_valid_before(datetime(2026, 1, 1, tzinfo=UTC)).not_valid_after(datetime(2036, 1, 1, tzinfo=UTC))
    der = made.sign(key, SHA256()).public_bytes(Encoding.DER)
    body = b"".join((len(der) + 3 * more).to_bytes(3, "big") for more in (1, 0)) + der
    message = b"\x0b" + len(body).to_bytes(3, "big") + body
    return _SERVER_HELLO + bytes([0x16, 3, 3]) + len(message).to_bytes(2, "big") + message


def handshakes(
    first: bytes,
    then: bytes,
    *clients: str,
    alert: bytes = _BAD_CERTIFICATE,
    at: str = "127.0.0.72:21786",
    others: str = "127.0.0.71:21785",
    hosts: tuple[str, ...] = ("127.0.0.71", "127.0.0.72"),
) -> Scene:
    """Clients of two brokers that break off the handshake with one (`at`) from its second certificate on.

    Between brokers the cluster speaks plaintext. One more client looks at no certificate.
    """
    nodes = [{"node_id": number, "host": host, "port": 9092} for number, host in enumerate(hosts)]
    scene = Scene(None)
    for host in hosts:
        where = f"{host}:9092"
        scene.ask(0, (METADATA, 9), {}, {"brokers": nodes, "topics": []}, broker=where, host="127.0.0.73")
    for client in clients:
        scene.speak(1, _HELLO, _show_certificate("127.0.0.71"), host=client, broker=others, ends=FIN, lasts=60)
        scene.speak(1, _HELLO, first, host=client, broker=at, ends=FIN, lasts=20)
        for number in range(3):
            scene.speak(30 + number, _HELLO, then, then=alert, host=client, broker=at, ends=FIN)
    return scene.speak(29, _HELLO, then, host="127.0.0.85", broker=at, ends=FIN, lasts=30)


_GOOD: Final = _show_certificate("kafka-2.shop", "127.0.0.72")
_NAMELESS: Final = _show_certificate("kafka-2.shop", "kafka-2.shop.svc")
TLS_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    (
        *("tls-refused", handshakes(_GOOD, _NAMELESS, "127.0.0.83", "127.0.0.84"), "error"),
        "127.0.0.83, 127.0.0.84 break off the TLS handshake with 127.0.0.72:21786 (bad_certificate), as they refuse the"
        " certificate of CN=kafka-2, which is for kafka-2.shop, kafka-2.shop.svc, and not, as the one before it, for"
        " 127.0.0.72: 6 connections",
    ),
    # A cluster of one node, at an address of its own.
    (
        *("tls-refused", handshakes(_NAMELESS, _NAMELESS, "127.0.0.83", others="127.0.0.90:443"), "error"),
        "127.0.0.83 breaks off the TLS handshake with 127.0.0.72:21786 (bad_certificate), as it refuses the",
    ),
    (
        *("tls-refused", handshakes(_NAMELESS, _NAMELESS, "127.0.0.83"), "error"),
        "127.0.0.83 breaks off the TLS handshake with 127.0.0.72:21786 (bad_certificate), as it refuses the certificate"
        " of CN=kafka-2, which is for kafka-2.shop, kafka-2.shop.svc: 3 connections",
    ),
    (
        *(
            "tls-refused",
            handshakes(_GOOD, _show_certificate("127.0.0.72", issuer="New CA"), "127.0.0.83", alert=_UNKNOWN_CA),
        ),
        "error",
        "(unknown_ca), as it refuses the certificate of CN=kafka-2, issued by CN=New CA and not, as the one before it,"
        " by CN=Shop CA: 3",
    ),
]
TLS_NEAR: Final[list[tuple[str, Scene]]] = [
    # Other programs of a machine that has one broker.
    (
        "tls-refused",
        handshakes(
            *(_GOOD, _NAMELESS, "127.0.0.83"), at="127.0.0.1:8443", others="127.0.0.1:8444", hosts=("127.0.0.1",)
        ),
    ),
    # An orderly end.
    ("tls-refused", handshakes(_GOOD, _NAMELESS, "127.0.0.83", alert=bytes.fromhex("15030300020100"))),
]
