"""Logins at a mocked broker: no password is checked; SCRAM works with the password that both sides were given."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from decoders.frames.frames_of_gapless_connections import SIZE
from kwcli.net.sasl.mechanism import SaslRefused
from kwcli.net.sasl.scram import Scram
from kwcli.run_environment import Exit
from tests.broker.clients.sasl import sasl
from tests.broker.clients.session import run
from tests.cli.worlds import kw
from tests.mock.running import ROOT, TOUR, mocked
from tests.mock.stage import Client, Stage, framed

MECHANISMS = ["PLAIN", "OAUTHBEARER", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI"]
SASL = str(ROOT / "captures" / "sasl-framed.pcapng")


@pytest.fixture
def stage() -> Stage:
    made = Stage()
    made.cluster.mechanisms = MECHANISMS
    made.cluster.passwords = {"alice": "secret"}
    return made


def authenticate(client: Client, token: bytes) -> Any:
    """Send a token; gives the answer."""
    return client.ask("SaslAuthenticate", {"auth_bytes": token}, 2)


@pytest.mark.parametrize("mechanism", ["PLAIN", "OAUTHBEARER"])
def test_any_token_is_taken(stage: Stage, mechanism: str) -> None:
    client = stage.client()
    assert client.ask("SaslHandshake", {"mechanism": mechanism}, 1)["error_code"] == 0
    assert authenticate(client, b"whatever")["error_code"] == 0
    assert authenticate(client, b"once more")["error_code"] == 34  # the login is over
    assert client.ask("Metadata", {"topics": None}, 9)["brokers"]


def test_what_a_mock_cannot_prove_is_refused(stage: Stage) -> None:
    client = stage.client()
    answer = client.ask("SaslHandshake", {"mechanism": "GSSAPI"}, 1)
    assert (answer["error_code"], answer["mechanisms"]) == (33, MECHANISMS[:4])
    assert authenticate(client, b"")["error_code"] == 34
    (note,) = stage.cluster.notes
    assert "'GSSAPI' and is refused" in note
    nobody = Stage()
    assert nobody.client().ask("SaslHandshake", {"mechanism": "PLAIN"}, 1)["error_code"] == 34


@pytest.mark.parametrize("mechanism", MECHANISMS[2:4])
@pytest.mark.parametrize(("user", "password"), [("alice", "secret"), ("b=,", "mock")])
def test_scram_clients_believe_it(stage: Stage, mechanism: str, user: str, password: str) -> None:
    client, scram = stage.client(), Scram(mechanism, user, password)
    client.ask("SaslHandshake", {"mechanism": mechanism}, 1)
    final = scram.answer_challenge(authenticate(client, scram.make_first_token())["auth_bytes"])
    assert final is not None
    assert scram.answer_challenge(authenticate(client, final)["auth_bytes"]) is None
    assert scram.done


def test_another_password_is_told(stage: Stage) -> None:
    client, scram = stage.client(), Scram("SCRAM-SHA-256", "alice", "mock")
    client.ask("SaslHandshake", {"mechanism": "SCRAM-SHA-256"}, 1)
    final = scram.answer_challenge(authenticate(client, scram.make_first_token())["auth_bytes"])
    assert final is not None
    answer = authenticate(client, final)
    assert (answer["error_code"], answer["auth_bytes"]) == (58, b"")
    assert "a password that the mock does not know" in answer["error_message"]
    (note,) = stage.cluster.notes
    assert "user 'alice'" in note
    assert "secret" not in note


@pytest.mark.parametrize("token", [b"", b"n,,", b"n,,n=a,r=", b"c=biws,r=x,p=eA==", b"\xff" * 9])
def test_tokens_that_are_no_scram(stage: Stage, token: bytes) -> None:
    client = stage.client()
    client.ask("SaslHandshake", {"mechanism": "SCRAM-SHA-512"}, 1)
    assert authenticate(client, token)["error_code"] == 58


def test_raw_tokens(stage: Stage) -> None:
    def send(client: Client, token: bytes) -> bytes:
        stage.brokers.feed(client.connection, framed(token), stage.now_ms)
        data = client.connection.take_output()
        assert SIZE.unpack_from(data) == (len(data) - 4,)
        return data[4:]

    plain = stage.client()
    assert plain.ask("SaslHandshake", {"mechanism": "PLAIN"}, 0)["error_code"] == 0
    assert send(plain, b"\0any\0one") == b""
    assert plain.ask("Metadata", {"topics": None}, 9)["brokers"]
    client, scram = stage.client(), Scram("SCRAM-SHA-256", "bob", "mock")
    client.ask("SaslHandshake", {"mechanism": "SCRAM-SHA-256"}, 0)
    final = scram.answer_challenge(send(client, scram.make_first_token()))
    assert final is not None
    assert scram.answer_challenge(send(client, final)) is None
    assert client.ask("Metadata", {"topics": None}, 9)["brokers"]
    wrong, other = stage.client(), Scram("SCRAM-SHA-256", "bob", "other")
    wrong.ask("SaslHandshake", {"mechanism": "SCRAM-SHA-256"}, 0)
    final = other.answer_challenge(send(wrong, other.make_first_token()))
    assert final is not None
    stage.brokers.feed(wrong.connection, framed(final), stage.now_ms)
    assert "a password that the mock does not know" in (wrong.connection.closed or "")
    with pytest.raises(SaslRefused):
        other.answer_challenge(b"v=AAAA")


def test_passwords_that_are_none() -> None:
    for word in ("alice", "=x", "alice="):
        outcome = kw("mock", TOUR, "--password", word)
        assert outcome.code == Exit.USAGE
        assert "write USER=PASSWORD" in outcome.err


CLIENTS = [
    *(("librdkafka", mechanism) for mechanism in MECHANISMS[:4]),
    *(("java-4.4.0", mechanism) for mechanism in ("PLAIN", "SCRAM-SHA-512")),
    *(("aiokafka", mechanism) for mechanism in ("PLAIN", "SCRAM-SHA-256")),
    *(("python", mechanism) for mechanism in ("PLAIN", "SCRAM-SHA-512")),
]


@pytest.mark.full
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_clients_log_in(tls: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    words = ["--calm", "--password", "alice=x1", *(["--tls-in"] if tls else [])]
    with mocked(*words, recording=SASL, variables=dict(os.environ)) as mock:
        ca = str(tmp_path / "kw" / "proxy" / "ca.pem")
        for client, mechanism in CLIENTS:
            way = sasl(client, mechanism, password="x1", protocol="SASL_SSL" if tls else "SASL_PLAINTEXT")
            if tls and client.startswith("java"):
                way |= {"ssl.truststore.location": ca, "ssl.truststore.type": "PEM"}
            elif tls:
                way["ssl.ca.location"] = ca
            topic = f"new-{client}-{mechanism}"
            steps = [
                ("produce", {"topic": topic, "count": 3}),
                ("consume", {"topics": [topic], "group": topic, "count": 3}),
            ]
            made, read = run(client, mock.bootstrap, steps, way)
            assert len(read["result"]) == 3, made
