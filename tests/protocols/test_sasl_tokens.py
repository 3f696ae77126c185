"""Tokens of each SASL mechanism, and bytes that nearly are some: the mechanism, and words without a secret."""

from __future__ import annotations

import pytest

from decoders.protocols.recognise_sasl_tokens import find_sasl_token

KERBEROS = "2a864886f712010202"


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        (b"", None),
        (b"n,,\x01auth=Bearer abc", "client's first message, with a bearer token"),
        (b"n,a=alice,\x01host=h\x01port=1\x01auth=bearer abc", "client's first message, with a bearer token"),
        (b"n,,auth=Bearer abc", None),
        (b"n,,n=alice,r=abc", "client's first message, user alice"),
        (b"y,a=bob,n=al=2Cice,r=abc", "client's first message, user al=2Cice"),
        (b"p=tls-unique,,m=x,n=alice,r=abc", "client's first message, user alice"),
        (b"n,,n=alice,r=", None),
        (b"x,,n=alice,r=abc", None),
        (b"r=abc+-~,s=W22ZaJ0S,i=4096", "server's challenge, 4096 iterations"),
        (b"r=abc,s=W22ZaJ0S,i=12345678901", "server's challenge, 123456789 iterations"),
        (b"r=abc,s=,i=4096", None),
        (b"c=biws,r=abc,p=dHzb", "client's proof"),
        (b"c=biws,r=abc", None),
        (b"v=" + b"A" * 24, "server's signature: accepted"),
        (b"v=" + b"A" * 23, None),
        (b"v=" + b"A" * 24 + b",x", "server's signature: accepted"),
        (b"v=" + b"A" * 24 + b"\0", None),
        (b"e=invalid-proof", "server's refusal: invalid-proof"),
        (b"e=invalid-proof,x=y", "server's refusal: invalid-proof"),
        (b"e=", None),
        (b"\0alice\0secret", "user alice, with a password of 6 bytes in clear"),
        (b"alice\0alice\0s", "user alice, with a password of 1 byte in clear"),
        (b"bob\0alice\0secret", "user alice acting as bob, with a password of 6 bytes in clear"),
        ("\0jürgen\0pass".encode(), "user jürgen, with a password of 4 bytes in clear"),
        (b"\0" + b"a" * 255 + b"\0s", f"user {'a' * 255}, with a password of 1 byte in clear"),
        (b"\0" + b"a" * 256 + b"\0s", None),
        (b"\0\0secret", None),
        (b"\0alice\0", None),
        (b"\0alice\0se\0cret", None),
        (b"\0al\x01ice\0secret", None),
        (b"\0alice\0sec\x01ret", None),
        (b"\0alice\0\xff\xff", None),
        (b"\x01\0alice\0secret", None),
        (bytes.fromhex("a1 14 30 12"), "SPNEGO answer"),
        (bytes.fromhex("a1 83 000102 30"), "SPNEGO answer"),
        (bytes.fromhex("a1 83 00010203 30"), None),
        (bytes.fromhex("a1"), None),
        (bytes.fromhex("0504 04 ff 0000"), "Kerberos, wrapped message"),
        (bytes.fromhex("0504 04 fe 0000"), None),
        (bytes.fromhex(f"60 20 06 09 {KERBEROS} 0100"), "Kerberos AP-REQ"),
        (bytes.fromhex(f"60 8201ff 06 09 {KERBEROS} 0200"), "Kerberos AP-REP"),
        (bytes.fromhex(f"60 8120 06 09 {KERBEROS} 0300"), "Kerberos KRB-ERROR"),
        (bytes.fromhex(f"60 20 06 09 {KERBEROS} 0400"), "Kerberos token"),
        (bytes.fromhex("60 20 06 09 2a864882f712010202 0100"), "Kerberos (Microsoft's number) AP-REQ"),
        (bytes.fromhex("60 20 06 06 2b0601050502 0100"), "SPNEGO token"),
        (bytes.fromhex("60 20 06 0a 2b06010401823702020a"), "NTLM token"),
        (bytes.fromhex("60 20 06 01 2b 0100"), "first token of an unknown mechanism"),
        (bytes.fromhex("60 20 06 00"), None),
        (bytes.fromhex("60 20 05 01 2b"), None),
        (bytes.fromhex("60"), None),
        (bytes.fromhex("61 20 06 01 2b"), None),
    ],
)
def test_a_token_is_described_by_its_mechanism(data: bytes, detail: str | None) -> None:
    found = find_sasl_token(data)
    assert (found and found.detail) == detail


@pytest.mark.parametrize(
    ("data", "mechanism"),
    [
        (b"n,,\x01auth=Bearer abc", "OAUTHBEARER"),
        (b"n,,n=alice,r=abc", "SCRAM"),
        (b"c=biws,r=abc,p=dHzb", "SCRAM"),
        (b"r=abc,s=W22ZaJ0S,i=1", "SCRAM"),
        (b"e=other-error", "SCRAM"),
        (b"\0alice\0secret", "PLAIN"),
        (bytes.fromhex("a1 14 30 12"), "GSSAPI"),
        (bytes.fromhex("0504 04 ff"), "GSSAPI"),
        (bytes.fromhex("60 20 06 01 2b"), "GSSAPI"),
        (bytes.fromhex(f"60 20 06 09 {KERBEROS} 0100"), "GSSAPI"),
    ],
)
def test_mechanisms(data: bytes, mechanism: str) -> None:
    found = find_sasl_token(data)
    assert found is not None
    assert found.mechanism == mechanism
