"""The proxy's own login, played without sockets: the bytes for broker and client, in chunks of any size."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import decoders
from kwcli.net.config.client_config import SaslSettings
from kwcli.net.sasl import make_mechanism
from kwcli.proxy.relay.relay_state import CLOSE, END, NOTE, SEND_CLIENT, SEND_SERVER, Command
from kwcli.proxy.relay.upstream_login import CREDENTIALS, PAUSE_CLIENT, READY, UpstreamLogin
from tests.net.playbook import MODERN, framed, offers

SECOND = 1_000_000_000


def request(key: int, version: int, number: int, value: dict[str, Any] | None = None) -> bytes:
    return framed(decoders.encode_request(key, version, value or {}, correlation_id=number, client_id="shop"))


def response(key: int, version: int, number: int, value: dict[str, Any] | None = None) -> bytes:
    return framed(decoders.encode_response(key, version, value or {}, correlation_id=number))


class Broker:
    """A scripted broker: frames in, answers out, in order; `seen` has its requests; `lifetime_ms` is a login's."""

    def __init__(self, lifetime_ms: int = 0, password: str = "secret") -> None:
        self.seen: list[tuple[str, int]] = []
        self.bodies: list[bytes] = []
        self.lifetime_ms = lifetime_ms
        self.password = password
        self._left = b""

    def feed(self, data: bytes) -> bytes:
        self._left += data
        answers = []
        while len(self._left) >= 4 and len(self._left) >= (size := 4 + int.from_bytes(self._left[:4], "big")):
            frame, self._left = self._left[4:size], self._left[size:]
            answers.append(self.answer(frame))
        return b"".join(answers)

    def drop(self) -> None:
        """Begin a new connection."""
        self._left = b""

    def answer(self, frame: bytes) -> bytes:
        asked = decoders.decode_request(frame)
        self.seen.append((decoders.api(asked.api_key).name, asked.api_version))
        self.bodies.append(frame)
        value: dict[str, Any] = {}
        if asked.api_key == 18:
            value = offers(MODERN)
        elif asked.api_key == 17:
            value = {"mechanisms": ["PLAIN"]}
        elif asked.api_key == 36:
            right = asked.body["auth_bytes"] == f"\0alice\0{self.password}".encode()
            value = {"session_lifetime_ms": self.lifetime_ms} if right else {"error_code": 58, "error_message": "no"}
        elif asked.api_key == 3:
            value = {"cluster_id": f"cluster {asked.correlation_id}"}
        return response(asked.api_key, asked.api_version, asked.correlation_id, value)


class Play:
    """A login between a client and a broker, whose answers arrive on demand."""

    def __init__(self, broker: Broker, pieces: int | None = None) -> None:
        self.login = UpstreamLogin(client_id="kw", software=("kw", "0"), tls=False)
        self.broker = broker
        self.now_ns = SECOND
        self.to_client = b""
        self.pending = b""  # answers of the broker that the login has not been given yet
        self.words: list[str] = []
        self.closed: str | None = None
        self.notes: list[str] = []
        self.pieces = pieces
        self.credentials = True
        self.act(self.login.begin_login())

    def act(self, commands: list[Command]) -> None:
        for command in commands:
            what = command[0]
            if what == SEND_SERVER:
                self.pending += self.broker.feed(command[1])
            elif what == SEND_CLIENT:
                self.to_client += command[1]
            elif what == CLOSE:
                self.closed = command[1]
            elif what == NOTE:
                self.notes.append(command[1])
            else:
                self.words.append(
                    {CREDENTIALS: "credentials", PAUSE_CLIENT: "pause client", READY: "ready", END: "end"}[what]
                )
            if what == CREDENTIALS and self.credentials:
                self.give()

    def give(self) -> None:
        plain = make_mechanism(SaslSettings("PLAIN", "alice", "secret"), "broker", None)
        self.act(self.login.log_in_with(plain, self.now_ns))

    def client(self, data: bytes) -> Play:
        step = self.pieces or len(data)
        for at in range(0, len(data), step):
            self.act(self.login.send_to_broker(data[at : at + step], self.now_ns))
        return self

    def server(self) -> Play:
        """Give the broker's answers to the login, until there are no more."""
        while self.pending and self.closed is None:
            data, self.pending = self.pending, b""
            step = self.pieces or len(data)
            for at in range(0, len(data), step):
                self.act(self.login.take_broker_bytes(data[at : at + step], self.now_ns))
        return self


LOGIN = [("ApiVersions", 4), ("SaslHandshake", 1), ("SaslAuthenticate", 2)]
AGAIN = LOGIN[1:]


def test_nothing_of_the_client_is_sent_before_the_login_and_nothing_of_the_login_reaches_the_client() -> None:
    play = Play(Broker())
    play.client(request(3, 12, 0))
    assert play.broker.seen == LOGIN[:1]
    play.server()
    assert play.broker.seen == [*LOGIN, ("Metadata", 12)]
    assert play.broker.bodies[-1] == request(3, 12, 0)[4:]
    assert play.to_client == response(3, 12, 0, {"cluster_id": "cluster 0"})
    assert play.words == ["credentials", "pause client", "ready"]


def test_the_client_ends_before_the_login_is_done() -> None:
    play = Play(Broker())
    play.client(request(3, 12, 0))
    play.act(play.login.end_client_side())
    assert "end" not in play.words
    play.server()
    assert play.words == ["credentials", "pause client", "ready", "end"]
    assert play.broker.seen[-1] == ("Metadata", 12)


def test_a_login_is_renewed_between_requests_while_earlier_answers_flow() -> None:
    play = Play(Broker(lifetime_ms=10_000)).server()
    play.client(request(3, 12, 1))
    early, play.pending = play.pending, b""
    play.now_ns += 9 * SECOND
    play.client(request(3, 12, 2))
    assert play.broker.seen == [*LOGIN, ("Metadata", 12), AGAIN[0]]
    handshake, play.pending = play.pending, b""
    play.pending = early
    play.server()
    assert play.to_client == response(3, 12, 1, {"cluster_id": "cluster 1"})
    play.pending = handshake
    play.server()
    assert play.broker.seen == [*LOGIN, ("Metadata", 12), *AGAIN, ("Metadata", 12)]
    assert play.to_client.endswith(response(3, 12, 2, {"cluster_id": "cluster 2"}))
    assert play.words == ["credentials", "ready", "credentials", "pause client", "ready"]


def test_a_request_is_never_cut_by_a_new_login() -> None:
    play = Play(Broker(lifetime_ms=10_000)).server()
    long = request(3, 12, 1, {"topics": [{"name": "orders"}]})
    play.client(long[:20])
    play.now_ns += 9 * SECOND
    play.client(long[20:]).server()
    assert play.broker.seen == [*LOGIN, ("Metadata", 12)]
    play.client(request(3, 12, 2)).server()
    assert play.broker.seen == [*LOGIN, ("Metadata", 12), *AGAIN, ("Metadata", 12)]


def test_a_client_that_begins_sasl_is_answered_in_its_turn() -> None:
    play = Play(Broker()).server()
    play.client(request(18, 4, 1) + request(17, 1, 2, {"mechanism": "PLAIN"}) + request(3, 12, 3)).server()
    assert play.broker.seen == [*LOGIN, ("ApiVersions", 4), ("ApiVersions", 0), ("Metadata", 12)]
    expected = response(18, 4, 1, offers(MODERN)) + response(17, 1, 2, {"error_code": 34})
    assert play.to_client == expected + response(3, 12, 3, {"cluster_id": "cluster 3"})
    assert len(play.notes) == 1


def test_a_client_that_goes_on_with_sasl_is_told_why() -> None:
    play = Play(Broker()).server()
    play.client(request(36, 2, 5, {"auth_bytes": b"\0eve\0x"})).server()
    answer = decoders.decode_response(play.to_client[4:], 36, 2)
    assert (answer.correlation_id, answer.body["error_code"]) == (5, 34)
    assert "logged in" in answer.body["error_message"]
    assert all(b"eve" not in body for body in play.broker.bodies)


def test_a_version_of_sasl_that_nobody_knows_ends_the_connection() -> None:
    play = Play(Broker()).server()
    play.client(b"\0\0\0\x0a\0\x11\0\x63\0\0\0\x01\xff\xff")
    assert play.closed == "asked for SaslHandshake 99, which kw does not know, while the proxy logs in for its clients"


def test_refused_credentials() -> None:
    play = Play(Broker(password="other")).server()
    assert play.closed == "refused the PLAIN credentials: no; check sasl.username and sasl.password"
    assert play.to_client == b""


def test_credentials_are_asked_for_first() -> None:
    login = UpstreamLogin(client_id="kw", software=("kw", "0"), tls=False)
    assert login.begin_login() == [(CREDENTIALS,)]


@pytest.mark.parametrize(
    ("answered", "reason"),
    [
        (0, "closed the connection after ApiVersions"),
        (1, "closed the connection after SaslHandshake; the broker's log says why"),
        (2, "refused the PLAIN credentials: it closed the connection; check sasl.username and sasl.password"),
    ],
)
def test_a_broker_that_closes_during_the_login(answered: int, reason: str) -> None:
    play = Play(Broker())
    for _ in range(answered):
        data, play.pending = play.pending, b""
        play.act(play.login.take_broker_bytes(data, play.now_ns))
    play.act(play.login.handle_broker_eof())
    assert play.closed == reason


def test_a_broker_that_closes_later_is_for_the_core() -> None:
    play = Play(Broker()).server()
    assert play.login.handle_broker_eof() == []


@given(
    st.lists(st.sampled_from(["metadata", "versions", "handshake", "authenticate", "wait"]), max_size=12),
    st.integers(1, 40),
    st.integers(0, 0x7FFFFFFF),
    st.booleans(),
)
def test_in_any_chunks_the_client_gets_its_answers_in_order(
    steps: list[str], pieces: int, first: int, at_once: bool
) -> None:
    play = Play(Broker(lifetime_ms=10_000), pieces)
    asked: dict[str, tuple[int, int, dict[str, Any]]] = {
        "metadata": (3, 12, {}),
        "versions": (18, 4, {}),
        "handshake": (17, 1, {"mechanism": "PLAIN"}),
        "authenticate": (36, 2, {"auth_bytes": b"x"}),
    }
    wanted: list[tuple[int, int, int]] = []
    for step in steps:
        if step == "wait":
            play.now_ns += 9 * SECOND
            continue
        key, version, value = asked[step]
        number = (first + len(wanted)) & 0x7FFFFFFF
        wanted.append((key, version, number))
        play.client(request(key, version, number, value))
        if not at_once:
            play.server()
    play.server()
    assert play.closed is None
    data, found = play.to_client, []
    for key, version, _ in wanted:
        size = 4 + int.from_bytes(data[:4], "big")
        answer = decoders.decode_response(data[4:size], key, version)
        found.append((key, version, answer.correlation_id))
        if key in (17, 36):
            assert answer.body["error_code"] == 34
        data = data[size:]
    assert found == wanted
    assert not data
