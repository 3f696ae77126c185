"""`kw doctor -b`: what it asks a cluster for, and that it changes nothing there."""

from __future__ import annotations

import json
import re
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

import decoders
from decoders.protocol_facts.guess_release_from_offered_versions import stable_versions_of_release
from kwcli.run_environment import Exit
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.cli.worlds import Outcome, kw, world
from tests.net.playbook import offers
from tests.net.responder import Responder, each_request, framed

METADATA, API_VERSIONS, DESCRIBE_QUORUM = 3, 18, 55


class Answers:
    """A broker of one node with one topic; tests change its answers."""

    def __init__(self) -> None:
        self.asked: set[int] = set()
        self.port = 0
        self.isr, self.replicas = [1], [1]
        self.clock_ms = 0
        self.features = (27, 27)
        self.others: list[dict[str, Any]] = []
        self.offers: dict[int, tuple[int, int]] = {METADATA: (0, 13), API_VERSIONS: (0, 4), DESCRIBE_QUORUM: (0, 2)}
        self.unanswered = frozenset[int]()

    def answer(self, frame: bytes) -> bytes | None:
        key, version, correlation_id = struct.unpack(">hhi", frame[:8])
        self.asked.add(key)
        level, most = self.features
        if key in self.unanswered:
            return None
        value: dict[str, Any] = offers(self.offers)
        value["finalized_features"] = [
            {"name": "metadata.version", "min_version_level": level, "max_version_level": level}
        ]
        value["supported_features"] = [{"name": "metadata.version", "min_version": 1, "max_version": most}]
        if key == METADATA:
            part = {"partition_index": 0, "leader_id": 1, "replica_nodes": self.replicas, "isr_nodes": self.isr}
            nodes = [{"node_id": 1, "host": "127.0.0.1", "port": self.port}, *self.others]
            topics = [{"name": "orders", "partitions": [part]}]
            value = {"brokers": nodes, "controller_id": 1, "cluster_id": "a-cluster", "topics": topics}
        elif key == DESCRIBE_QUORUM:
            voter = {"replica_id": 1, "last_caught_up_timestamp": round(time.time() * 1000) + self.clock_ms}
            parts = [{"partition_index": 0, "leader_id": 1, "current_voters": [voter]}]
            value = {"topics": [{"topic_name": "__cluster_metadata", "partitions": parts}]}
        return framed(decoders.encode_response(key, version, value, correlation_id=correlation_id))


@contextmanager
def broker() -> Iterator[tuple[Answers, str]]:
    made = Answers()
    with Responder(*[each_request(made.answer)] * 20) as served:
        made.port = served.address[1]
        yield made, f"127.0.0.1:{made.port}"


def found(outcome: Outcome) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in map(json.loads, outcome.out.splitlines())}


def test_a_cluster_without_trouble() -> None:
    with broker() as (made, where):
        outcome = kw("doctor", "-b", where)
        assert (outcome.code, outcome.out, outcome.err) == (Exit.DONE, "", "kw: nothing found\n")
        assert made.asked == {METADATA, API_VERSIONS, DESCRIBE_QUORUM}


def test_what_is_wrong_is_told() -> None:
    with broker() as (made, where):
        made.isr, made.clock_ms, made.features = [], 60_000, (20, 27)
        made.others = [{"node_id": 2, "host": "127.0.0.1", "port": 1}]
        outcome = kw("doctor", "-b", where, "--timeout", "5")
        rows = found(outcome)
        assert outcome.code == Exit.FINDINGS
        assert set(rows) == {"under-replicated", "controller-clock", "feature-behind", "unreachable"}
        assert rows["unreachable"]["title"].startswith("node 2 at 127.0.0.1:1 cannot be reached from here: refused")
        assert (rows["unreachable"]["node_id"], rows["unreachable"]["address"]) == (2, "127.0.0.1:1")
        assert rows["under-replicated"]["title"] == "orders-0 under-replicated: node 1 is not in sync"
        assert " apart" in rows["controller-clock"]["title"]
        assert rows["feature-behind"]["title"].startswith("metadata.version is at level 20, all brokers support 27")
        assert rows["under-replicated"]["evidence"][0]["packets"] is None


def test_a_node_that_replicas_name_and_brokers_do_not_list_is_an_error() -> None:
    """A controller that has fenced a broker leaves it out of the list of brokers: nothing refuses or is silent."""
    with broker() as (made, where):
        made.replicas = [1, 3]
        outcome = kw("doctor", "-b", where, "--timeout", "5")
        rows = found(outcome)
        assert outcome.code == Exit.FINDINGS
        assert set(rows) == {"broker-gone", "under-replicated"}
        assert (rows["broker-gone"]["severity"], rows["broker-gone"]["node_id"]) == ("error", 3)
        assert (
            rows["broker-gone"]["title"] == "node 3 is gone: brokers no longer list it; a replica of orders-0 is there"
        )


def test_brokers_of_different_releases() -> None:
    with broker() as (made, where), broker() as (other, _):
        made.offers, other.offers = (
            {key: (its.low, its.high) for key, its in stable_versions_of_release(name).items()}
            for name in ("3.9", "4.1")
        )
        made.others = [{"node_id": 2, "host": "127.0.0.1", "port": other.port}]
        outcome = kw("doctor", "-b", where, "--timeout", "5")
        rows = found(outcome)
        assert (outcome.code, set(rows)) == (Exit.DONE, {"releases-differ"})
        assert rows["releases-differ"]["title"] == "brokers look like different releases: 3.9 (node 1); 4.1 (node 2)"


def test_a_controller_that_does_not_answer() -> None:
    with broker() as (made, where):
        made.unanswered = frozenset({DESCRIBE_QUORUM})
        outcome = kw("doctor", "-b", where, "--timeout", "5")
        rows = found(outcome)
        assert (outcome.code, set(rows)) == (Exit.FINDINGS, {"controller-silent"})
        assert rows["controller-silent"]["title"].startswith(f"{where} gets no answer from the controller: ")


def test_brokers_for_which_no_time_is_left() -> None:
    """The clock advances with each reading; brokers that no time is left for are told as not looked at."""
    with broker() as (made, where):
        made.others = [{"node_id": number, "host": f"127.0.1.{number}", "port": 1} for number in range(2, 100)]
        env = world()
        env.monotonic = (number / 20 for number in count()).__next__
        outcome = kw("doctor", "-b", where, "--timeout", "5", env=env)
        rows = found(outcome)
        assert (outcome.code, set(rows)) == (Exit.FINDINGS, {"unreachable", "not-looked-at"})
        title = rows["not-looked-at"]["title"]
        assert re.fullmatch(r"node 1\d at 127\.0\.1\.1\d:1, .* and \d\d more were not examined: time was up", title)


def test_a_server_that_is_not_there() -> None:
    outcome = kw("doctor", "-b", "127.0.0.1:1")
    assert (outcome.code, set(found(outcome))) == (Exit.UNREACHABLE, {"unreachable"})
    with broker() as (_, where):
        outcome = kw("doctor", "-b", f"127.0.0.1:1,{where}")
        assert (outcome.code, set(found(outcome))) == (Exit.FINDINGS, {"unreachable"})


def test_names_that_do_not_resolve(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = socket.getaddrinfo

    def without_kafka_2(host: bytes | str, *words: Any, **settings: Any) -> Any:
        if host in (b"kafka-2.invalid", "kafka-2.invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve(host, *words, **settings)

    monkeypatch.setattr("kwcli.net.open_connections.socket.getaddrinfo", without_kafka_2)
    why = "no address for 'kafka-2.invalid'; is it spelt right? (containers and port-forwards: --dial-map)"
    with broker() as (made, where):
        made.others = [{"node_id": 2, "host": "kafka-2.invalid", "port": 9092}]
        outcome = kw("doctor", "-b", where, "--timeout", "5")
        rows = found(outcome)
        assert (outcome.code, set(rows)) == (Exit.FINDINGS, {"unreachable"})
        assert (rows["unreachable"]["node_id"], rows["unreachable"]["address"]) == (2, "kafka-2.invalid:9092")
        assert rows["unreachable"]["title"] == f"node 2 at kafka-2.invalid:9092 cannot be reached from here: {why}"
    outcome = kw("doctor", "-b", "kafka-2.invalid:9092")
    assert outcome.code == Exit.UNREACHABLE
    assert found(outcome)["unreachable"]["address"] == "kafka-2.invalid:9092"


NAMING = (
    ("-b", "127.0.0.1:1"),
    ("--bootstrap-controller", "127.0.0.1:1"),
    ("-X", "bootstrap.servers=127.0.0.1:1"),
    ("-X", "metadata.broker.list=127.0.0.1:1"),
    ("-F", "client.properties"),
    ("--profile", "prod"),
)


@pytest.mark.parametrize("words", NAMING)
def test_either_a_cluster_or_its_traffic(words: tuple[str, str]) -> None:
    outcome = kw("doctor", "x.pcap", *words)
    assert outcome.code == Exit.USAGE
    text = "kw: -b, a profile and properties examine a cluster, FILE and -i examine traffic: give one of them\n"
    assert outcome.err == text


@pytest.mark.parametrize("words", NAMING[:4])
def test_an_address_is_enough(words: tuple[str, str]) -> None:
    outcome = kw("doctor", *words, "--timeout", "1")
    assert outcome.code == Exit.UNREACHABLE
    assert "127.0.0.1:1" in outcome.out


@pytest.mark.full
@pytest.mark.broker
@needs_brokers
def test_a_real_cluster_that_loses_a_node() -> None:
    with Cluster(Options(nodes=3)) as cluster:
        where = cluster.bootstrap()
        made = kw("call", "CreateTopics", "-b", where, "topics[].name=orders", "topics[].num_partitions=6",
                  "topics[].replication_factor=3")  # fmt: skip
        assert made.code == Exit.DONE, made.err
        healthy = kw("doctor", "-b", where)
        assert (healthy.code, healthy.out) == (Exit.DONE, "")
        cluster.kill_node(3)
        limit = time.monotonic() + 60
        ids: set[str] = set()
        while "under-replicated" not in ids and time.monotonic() < limit:
            outcome = kw("doctor", "-b", where)
            ids |= set(found(outcome))
            time.sleep(0.5)
        assert ids >= {"unreachable", "under-replicated"}
