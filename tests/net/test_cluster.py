"""A cluster's connections: opened within the time limit, and with the login that is configured."""

from __future__ import annotations

import socket
import struct
import time

import pytest

import decoders
from kwcli.net.cluster_client import ClusterClient
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import ClientConfig
from tests.net.playbook import offers
from tests.net.responder import Responder, each_request, framed

Heard = list[tuple[int, int, dict[str, object]]]


def silent(link: socket.socket) -> None:
    while link.recv(4096):
        pass


class Node:
    """A broker that lists itself in Metadata, with ApiVersions up to `highest`; `heard` are the requests it got."""

    def __init__(self, highest: int = 4) -> None:
        self.heard: Heard = []
        self.port = 0
        self._highest = highest

    def answer(self, frame: bytes) -> bytes:
        key, version, correlation_id = struct.unpack(">hhi", frame[:8])
        known = version <= {3: 13, 18: self._highest}[key]
        if known:
            self.heard.append((key, version, decoders.decode_request(frame).body))
        if key == 3:
            node = {"node_id": 7, "host": "localhost", "port": self.port}
            value: dict[str, object] = {"brokers": [node], "controller_id": 7, "cluster_id": "a-cluster", "topics": []}
        else:
            value = offers({3: (0, 13), 18: (0, self._highest)}, error=0 if known else 35)
        layout = version if known else 0
        return framed(decoders.encode_response(key, layout, value, correlation_id=correlation_id))


@pytest.mark.long
def test_a_silent_server_leaves_time_for_the_others() -> None:
    told: list[str] = []
    node = Node()
    with Responder(silent) as nobody, Responder(each_request(node.answer)) as broker:
        config = ClientConfig(servers=(nobody.address, broker.address))
        deadline = Deadline(4.0, time.monotonic)
        with ClusterClient(config, deadline, tell=lambda line, _important: told.append(line)) as cluster:
            connection = cluster.connect_to_any()
            assert connection.address == broker.address
            assert connection.deadline is deadline
            assert 0.0 < deadline.left() < 2.1
    (line,) = told
    assert "accepted the connection but says nothing within 2 s" in line


def test_brokers_that_want_to_hear_it_are_told_whom_we_take_them_for() -> None:
    node = Node(highest=5)
    with Responder(each_request(node.answer)) as broker:
        node.port = broker.address[1]
        with ClusterClient(ClientConfig(servers=(broker.address,)), Deadline(60.0, time.monotonic)) as cluster:
            cluster.connect_to_node(7)  # it advertises itself as localhost, which is another address
    asked = [(version, body.get("cluster_id"), body.get("node_id")) for key, version, body in node.heard if key == 18]
    assert asked == [(4, None, None), (5, "a-cluster", 7)]


def test_brokers_that_do_not_know_it_are_not_asked_twice() -> None:
    node = Node(highest=4)
    with Responder(each_request(node.answer)) as broker:
        node.port = broker.address[1]
        with ClusterClient(ClientConfig(servers=(broker.address,)), Deadline(60.0, time.monotonic)) as cluster:
            cluster.connect_to_node(7)
    assert [version for key, version, _ in node.heard if key == 18] == [4, 4]
