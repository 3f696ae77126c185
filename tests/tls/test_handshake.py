"""Handshake messages: their content, cut anywhere, and those of a real OpenSSL."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from decoders.tls.cipher_suites import find_suite
from decoders.tls.read_handshake import (
    CLIENT_HELLO,
    TLS_1_2,
    TLS_1_3,
    HandshakeMessages,
    read_certificate,
    read_certificate_facts,
    read_client_hello,
    read_encrypted_extensions,
    read_server_hello,
)
from decoders.tls.tls_facts import TlsFacts
from tests.net.certificates import make_self_signed


def openssl_hello(*, most: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> bytes:
    """The first record that a client sends."""
    context = ssl.create_default_context()
    context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1_2, most  # whatever the system offers
    context.set_alpn_protocols(["h2", "kafka"])
    written, reader = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(reader, written, server_hostname="kafka1.example")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return written.read()


@pytest.mark.parametrize(
    ("most", "versions"), [(ssl.TLSVersion.TLSv1_3, (TLS_1_3, TLS_1_2)), (ssl.TLSVersion.TLSv1_2, (TLS_1_2,))]
)
def test_a_client_hello_of_openssl(most: ssl.TLSVersion, versions: tuple[int, ...]) -> None:
    record = openssl_hello(most=most)
    [(kind, body)] = HandshakeMessages().feed(record[5:])
    hello = read_client_hello(body)
    assert kind == CLIENT_HELLO
    assert (hello.versions, hello.server_name, hello.protocols) == (versions, "kafka1.example", ("h2", "kafka"))
    assert (hello.random, hello.early_data) == (body[2:34], False)


# version, random, session id, suite, compression, extensions: supported_versions, key_share, pre_shared_key
SERVER_13 = bytes.fromhex("0303" + "11" * 32 + "02aabb" + "1302" + "00" + "0010" + "002b00020304" + "0029000200003305")
SERVER_12 = bytes.fromhex(
    "0303" + "22" * 32 + "00" + "c02f" + "00" + "000d" + "00160000" + "0010000500030268 32".replace(" ", "")
)


def test_server_hellos() -> None:
    hello = read_server_hello(SERVER_13)
    assert (hello.version, hello.suite, hello.session_id) == (TLS_1_3, 0x1302, b"\xaa\xbb")
    assert (hello.resumed, hello.encrypt_then_mac, hello.protocol, hello.retry) == (True, False, "", False)
    hello = read_server_hello(SERVER_12)
    assert (hello.version, hello.suite, hello.session_id) == (TLS_1_2, 0xC02F, b"")
    assert (hello.resumed, hello.encrypt_then_mac, hello.protocol, hello.retry) == (False, True, "h2", False)
    retry = SERVER_13.replace(
        b"\x11" * 32, bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
    )
    assert read_server_hello(retry).retry


def test_encrypted_extensions() -> None:
    assert read_encrypted_extensions(bytes.fromhex("0000")) == ("", False)
    assert read_encrypted_extensions(bytes.fromhex("000d 0010 0005 0003 02 6832 002a 0000")) == ("h2", True)


def test_names_that_a_terminal_would_take_for_commands_are_kept_but_not_said() -> None:
    hello = bytes.fromhex(
        "0303" + "11" * 32 + "00" + "00021301" + "0100" + "000d" + "00000009000700 0004 1b5b324a".replace(" ", "")
    )
    facts = TlsFacts()
    facts.take_client_hello(read_client_hello(hello), 0)
    assert facts.sni == "\x1b[2J"
    assert r"for \x1b[2J" in facts.describe_in_one_line()


@pytest.fixture(scope="module")
def certificate() -> bytes:
    return make_self_signed("kafka1").der


def test_a_certificate(certificate: bytes) -> None:
    size = len(certificate).to_bytes(3, "big")
    lists = (3 + len(certificate)).to_bytes(3, "big")
    assert read_certificate(lists + size + certificate, TLS_1_2) == certificate
    assert read_certificate(b"\0" + lists + size + certificate + b"\0\0", TLS_1_3) == certificate
    assert read_certificate(b"\0\0\0", TLS_1_2) == b""
    assert read_certificate(b"\0\0\0\0", TLS_1_3) == b""
    facts = read_certificate_facts(certificate)
    assert facts is not None
    assert (facts.subject, facts.issuer) == ("CN=kafka1,O=Example", "CN=kafka1,O=Example")
    assert facts.expires.startswith("20")
    assert read_certificate_facts(certificate[:-1]) is None


def make_certificate_with_names(names: bytes) -> bytes:
    """A certificate whose extension of subject alternative names has these bytes."""
    key = Ed25519PrivateKey.generate()
    who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "kafka1")])
    made = x509.CertificateBuilder(who, who, key.public_key(), 5)
    made = made.not_valid_before(datetime(2024, 1, 1, tzinfo=UTC)).not_valid_after(datetime(2030, 1, 1, tzinfo=UTC))
    made = made.add_extension(x509.UnrecognizedExtension(x509.ObjectIdentifier("2.5.29.17"), names), critical=False)
    return made.sign(key, None).public_bytes(Encoding.DER)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("300382016b", "k"),  # dNSName
        ("3000", ""),
        ("3002a300", ""),  # x400Address
        ("3004a502a100", ""),  # ediPartyName
        ("300587030a0000", ""),  # iPAddress of three bytes
        ("30038201ff", ""),  # dNSName that is no ASCII
        ("3003880180", ""),  # registeredID that is no object identifier
        ("3082", ""),  # cut
    ],
)
def test_unreadable_alternative_names_leave_the_other_facts(names: str, said: str) -> None:
    facts = read_certificate_facts(make_certificate_with_names(bytes.fromhex(names)))
    assert facts is not None
    assert (facts.subject, facts.expires, facts.names) == ("CN=kafka1", "2030-01-01T00:00:00Z", said)


@given(st.lists(st.binary(max_size=300), max_size=6), st.data())
def test_messages_come_whole_whatever_the_cut(bodies: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(bytes([kind]) + len(body).to_bytes(3, "big") + body for kind, body in enumerate(bodies))
    places = [0, *sorted(data.draw(st.lists(st.integers(0, len(stream))))), len(stream)]
    messages = HandshakeMessages()
    found = [each for begin, end in pairwise(places) for each in messages.feed(stream[begin:end])]
    assert found == list(enumerate(bodies))
    assert messages.rest == b""


def test_a_message_beyond_the_limit_is_passed_over() -> None:
    messages = HandshakeMessages()
    size = 300 * 1024
    assert messages.feed(b"\x0b" + size.to_bytes(3, "big") + bytes(100_000)) == []
    assert messages.rest == b""
    assert messages.feed(bytes(size - 100_000) + b"\x14\0\0\1x") == [(20, b"x")]


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes) -> None:
    hello = read_client_hello(data)
    assert len(hello.random) in (0, 32)
    assert read_server_hello(data).suite <= 0xFFFF
    read_encrypted_extensions(data)
    assert len(read_certificate(data, TLS_1_2)) <= len(data)
    assert len(read_certificate(data, TLS_1_3)) <= len(data)
    assert read_certificate_facts(data) is None


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl")
def test_the_names_of_the_suites_are_those_of_openssl() -> None:
    text = subprocess.run(
        ["openssl", "ciphers", "-V", "-stdname", "ALL:COMPLEMENTOFALL:@SECLEVEL=0"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = {int(line[:20].replace(",0x", ""), 16): line.split()[2] for line in text.splitlines()}
    ours = {number: find_suite(number) for number in names}
    wrong = [
        (suite.name, names[number])
        for number, suite in ours.items()
        if suite.name not in (names[number], f"0x{number:04X}")
    ]
    assert wrong == []
    assert len([suite for suite in ours.values() if suite.kind]) > 80
    unread = [
        names[number]
        for number, suite in ours.items()
        if not suite.kind and "AES" in names[number] and "ARIA" not in names[number]
    ]
    # Suites that no Kafka client has: SRP, and pre-shared keys with RSA.
    assert {name.partition("_WITH_")[0] for name in unread} <= {
        "TLS_RSA_PSK",
        "TLS_PSK_DHE",
        "TLS_SRP_SHA",
        "TLS_SRP_SHA_DSS",
        "TLS_SRP_SHA_RSA",
    }
