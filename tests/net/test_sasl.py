"""SASL mechanisms without a socket: the conversations in the RFCs, and servers that lie."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode

import pytest

from kwcli.net.config.client_config import OAuthSettings, SaslSettings
from kwcli.net.sasl import SaslRefused, make_mechanism
from kwcli.net.sasl.mechanism import PlainMechanism
from kwcli.net.sasl.oauthbearer import OAuthBearer
from kwcli.net.sasl.scram import Scram
from kwcli.run_environment import Exit, Failure

# RFC 7677, section 3 (the user is "user", the password "pencil"); SHA-512's messages from its definition in RFC 5802.
RFC7677 = (
    "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
    "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("PLAIN", PlainMechanism),
        ("SCRAM-SHA-256", Scram),
        ("SCRAM-SHA-512", Scram),
        ("OAUTHBEARER", OAuthBearer),
    ],
)
def test_a_mechanism_is_of_its_kind(name: str, kind: type) -> None:
    assert isinstance(make_mechanism(SaslSettings(name, "alice", "secret"), "broker", "token"), kind)


@pytest.mark.parametrize("name", ["NTLM", "plain", "SCRAM-SHA-1", ""])
def test_another_mechanism_is_refused(name: str) -> None:
    with pytest.raises(Failure, match=f"kw does not know the SASL mechanism '{name}'") as failure:
        make_mechanism(SaslSettings(name, "alice", "secret"), "broker", None)
    assert failure.value.code == Exit.USAGE


def test_the_conversation_of_rfc_7677() -> None:
    first, challenge, second, final = (text.encode() for text in RFC7677)
    scram = Scram("SCRAM-SHA-256", "user", "pencil", nonce="rOprNGfwEbeRWgbNEkqO")
    assert scram.make_first_token() == first
    assert scram.answer_challenge(challenge) == second
    assert not scram.done
    assert scram.answer_challenge(final) is None
    assert scram.done


def server(name: str, password: str, bare: str, nonce: str) -> tuple[str, str, str]:
    """The first message of an honest server, the client's message it expects, and its last message (RFC 5802, 3)."""
    digest = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}[name]
    first = f"r={nonce}server,s={b64encode(b'salt').decode()},i=5000"
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), b"salt", 5000)
    key = hmac.digest(salted, b"Client Key", digest)
    signed = f"{bare},{first},c=biws,r={nonce}server".encode()
    signature = hmac.digest(hashlib.new(digest, key).digest(), signed, digest)
    proof = b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
    verifier = b64encode(hmac.digest(hmac.digest(salted, b"Server Key", digest), signed, digest)).decode()
    return first, f"c=biws,r={nonce}server,p={proof}", f"v={verifier}"


@pytest.mark.parametrize("name", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("token", [False, True])
def test_names_with_signs_and_delegation_tokens(name: str, token: bool) -> None:
    scram = Scram(name, "a=b,c", "pässwörd", nonce="fyko", token_auth=token)
    bare = "n=a=3Db=2Cc,r=fyko" + (",tokenauth=true" if token else "")
    first, second, final = server(name, "pässwörd", bare, "fyko")
    assert scram.make_first_token().decode() == f"n,,{bare}"
    assert scram.answer_challenge(first.encode()) == second.encode()
    scram.answer_challenge(final.encode())
    assert scram.done


@pytest.mark.parametrize(
    ("challenges", "line"),
    [
        (
            [RFC7677[1], "v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="],
            "the server's signature is wrong: the server does not know",
        ),
        ([RFC7677[1], "v="], "the server's SCRAM signature is missing or no base64"),
        ([RFC7677[1], "x=1"], "the server's SCRAM signature is missing or no base64"),
        ([RFC7677[1], "e=invalid-proof"], "the server says invalid-proof"),
        (["e=unknown-user"], "the server says unknown-user"),
        (["r=other,s=c2FsdA==,i=4096"], "the server's nonce does not continue ours: "),
        (["r=rOprNGfwEbeRWgbNEkqO,s=c2FsdA==,i=4096"], "the server's nonce does not continue ours: "),
        (["r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA==,i=4095"], "the server asks for 4095 iterations; "),
        (["r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA==,i=1000001"], "the server asks for 1000001 iterations; "),
        (["r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA==,i=-1"], "the server's iteration count is no number"),
        (["r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA==,i=99999999999999"], "the server's iteration count is no number"),
        (["r=rOprNGfwEbeRWgbNEkqOx,s=!,i=4096"], "the server's SCRAM salt is missing or no base64"),
        (["m=ext,r=rOprNGfwEbeRWgbNEkqOx,s=c2FsdA==,i=4096"], "the server asks for a SCRAM extension "),
        ([""], "the server's answer is no SCRAM message"),
        (["\udcff"], "the server's SCRAM message is no text"),
        (["a=" + "b" * 70_000], "the server's SCRAM message has 70002 bytes"),
    ],
)
def test_a_server_that_lies_is_not_believed(challenges: list[str], line: str) -> None:
    scram = Scram("SCRAM-SHA-256", "user", "pencil", nonce="rOprNGfwEbeRWgbNEkqO")
    scram.make_first_token()
    *before, last = (text.encode("utf-8", "surrogateescape") for text in challenges)
    for challenge in before:
        scram.answer_challenge(challenge)
    with pytest.raises(SaslRefused) as caught:
        scram.answer_challenge(last)
    assert caught.value.text.startswith(line)
    assert not scram.done


def test_two_conversations_have_two_nonces() -> None:
    assert Scram("SCRAM-SHA-256", "u", "p").make_first_token() != Scram("SCRAM-SHA-256", "u", "p").make_first_token()


def test_plain() -> None:
    plain = PlainMechanism("alice", "sec\u00e9ret")
    assert plain.make_first_token() == b"\0alice\0sec\xc3\xa9ret"
    assert plain.answer_challenge(b"") is None
    assert plain.done
    with pytest.raises(SaslRefused):
        PlainMechanism("a\0b", "c")
    with pytest.raises(SaslRefused):
        PlainMechanism("a", "b").answer_challenge(b"more?")


def test_oauthbearer_as_in_rfc_7628() -> None:
    bearer = OAuthBearer("abc.def-~+/_==", {"host": "kafka", "port": "9092"})
    assert bearer.make_first_token() == b"n,,\x01auth=Bearer abc.def-~+/_==\x01host=kafka\x01port=9092\x01\x01"
    assert bearer.answer_challenge(b"") is None
    assert bearer.done


@pytest.mark.parametrize(
    ("challenge", "reason"),
    [
        (b'{"status":"invalid_token"}', "the server refuses the token: invalid_token"),
        (
            b'{"status":"insufficient_scope","scope":"kafka","openid-configuration":"https://id/x"}',
            "the server refuses the token: insufficient_scope, scope kafka, openid-configuration https://id/x",
        ),
        (b"[]", "the server refuses the token"),
        (b"\xff", "the server refuses the token"),
    ],
)
def test_a_refused_token_is_answered_with_one_byte(challenge: bytes, reason: str) -> None:
    bearer = OAuthBearer("abc")
    bearer.make_first_token()
    assert bearer.answer_challenge(challenge) == b"\x01"
    assert bearer.reason == reason
    assert not bearer.done
    with pytest.raises(SaslRefused) as caught:
        bearer.answer_challenge(b"")
    assert caught.value.text == reason


@pytest.mark.parametrize(
    ("token", "extensions"),
    [("", {}), ("a\x01b", {}), ("a b", {}), ("a", {"auth": "x"}), ("a", {"k1": "x"}), ("a", {"k": "\x01"})],
)
def test_what_no_bearer_message_can_carry_is_refused(token: str, extensions: dict[str, str]) -> None:
    with pytest.raises(SaslRefused) as caught:
        OAuthBearer(token, extensions)
    assert token == "" or token not in caught.value.text.split()


@pytest.mark.parametrize(
    ("sasl", "first"),
    [
        (SaslSettings("PLAIN", "u", "p"), b"\0u\0p"),
        (SaslSettings("SCRAM-SHA-256", "u", "p"), b"n,,n=u,r="),
        (SaslSettings("SCRAM-SHA-512", "u", "p", token_auth=True), b"n,,n=u,r="),
        (
            SaslSettings("OAUTHBEARER", oauth=OAuthSettings(token="t", extensions={"k": "v"})),
            b"n,,\x01auth=Bearer t\x01k=v\x01\x01",
        ),
    ],
)
def test_a_mechanism_by_its_name(sasl: SaslSettings, first: bytes) -> None:
    made = make_mechanism(sasl, "localhost", "t")
    assert made.name == sasl.mechanism
    assert made.make_first_token().startswith(first)


def test_the_salted_password_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    worked: list[int] = []

    def derive(algorithm: str, password: bytes, salt: bytes, iterations: int) -> bytes:
        worked.append(iterations)
        return real(algorithm, password, salt, iterations)

    real = hashlib.pbkdf2_hmac
    monkeypatch.setattr(hashlib, "pbkdf2_hmac", derive)
    proofs = []
    for iterations in (4096, 4096, 8192):
        scram = Scram("SCRAM-SHA-256", "alice", "only here", nonce="abc")
        scram.make_first_token()
        proofs.append(scram.answer_challenge(f"r=abcdef,s=c2FsdA==,i={iterations}".encode()))
    assert worked == [4096, 8192]
    assert proofs[0] == proofs[1] != proofs[2]
