"""Connections to real brokers: opened, used, closed."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

import decoders
from decoders.schema.api_declaration import Versions
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import Address, ClientConfig, SaslSettings
from kwcli.net.explain_connection_end import ConnectionStop
from kwcli.net.sasl import make_mechanism
from kwcli.net.session.blocking_connection import BrokerConnection, Reply
from kwcli.net.session.broker_session import Session
from kwcli.net.session.version_negotiation import Offer
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options

CONFIG = ClientConfig(servers=())
# The offer of a broker of 0.10: bare tokens after SaslHandshake 0, which current brokers still accept.
BARE = Offer({17: Versions(0, 0)}, {})


class Broker(NamedTuple):
    release: str
    plain: Address
    sasl: Address


@pytest.fixture(scope="module", params=["4.3.1", "3.9.1"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    options = Options(version=request.param, listeners=("PLAINTEXT", "SASL_PLAINTEXT"), class_archive=True)
    with Cluster(options) as started:
        ports = started.nodes[0].ports
        yield Broker(request.param, ("127.0.0.1", ports["PLAINTEXT"]), ("127.0.0.1", ports["SASL_PLAINTEXT"]))


@needs_brokers
@pytest.mark.broker
@pytest.mark.long
def test_a_broker_is_asked_for_its_versions_and_for_more(broker: Broker) -> None:
    release, address = broker.release, broker.plain
    own: list[Reply] = []
    with BrokerConnection.open(address, CONFIG, Deadline(60.0, time.monotonic), observe_own=own.append) as connection:
        assert connection.versions[3].high == {"4.3.1": 13, "3.9.1": 12}[release]
        version = connection.versions[3].high
        body = decoders.encode_message(3, version, "request", {"topics": []})
        reply = connection.send_request(3, version, body)
        assert connection.peer == f"{address[0]}:{address[1]}"
        assert connection.timing.connect_ns > 0
        assert connection.timing.tls_ns == connection.timing.auth_ns == 0
    assert reply.response_frame is not None
    answer = decoders.decode_response(reply.response_frame[4:], 3, version)
    assert answer.correlation_id == reply.correlation_id
    assert answer.body["brokers"][0]["port"] == address[1]
    assert [(each.api_key, each.version) for each in own] == [(18, 4)]
    assert (reply.api_key, reply.version) == (3, version)
    assert reply.begun_ns <= reply.sent_ns <= reply.first_ns <= reply.last_ns


@needs_brokers
@pytest.mark.broker
@pytest.mark.long
@pytest.mark.parametrize("name", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_bare_tokens_after_handshake_0(broker: Broker, name: str) -> None:
    session = session_of_bare_tokens(name, "alice-secret")
    said = drive(session, broker.sasl)
    tokens = 1 if name == "PLAIN" else 2
    assert session.authenticated
    assert said == ["SaslHandshake 0", *["a SASL token"] * tokens]


@needs_brokers
@pytest.mark.broker
@pytest.mark.long
@pytest.mark.parametrize("name", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_bare_tokens_with_a_wrong_password(broker: Broker, name: str) -> None:
    session = session_of_bare_tokens(name, "wrong")
    with pytest.raises(ConnectionStop, match=f"refused the {name} credentials: it closed the connection"):
        drive(session, broker.sasl)
    assert not session.authenticated


def session_of_bare_tokens(name: str, password: str) -> Session:
    return Session(
        client_id="kw",
        mechanism=lambda: make_mechanism(SaslSettings(name, "alice", password), "127.0.0.1", None),
        assumed=BARE,
    )


def drive(session: Session, address: Address) -> list[str]:
    """Run a session until it is authenticated; gives the requests it sent. Raises Stop."""
    said: list[str] = []
    with socket.create_connection(address, 60.0) as link:
        session.open()
        while not session.authenticated:
            while (out := session.take_outgoing()) is not None:
                said.append(str(out))
                link.sendall(out.frame)
            data = link.recv(4096)
            if not data:
                session.finish()
            session.feed(data, time.time_ns())
    return said
