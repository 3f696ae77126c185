"""Connections to real brokers: opened, asked, closed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

import decoders
from kwcli.net.blocking import Connection, Reply
from kwcli.net.core.config import ClientConfig
from kwcli.net.deadline import Deadline
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options

CONFIG = ClientConfig(servers=())


@pytest.fixture(scope="module", params=["4.3.1", "3.9.1"])
def broker(request: pytest.FixtureRequest) -> Iterator[tuple[str, tuple[str, int]]]:
    with Cluster(Options(version=request.param, class_archive=True)) as started:
        host, _, port = started.bootstrap().rpartition(":")
        yield request.param, (host, int(port))


@needs_brokers
@pytest.mark.broker
def test_a_broker_is_asked_for_its_versions_and_for_more(broker: tuple[str, tuple[str, int]]) -> None:
    release, address = broker
    replies: list[Reply] = []
    with Connection.open(address, CONFIG, Deadline(10.0, time.monotonic), record=replies.append) as connection:
        assert connection.versions[3].high == {"4.3.1": 13, "3.9.1": 12}[release]
        version = connection.versions[3].high
        body = decoders.encode_message(3, version, "request", {"topics": []})
        reply = connection.request(3, version, body)
        assert connection.peer == f"{address[0]}:{address[1]}"
        assert connection.timing.connect_ns > 0
        assert connection.timing.tls_ns == connection.timing.auth_ns == 0
    assert reply.response_frame is not None
    answer = decoders.decode_response(reply.response_frame[4:], 3, version)
    assert answer.correlation_id == reply.correlation_id
    assert answer.body["brokers"][0]["port"] == address[1]
    assert [(each.api_key, each.version) for each in replies] == [(18, 4), (3, version)]
    assert replies[1] is reply
    assert reply.begun_ns <= reply.sent_ns <= reply.first_ns <= reply.last_ns
