"""Logins: what the messages of a login tell, and which exchanges of a connection have the user."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

import orjson
import pytest

from decoders.exchanges.chunks_to_exchanges import Pairer
from decoders.exchanges.connection_pairing import Pairing
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.serialize_pairer_state import export_context, resume_context
from decoders.messages.exchange_from_json import FromRecords
from decoders.messages.exchange_json import to_json_dict
from decoders.protocols.read_sasl_messages import SaslStep, guess_mechanism, read_sasl_step
from decoders.schema.api_declaration import Side
from tests.exchanges.chunked import Line, Row, exchanges, play
from tests.exchanges.talks import framed, request, response

METADATA, HANDSHAKE, AUTHENTICATE = 3, 17, 36
SECRET = b"s3cr3t-word"
NONCE = b"fyko-nonce-d2lbbFgONRv9qkxdawL"
PROOF = b"dHzbZapWIk4jUhN-proof-Ute9ytag9zjfMHgsqmmiz7AndVQ="
SALT = b"QSXCR+Q6sek8bf92"


def token(**claims: Any) -> bytes:
    """An unsigned JWT."""
    parts = [orjson.dumps(part) for part in ({"alg": "RS256"}, claims)]
    return b".".join([*(urlsafe_b64encode(part).rstrip(b"=") for part in parts), b"c2lnbmF0dXJl-" + SECRET])


def bearer(data: bytes, acting: bytes = b"") -> bytes:
    """The first message of OAUTHBEARER."""
    return b"n,a=" + acting + b",\x01auth=Bearer " + data + b"\x01logicalCluster=lkc-1\x01\x01"


def wrapped(body: bytes, flags: int = 0, turned: int = 0) -> bytes:
    """A Kerberos wrap token with a checksum of 12 bytes (RFC 4121, 4.2.6.2)."""
    held = body + b"checksum-12b"
    at = len(held) - turned
    return b"\5\4" + bytes([flags, 0xFF]) + b"\0\x0c" + turned.to_bytes(2, "big") + bytes(8) + held[at:] + held[:at]


def der(tag: int, body: bytes) -> bytes:
    """An element in DER."""
    size = len(body).to_bytes(1, "big") if len(body) < 0x80 else b"\x82" + len(body).to_bytes(2, "big")
    return bytes([tag]) + size + body


def ap_req() -> bytes:
    """A Kerberos AP-REQ in the token of GSSAPI, its ticket for kafka/b1.example.org@EXAMPLE.ORG."""
    names = b"".join(der(0x1B, name) for name in (b"kafka", b"b1.example.org"))
    service = der(0x30, der(0xA0, der(2, b"\0")) + der(0xA1, der(0x30, names)))
    sealed = der(0x30, der(0xA0, der(2, b"\x12")) + der(0xA2, der(4, SECRET * 30)))
    ticket = der(0x30, der(0xA0, der(2, b"\5")) + der(0xA1, der(0x1B, b"EXAMPLE.ORG")) + der(0xA2, service) + sealed)
    fields = [der(2, b"\5"), der(2, b"\x0e"), der(3, bytes(5)), der(0x61, ticket), sealed]
    asked = der(0x6E, der(0x30, b"".join(der(0xA0 + number, field) for number, field in enumerate(fields))))
    return der(0x60, bytes.fromhex("06092a864886f712010202") + b"\1\0" + asked)


ASK: Side = "request"
TELL: Side = "response"
STEPS: list[tuple[str, Side, bytes, SaslStep | None]] = [
    ("PLAIN", ASK, b"\0alice\0" + SECRET, SaslStep("credentials", "alice")),
    ("PLAIN", ASK, b"alice\0alice\0" + SECRET, SaslStep("credentials", "alice")),
    ("PLAIN", ASK, b"root\0alice\0" + SECRET, SaslStep("credentials", "alice", {"acting_as": "root"})),
    ("PLAIN", ASK, "\0zoë\0".encode() + SECRET, SaslStep("credentials", "zoë")),
    ("PLAIN", ASK, b"\0a\xff\0" + SECRET, SaslStep("credentials", "a\udcff")),
    ("PLAIN", ASK, b"alice\0" + SECRET, SaslStep("credentials")),  # nobody knows which of the two it is
    ("PLAIN", ASK, b"\0alice\0s3cr3t\0word", SaslStep("credentials")),
    ("PLAIN", ASK, SECRET, SaslStep("credentials")),
    ("PLAIN", ASK, b"\0" + b"u" * 5000 + b"\0" + SECRET, SaslStep("credentials", "u" * 1024)),
    ("PLAIN", TELL, b"", SaslStep("accepted")),
    ("SCRAM-SHA-256", ASK, b"n,,n=alice,r=" + NONCE, SaslStep("client-first", "alice")),
    ("SCRAM-SHA-512", ASK, b"y,a=root,n=alice,r=" + NONCE, SaslStep("client-first", "alice", {"acting_as": "root"})),
    ("SCRAM-SHA-512", ASK, b"n,,n=a=2Cb=3D2C,r=" + NONCE, SaslStep("client-first", "a,b=2C")),
    (
        *("SCRAM-SHA-256", ASK),
        b"n,,n=mQ7Dz4,r=" + NONCE + b",tokenauth=true",
        SaslStep("client-first", "mQ7Dz4", {"token_id": "mQ7Dz4"}),
    ),
    ("SCRAM-SHA-256", ASK, b"c=biws,r=" + NONCE + b",p=" + PROOF, SaslStep("client-final")),
    ("SCRAM-SHA-256", ASK, b"rubbish", None),
    (
        *("SCRAM-SHA-256", TELL),
        b"r=" + NONCE + b",s=" + SALT + b",i=4096",
        SaslStep("server-first", None, {"iterations": 4096}),
    ),
    ("SCRAM-SHA-256", TELL, b"v=" + PROOF, SaslStep("server-final")),
    ("SCRAM-SHA-256", TELL, b"e=invalid-proof", SaslStep("server-final", None, {"refusal": "invalid-proof"})),
    (
        *("OAUTHBEARER", ASK, bearer(token(sub="svc-1", exp=1_800_000_000, iat=1, email="x@y"))),
        SaslStep("client-first", "svc-1", {"expires_s": 1_800_000_000, "algorithm": "RS256"}),
    ),
    ("OAUTHBEARER", ASK, bearer(token(sub=7, exp=True)), SaslStep("client-first", None, {"algorithm": "RS256"})),
    ("OAUTHBEARER", ASK, bearer(token(exp=1e300), b"svc"), SaslStep("client-first", "svc", {"algorithm": "RS256"})),
    (
        "OAUTHBEARER",
        ASK,
        bearer(token(sub="a"), b"b"),
        SaslStep("client-first", "a", {"acting_as": "b", "algorithm": "RS256"}),
    ),
    ("OAUTHBEARER", ASK, bearer(b"eyJhbGciOiJub25lIn0.e30."), SaslStep("client-first", None, {"algorithm": "none"})),
    ("OAUTHBEARER", ASK, bearer(b"eyJhbGciOiIoKSJ9.e30.x"), SaslStep("client-first")),  # no name of an algorithm
    ("OAUTHBEARER", ASK, bearer(SECRET), SaslStep("client-first")),  # an opaque token
    ("OAUTHBEARER", ASK, bearer(b"a." + urlsafe_b64encode(b"[" * 10_000) + b".c"), SaslStep("client-first")),
    ("OAUTHBEARER", ASK, b"\x01", SaslStep("client-abort")),
    ("OAUTHBEARER", TELL, b"", SaslStep("accepted")),
    (
        *("OAUTHBEARER", TELL, b'{"status":"invalid_token","scope":"x"}'),
        SaslStep("server-error", None, {"refusal": "invalid_token"}),
    ),
    ("GSSAPI", ASK, ap_req(), SaslStep("AP-REQ", None, {"realm": "EXAMPLE.ORG", "service": "kafka/b1.example.org"})),
    ("GSSAPI", ASK, ap_req()[:60], SaslStep("AP-REQ")),
    ("GSSAPI", TELL, der(0x60, bytes.fromhex("06092a864886f712010202") + b"\2\0"), SaslStep("AP-REP")),
    ("GSSAPI", TELL, wrapped(b"\1\0\0\0"), SaslStep("security-layers")),
    ("GSSAPI", ASK, wrapped(b"\1\0\0\0alice@EXAMPLE.ORG"), SaslStep("security-layer", "alice@EXAMPLE.ORG")),
    ("GSSAPI", ASK, wrapped(b"\1\0\0\0alice@EXAMPLE.ORG", 0, 12), SaslStep("security-layer", "alice@EXAMPLE.ORG")),
    ("GSSAPI", ASK, wrapped(SECRET * 3, 2), SaslStep("security-layer")),  # encrypted
    ("GSSAPI", ASK, wrapped(b"\1\0\0\0"), SaslStep("security-layer")),
    ("GSSAPI", ASK, b"", SaslStep("empty")),
    ("AWS_MSK_IAM", ASK, b'{"version":"2020_10_22"}', None),
]


@pytest.mark.parametrize(("mechanism", "side", "data", "step"), STEPS)
def test_what_a_message_says(mechanism: str, side: Side, data: bytes, step: SaslStep | None) -> None:
    assert read_sasl_step(mechanism, data, side) == step


@pytest.mark.parametrize(("mechanism", "side", "data"), [row[:3] for row in STEPS if len(row[2]) < 1000])
def test_a_message_cut_anywhere_says_nothing_secret(mechanism: str, side: Side, data: bytes) -> None:
    for at in range(len(data)):
        for part in (data[:at], data[at:]):
            told = repr(read_sasl_step(mechanism, part, side)).encode()
            assert not any(secret in told for secret in (SECRET, NONCE, PROOF, SALT))


def test_a_mechanism_is_guessed_of_a_first_message() -> None:
    firsts = {b"\0alice\0" + SECRET: "PLAIN", b"n,,n=alice,r=" + NONCE: "SCRAM", ap_req(): "GSSAPI", b"{}": None}
    assert {data: guess_mechanism(data) for data in firsts} == firsts


class Logins:
    """One connection's frames, with the user expected for each request."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.number = 0

    def _put(self, key: int, version: int, value: dict[str, Any], answer: dict[str, Any]) -> Logins:
        self.number += 1
        self.rows.append(("c", request(key, version, self.number, "app", value)))
        self.rows.append(("b", response(key, version, self.number, answer)))
        return self

    def ask(self) -> Logins:
        """A request that is no login: Metadata."""
        return self._put(METADATA, 12, {"topics": []}, {})

    def begin(self, mechanism: str, error_code: int = 0, version: int = 1) -> Logins:
        """A SaslHandshake and its answer."""
        return self._put(HANDSHAKE, version, {"mechanism": mechanism}, {"error_code": error_code})

    def step(self, said: bytes, answer: bytes = b"", error_code: int = 0) -> Logins:
        """A SaslAuthenticate and its answer."""
        sentence = "Authentication failed: Invalid username or password" if error_code else None
        value = {"error_code": error_code, "auth_bytes": answer, "error_message": sentence}
        return self._put(AUTHENTICATE, 2, {"auth_bytes": said}, value)

    def token(self, said: bytes, answer: bytes | None) -> Logins:
        """A bare token, and the broker's bare token if there is one."""
        self.rows.append(("c", framed(said)))
        if answer is not None:
            self.rows.append(("b", framed(answer)))
        return self

    def told(self, **options: Any) -> list[tuple[str | None, str | None, str | None]]:
        """API, user and mechanism of each exchange on the connection."""
        settled = exchanges(play(*self.rows, **options))
        return [(each.api, each.user, each.mechanism) for each in settled]


FIRST, FINAL = b"n,,n=alice,r=" + NONCE, b"c=biws,r=" + NONCE + b",p=" + PROOF
TOKEN_FIRST = b"n,,n=mQ7Dz4,r=" + NONCE + b",tokenauth=true"
CHALLENGE = b"r=" + NONCE + b",s=" + SALT + b",i=4096"
M, H, A = "Metadata", "SaslHandshake", "SaslAuthenticate"
NOBODY = (None, None)
PLAIN, SCRAM = ("alice", "PLAIN"), ("alice", "SCRAM-SHA-512")
CONNECTIONS: dict[str, tuple[Logins, list[tuple[str | None, str | None, str | None]]]] = {
    "plain": (
        Logins().ask().begin("PLAIN").step(b"\0alice\0" + SECRET).ask().ask(),
        [(M, *NOBODY), (H, None, "PLAIN"), (A, *PLAIN), (M, *PLAIN), (M, *PLAIN)],
    ),
    "scram": (
        Logins().begin("SCRAM-SHA-512").step(FIRST, CHALLENGE).step(FINAL, b"v=" + PROOF).ask(),
        [(H, None, "SCRAM-SHA-512"), (A, *SCRAM), (A, *SCRAM), (M, *SCRAM)],
    ),
    "refused": (
        Logins().begin("PLAIN").step(b"\0alice\0" + SECRET, b"", 58).ask(),
        [(H, None, "PLAIN"), (A, *PLAIN), (M, *NOBODY)],
    ),
    "refused at the last step": (
        Logins().begin("SCRAM-SHA-512").step(FIRST, CHALLENGE).step(FINAL, b"", 58).ask(),
        [(H, None, "SCRAM-SHA-512"), (A, *SCRAM), (A, *SCRAM), (M, *NOBODY)],
    ),
    "a mechanism that the broker has not": (
        Logins().begin("GSSAPI", 33).ask(),
        [(H, None, "GSSAPI"), (M, *NOBODY)],
    ),
    "once more, as somebody else": (
        Logins().begin("PLAIN").step(b"\0bob\0" + SECRET).ask().begin("PLAIN").step(b"\0alice\0" + SECRET).ask(),
        [
            *((H, None, "PLAIN"), (A, "bob", "PLAIN"), (M, "bob", "PLAIN")),
            *((H, None, "PLAIN"), (A, *PLAIN), (M, *PLAIN)),
        ],
    ),
    "once more, refused": (
        Logins().begin("PLAIN").step(b"\0bob\0" + SECRET).begin("PLAIN").step(b"\0alice\0x", b"", 58).ask(),
        [
            *((H, None, "PLAIN"), (A, "bob", "PLAIN"), (H, None, "PLAIN")),
            *((A, "alice", "PLAIN"), (M, "bob", "PLAIN")),
        ],
    ),
    "a token refused": (
        Logins()
        .begin("OAUTHBEARER")
        .step(bearer(token(sub="svc")), b'{"status":"invalid_token"}')
        .ask()
        .step(b"\x01", b"", 58)
        .ask(),
        [
            *((H, None, "OAUTHBEARER"), (A, "svc", "OAUTHBEARER"), (M, *NOBODY)),
            *((A, "svc", "OAUTHBEARER"), (M, *NOBODY)),
        ],
    ),
    "a mechanism that nobody knows": (
        Logins().begin("AWS_MSK_IAM").step(b"{}", b"{}").ask(),
        [(H, None, "AWS_MSK_IAM"), (A, None, "AWS_MSK_IAM"), (M, None, "AWS_MSK_IAM")],
    ),
    "bare tokens": (
        Logins().begin("SCRAM-SHA-512", 0, 0).token(FIRST, CHALLENGE).token(FINAL, b"v=" + PROOF).ask(),
        [(H, None, "SCRAM-SHA-512"), (None, *SCRAM), (None, *SCRAM), (M, *SCRAM)],
    ),
    "bare tokens, the last without an answer": (
        Logins().begin("GSSAPI", 0, 0).token(ap_req(), wrapped(b"\1\0\0\0")).token(wrapped(b"\1\0\0\0al"), None).ask(),
        [(H, None, "GSSAPI"), (None, None, "GSSAPI"), (None, "al", "GSSAPI"), (M, "al", "GSSAPI")],
    ),
}


@pytest.mark.parametrize("name", CONNECTIONS)
def test_later_exchanges_have_who_logged_in(name: str) -> None:
    talk, expected = CONNECTIONS[name]
    assert talk.told() == expected


@pytest.mark.parametrize("name", CONNECTIONS)
def test_the_same_after_export_and_resume_anywhere(name: str) -> None:
    talk, expected = CONNECTIONS[name]
    for cut in range(len(talk.rows)):
        line, same_line = Line(), Line()
        before, after = Pairer(), Pairer()
        settled = before.feed(line.chunks(*talk.rows[:cut]))
        same_line.packet = line.packet
        state = export_context(before.context)
        resume_context(after.context, state, {1: same_line.connection})
        assert export_context(after.context) == state
        settled += after.feed(same_line.chunks(*talk.rows[cut:])) + after.finish()
        assert [(each.api, each.user, each.mechanism) for each in exchanges(settled)] == expected


def test_the_same_where_the_quick_way_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    from decoders.exchanges.body_reader import ApiReader

    monkeypatch.setattr(ApiReader, "allows_fast_pairing", property(lambda _api_reader: False))
    for talk, expected in CONNECTIONS.values():
        assert talk.told() == expected


def test_a_capture_that_begins_behind_the_handshake() -> None:
    talk = Logins().ask().step(b"\0alice\0" + SECRET).ask()
    assert talk.told(opened=False, ports=(9092,)) == [(M, *NOBODY), (A, *PLAIN), (M, *PLAIN)]


@pytest.mark.parametrize("name", CONNECTIONS)
def test_no_secret_is_in_a_record_and_the_record_gives_who_it_was(name: str) -> None:
    talk, expected = CONNECTIONS[name]
    records = [to_json_dict(each) for each in exchanges(play(*talk.rows))]
    for secret in (SECRET, NONCE, PROOF, SALT, b"eyJ"):
        assert secret not in orjson.dumps(records)
    back = [FromRecords().read(record) for record in records]
    assert [(each.api, each.user, each.mechanism) for each in back if isinstance(each, Exchange)] == expected
    assert [to_json_dict(each) for each in back] == records


@pytest.mark.parametrize("key", [38, 41])
def test_who_logs_in_by_a_delegation_token_is_its_owner(key: int) -> None:
    token_row = {"token_id": "mQ7Dz4", "principal_type": "User", "principal_name": "alice", "hmac": SECRET}
    answer = token_row if key == 38 else {"tokens": [token_row]}
    talk = Logins()._put(key, 2, {}, answer).begin("SCRAM-SHA-256")
    talk.step(TOKEN_FIRST, CHALLENGE).step(FINAL, b"v=" + PROOF).ask()
    users = [user for _, user, _ in talk.told()]
    assert users == [None, None, "alice", "alice", "alice"]
    assert [user for _, user, _ in talk.told(connections=True)][2:] == ["mQ7Dz4"] * 3
    records = [to_json_dict(each) for each in exchanges(play(*talk.rows))]
    assert records[2]["sasl"]["token_id"] == "mQ7Dz4"
    assert SECRET not in orjson.dumps(records)
    assert [user for _, user, _ in Logins().begin("SCRAM-SHA-256").step(TOKEN_FIRST, CHALLENGE).told()][1] == "mQ7Dz4"


def test_what_a_login_says_besides() -> None:
    talk = Logins().begin("OAUTHBEARER").step(bearer(token(sub="svc", exp=1_800_000_000)))
    record = to_json_dict(exchanges(play(*talk.rows))[1])
    assert (record["user"], record["mechanism"]) == ("svc", "OAUTHBEARER")
    assert record["sasl"] == {
        "step": "client-first",
        "algorithm": "RS256",
        "expires": "2027-01-15T08:00:00.000000Z",
        "answer": "accepted",
    }


def test_a_connection_at_rest_still_knows_who_logged_in() -> None:
    line, stage = Line(), Pairer()
    talk = Logins().begin("PLAIN").step(b"\0alice\0" + SECRET)
    stage.feed(line.chunks(*talk.rows))
    (pairing,) = stage.context.pairings.values()
    assert isinstance(pairing, Pairing)
    assert pairing.drop_initial_state()
    assert pairing.resting
    settled = exchanges(stage.feed(line.chunks(*talk.ask().rows[4:])))
    assert [each.user for each in settled] == ["alice"]
