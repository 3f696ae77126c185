"""The listeners of a real broker, with right and wrong settings: TLS or not, SASL or not, broker or controller."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

import decoders
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import (
    Address,
    ClientConfig,
    KeyStoreFile,
    Protocol,
    SaslSettings,
    TlsSettings,
)
from kwcli.net.session.blocking_connection import BrokerConnection, Reply
from kwcli.run_environment import Exit, Failure
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options

pytestmark = [needs_brokers, pytest.mark.broker, pytest.mark.long]

LIFETIME_S = 2.5
PLAIN = SaslSettings("PLAIN", "alice", "alice-secret")
METADATA = decoders.encode_message(3, 12, "request", {"topics": []})


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    options = Options(
        listeners=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        class_archive=True,
        properties={"listener.name.sasl_plaintext.plain.connections.max.reauth.ms": str(int(LIFETIME_S * 1000))},
    )
    with Cluster(options) as started:
        yield started


def address(cluster: Cluster, listener: str) -> Address:
    return ("127.0.0.1", cluster.nodes[0].ports[listener])


def config(cluster: Cluster, protocol: Protocol) -> ClientConfig:
    return ClientConfig(
        servers=(),
        protocol=protocol,
        tls=TlsSettings(authorities=KeyStoreFile(path=str(cluster.folder / "tls" / "ca.pem")))
        if "SSL" in protocol
        else None,
        sasl=PLAIN if "SASL" in protocol else None,
    )


def ask(cluster: Cluster, listener: str, how: ClientConfig) -> list[Reply]:
    """Open a connection and ask for Metadata; gives every exchange on the way."""
    replies: list[Reply] = []
    deadline = Deadline(60.0, time.monotonic)
    with BrokerConnection.open(address(cluster, listener), how, deadline, observe_own=replies.append) as connection:
        replies.append(connection.send_request(3, 12, METADATA))
    return replies


@pytest.mark.parametrize("listener", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_a_listener_spoken_to_as_it_wants(cluster: Cluster, listener: Protocol) -> None:
    replies = ask(cluster, listener, config(cluster, listener))
    login = [(17, 1), (36, 2)] if "SASL" in listener else []
    assert [(each.api_key, each.version) for each in replies] == [(18, 4), *login, (3, 12)]


@pytest.mark.parametrize(
    ("spoken", "listener", "line", "code"),
    [
        ("PLAINTEXT", "SSL", "speaks TLS; try -X security.protocol=SSL", Exit.UNREACHABLE),
        ("PLAINTEXT", "SASL_SSL", "speaks TLS; try -X security.protocol=SSL", Exit.UNREACHABLE),
        ("SASL_PLAINTEXT", "SASL_SSL", "speaks TLS; try -X security.protocol=SASL_SSL", Exit.UNREACHABLE),
        ("SSL", "PLAINTEXT", "speaks Kafka without TLS; try -X security.protocol=PLAINTEXT", Exit.UNREACHABLE),
        (
            "SASL_SSL",
            "SASL_PLAINTEXT",
            "speaks Kafka without TLS; try -X security.protocol=SASL_PLAINTEXT",
            Exit.UNREACHABLE,
        ),
        (
            "SASL_PLAINTEXT",
            "PLAINTEXT",
            "does not authenticate on this listener; try -X security.protocol=PLAINTEXT",
            Exit.REFUSED,
        ),
        ("SASL_SSL", "SSL", "does not authenticate on this listener; try -X security.protocol=SSL", Exit.REFUSED),
        (
            "PLAINTEXT",
            "SASL_PLAINTEXT",
            "closed the connection instead of answering Metadata 12: it wants SASL (PLAIN, ",
            Exit.REFUSED,
        ),
        (
            "SSL",
            "SASL_SSL",
            "closed the connection instead of answering Metadata 12: it wants SASL (PLAIN, ",
            Exit.REFUSED,
        ),
        ("SSL", "CONTROLLER", "speaks Kafka without TLS; try -X security.protocol=PLAINTEXT", Exit.UNREACHABLE),
        (
            "PLAINTEXT",
            "CONTROLLER",
            "closed the connection instead of answering Metadata 12; it is a controller",
            Exit.UNREACHABLE,
        ),
    ],
)
def test_a_listener_spoken_to_as_another(
    cluster: Cluster, spoken: Protocol, listener: str, line: str, code: Exit
) -> None:
    begun = time.monotonic()
    with pytest.raises(Failure) as caught:
        ask(cluster, listener, config(cluster, spoken))
    assert caught.value.text.startswith(f"127.0.0.1:{address(cluster, listener)[1]} {line}")
    assert caught.value.code is code
    assert time.monotonic() - begun < 50.0  # before its time-out


def test_a_login_is_renewed_before_it_ends_and_after(cluster: Cluster) -> None:
    replies: list[Reply] = []
    deadline = Deadline(60.0, time.monotonic)
    how = config(cluster, "SASL_PLAINTEXT")
    broker = address(cluster, "SASL_PLAINTEXT")
    with BrokerConnection.open(broker, how, deadline, observe_own=replies.append) as connection:
        for pause_s in (0.0, LIFETIME_S * 0.9, LIFETIME_S * 1.2, 0.0):
            time.sleep(pause_s)
            replies.append(connection.send_request(3, 12, METADATA))
    login = [17, 36]
    assert [each.api_key for each in replies] == [18, *login, 3, *login, 3, *login, 3, 3]


def test_refused_credentials_are_refused_at_renewal_too(cluster: Cluster) -> None:
    how = config(cluster, "SASL_PLAINTEXT")
    wrong = how._replace(sasl=PLAIN._replace(password="wrong"))
    with pytest.raises(Failure, match="refused the PLAIN credentials: Authentication failed") as caught:
        ask(cluster, "SASL_PLAINTEXT", wrong)
    assert caught.value.code is Exit.REFUSED
