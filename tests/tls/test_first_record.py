"""The first record of a connection in words, for each kind of record and cut off anywhere in its head."""

from __future__ import annotations

import pytest

from decoders.tls.explain_first_record import describe_first_tls_record, remedy_of_tls_alert

CERTIFICATE = "the other side does not take the certificate: check key store, trust store and dates"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("", "a record"),
        ("15 0303 0002 02", "alert"),
        ("15 0303 0002 02 28", "fatal alert handshake_failure"),
        ("15 0303 0002 01 00", "alert close_notify"),
        ("15 0303 0002 02 fa", "fatal alert 250"),
        ("15 0303 0012 02 28", "encrypted alert"),
        ("16 0303", "handshake, TLS 1.2 record"),
        ("16 0301 0100", "handshake, TLS 1.0 record"),
        ("16 0909 0100", "handshake, TLS record"),
        ("16 0303 0004 00", "HelloRequest"),
        ("16 0303 0004 04", "NewSessionTicket"),
        ("16 0303 0004 0b", "Certificate"),
        ("16 0303 0004 10", "ClientKeyExchange"),
        ("16 0303 0004 63", "handshake"),
        ("14 0303 0001 01", "change of cipher"),
        ("17 0303 0010", "encrypted data"),
        ("18 0303 0010", "a record"),
        ("80 2e 01 0301", "hello in the form of SSL 2"),
        ("7f 2e 01 0301", "a record"),
    ],
)
def test_words_of_a_record(data: str, text: str) -> None:
    assert describe_first_tls_record(bytes.fromhex(data)) == text


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (0, ""),
        (40, "no cipher, certificate or name in common: check certificates, ssl.cipher.suites and the client's own"),
        (41, ""),
        *((number, CERTIFICATE) for number in (42, 43, 44, 45, 46, 48, 49, 113)),
        (47, ""),
        (50, ""),
        (112, "the server has no certificate for this name: check the host name"),
        (114, ""),
        (116, "the server asks for a client certificate: set ssl.keystore.location"),
        (120, "the server speaks none of the protocols that were offered"),
    ],
)
def test_alerts_about_certificates_and_names_have_a_remedy(number: int, remedy: str) -> None:
    record = bytes.fromhex("15 0303 0002 02") + bytes([number])
    assert remedy_of_tls_alert(record) == remedy
    assert [remedy_of_tls_alert(record[:size]) for size in range(7)] == [""] * 7
    assert remedy_of_tls_alert(b"\x16" + record[1:]) == ""
    assert remedy_of_tls_alert(record[:4] + b"\3" + record[5:]) == ""
