"""Logins of a session, played without sockets: every answer at once and byte by byte."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kwcli.net.config.client_config import SaslSettings
from kwcli.net.sasl import make_mechanism
from kwcli.net.session.broker_session import Session, SessionPhase
from kwcli.net.session.version_negotiation import make_assumed_offer
from kwcli.run_environment import Exit
from tests.net.playbook import MODERN, PIECES, Play, framed, offers, plain


@PIECES
@pytest.mark.parametrize("version", [0, 1, 2])
def test_tokens_are_carried_in_the_highest_common_version(pieces: int | None, version: int) -> None:
    ranges = {**MODERN, 36: (0, version)}
    play = Play(Session(client_id="kw", mechanism=plain), pieces).open().answer(4, offers(ranges))
    assert play.session.phase is SessionPhase.AUTHENTICATING
    play.answer(1, {"error_code": 0, "mechanisms": ["PLAIN"]})
    assert b"\0alice\0secret" in play.last.frame
    play.answer(version, {"auth_bytes": b""})
    assert play.said == ["ApiVersions 4", "SaslHandshake 1", f"SaslAuthenticate {version}"]
    assert play.opened == 1
    assert play.session.renew_ns is None


@PIECES
def test_tokens_go_bare_where_a_broker_knows_no_better(pieces: int | None) -> None:
    ranges = {18: (0, 1), 17: (0, 0)}
    play = Play(Session(client_id="kw", mechanism=plain), pieces).open()
    play.answer(0, offers({}, error=35)).answer(0, offers(ranges)).answer(0, {"error_code": 0, "mechanisms": ["PLAIN"]})
    assert play.last.frame == framed(b"\0alice\0secret")
    play.give(bytes(4))
    assert play.said[2:] == ["SaslHandshake 0", "a SASL token"]
    assert play.opened == 1
    request = play.session.queue_request(3, 0, bytes(4))
    play.give(bytes(4))
    assert play.stop is not None, "an empty frame answers tokens only"
    assert request.correlation_id == 4


class Steps:
    """A mechanism with these tokens; the last one may need no answer, as in GSSAPI."""

    name = "GSSAPI"
    reason = None

    def __init__(self, tokens: list[bytes], *, told: bool) -> None:
        self.done = False
        self.heard: list[bytes] = []
        self._tokens = tokens
        self._told = told

    def make_first_token(self) -> bytes:
        return self._tokens[0]

    def answer_challenge(self, challenge: bytes) -> bytes | None:
        self.heard.append(challenge)
        if len(self.heard) == len(self._tokens):
            self.done = True
            return None
        self.done = not self._told and len(self.heard) == len(self._tokens) - 1
        return self._tokens[len(self.heard)]


def test_a_last_bare_token_of_a_client_that_is_done_is_not_answered() -> None:
    steps = Steps([b"one", b"two", b"three"], told=False)
    play = Play(Session(client_id="kw", mechanism=lambda: steps)).open()
    play.answer(0, offers({}, error=35)).answer(0, offers({17: (0, 0), 18: (0, 1)})).answer(0, {"mechanisms": []})
    play.give(framed(b"1")).give(framed(b"2"))
    assert play.said[3:] == ["a SASL token"] * 3
    assert play.opened == 1
    assert steps.heard == [b"1", b"2"]
    assert play.session.due is None


def test_a_last_carried_token_of_a_client_that_is_done_is_answered() -> None:
    steps = Steps([b"one", b"two", b"three"], told=False)
    play = Play(Session(client_id="kw", mechanism=lambda: steps)).open()
    play.answer(4, offers(MODERN)).answer(1, {"mechanisms": []})
    play.answer(2, {"auth_bytes": b"1"}).answer(2, {"auth_bytes": b"2"})
    assert play.opened == 0
    play.answer(2, {"auth_bytes": b"", "session_lifetime_ms": 60_000})
    assert play.opened == 1
    assert play.session.renew_ns == play.now_ns + 51_000_000_000


def test_0_9_takes_gssapi_tokens_from_the_first_byte_on() -> None:
    steps = Steps([b"one", b"two"], told=False)
    play = Play(Session(client_id="kw", mechanism=lambda: steps, assumed=make_assumed_offer("0.9.0"))).open()
    play.give(framed(b"1"))
    assert play.said == ["a SASL token", "a SASL token", "OffsetFetch 0"]
    play.answer(0, {"topics": []})
    assert play.opened == 1


def test_0_9_takes_nothing_else() -> None:
    play = Play(Session(client_id="kw", mechanism=plain, assumed=make_assumed_offer("0.9.0"))).open()
    assert play.stop is not None
    assert play.stop.text == "is older than 0.10 and takes no SASL but GSSAPI"


def at_authentication(ranges: Mapping[int, tuple[int, int]] = MODERN) -> Play:
    play = Play(Session(client_id="kw", mechanism=plain)).open()
    return play.answer(4, offers(ranges))


@pytest.mark.parametrize(
    ("code", "mechanisms", "line"),
    [
        (
            33,
            ["SCRAM-SHA-256", "PLAIN2"],
            "B does not take SASL mechanism PLAIN: it takes SCRAM-SHA-256, PLAIN2; try -X sasl.mechanism=SCRAM-SHA-256",
        ),
        (33, [], "B does not take SASL mechanism PLAIN: it names no other mechanism"),
        (34, [], "B does not authenticate on this listener; try -X security.protocol=PLAINTEXT"),
        (55, [], "B answered SaslHandshake with OPERATION_NOT_ATTEMPTED"),
    ],
)
def test_a_handshake_that_fails(code: int, mechanisms: list[str], line: str) -> None:
    play = at_authentication().answer(1, {"error_code": code, "mechanisms": mechanisms})
    assert play.stop is not None
    assert play.stop.format_line("B") == line
    assert play.stop.code is Exit.REFUSED


@pytest.mark.parametrize(
    ("code", "message", "line"),
    [
        (
            58,
            "Authentication failed: Invalid username or password",
            "B refused the PLAIN credentials: Authentication failed: Invalid username or password; "
            "check sasl.username and sasl.password",
        ),
        (58, None, "B refused the PLAIN credentials; check sasl.username and sasl.password"),
        (34, "no", "B answered SaslAuthenticate with ILLEGAL_SASL_STATE: no"),
    ],
)
def test_credentials_that_are_refused(code: int, message: str | None, line: str) -> None:
    play = at_authentication().answer(1, {"mechanisms": ["PLAIN"]})
    play.answer(2, {"error_code": code, "error_message": message})
    assert play.stop is not None
    assert play.stop.format_line("B") == line
    assert play.stop.code is Exit.REFUSED


def test_a_close_in_the_middle_of_authentication_is_a_refusal() -> None:
    play = at_authentication().answer(1, {"mechanisms": ["PLAIN"]}).close()
    assert play.stop is not None
    assert play.stop.text == "refused the PLAIN credentials: it closed the connection"
    assert play.stop.code is Exit.REFUSED


def test_a_broker_that_proves_nothing_is_not_trusted() -> None:
    sasl = SaslSettings("SCRAM-SHA-256", "alice", "secret")
    play = Play(Session(client_id="kw", mechanism=lambda: make_mechanism(sasl, "broker", None))).open()
    play.answer(4, offers(MODERN)).answer(1, {"mechanisms": []}).answer(2, {"auth_bytes": b""})
    assert play.stop is not None
    assert play.stop.code is Exit.REFUSED
    assert play.stop.text.startswith("could not be logged in to by SCRAM-SHA-256: the server")


def test_a_broker_that_challenges_for_ever_is_given_up() -> None:
    steps = Steps([b"more"] * 1000, told=True)
    play = Play(Session(client_id="kw", mechanism=lambda: steps)).open()
    play.answer(4, offers(MODERN)).answer(1, {"mechanisms": []})
    for _ in range(100):
        if play.stop is None:
            play.answer(2, {"auth_bytes": b"?"})
    assert play.stop is not None
    assert len(play.said) < 32


def test_a_login_is_renewed_on_the_same_connection() -> None:
    play = at_authentication().answer(1, {"mechanisms": ["PLAIN"]})
    play.answer(2, {"auth_bytes": b"", "session_lifetime_ms": 10_000})
    assert play.session.renew_ns == play.now_ns + 8_500_000_000
    assert not play.session.is_login_to_be_renewed(play.session.renew_ns - 1)
    play.now_ns += 8_500_000_000
    assert play.session.is_login_to_be_renewed(play.now_ns)
    play.again().answer(1, {"mechanisms": ["PLAIN"]}).answer(2, {"auth_bytes": b"", "session_lifetime_ms": 0})
    assert play.said[3:] == ["SaslHandshake 1", "SaslAuthenticate 2"]
    assert play.opened == 2
    assert play.session.renew_ns is None


def test_a_login_is_not_renewed_while_an_answer_is_due() -> None:
    play = at_authentication().answer(1, {"mechanisms": ["PLAIN"]})
    play.answer(2, {"auth_bytes": b"", "session_lifetime_ms": 1})
    play.session.queue_request(3, 0, bytes(4))
    assert not play.session.is_login_to_be_renewed(10**18)
    with pytest.raises(ValueError, match="between requests"):
        play.session.authenticate_again()
