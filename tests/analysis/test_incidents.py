"""The first finding names the cause of an incident: of captures that ship, and of incidents of real clusters."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from tests.analysis.faults.actors import findings_in
from tests.analysis.incidents.brokers import BROKER_INCIDENTS
from tests.analysis.incidents.clients import CLIENT_INCIDENTS
from tests.analysis.incidents.incident import Incident, IncidentActor
from tests.analysis.incidents.recording import (
    NETWORK_INCIDENTS,
    one_broker,
    record_incident,
    record_network_incident,
    three_brokers,
)
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.namespace import cannot_isolate
from tests.broker.recorder import Recorder
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw
from tests.waiting import until

_ALONE = cannot_isolate()
INCIDENTS = (*CLIENT_INCIDENTS, *BROKER_INCIDENTS, *NETWORK_INCIDENTS)
SHIPPED = sorted(file.name.removesuffix(".pcap.zst") for file in (FOLDER / "incidents").glob("*"))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with one_broker(tmp_path_factory.mktemp("one")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with three_brokers(tmp_path_factory.mktemp("three")) as cluster:
        yield cluster


def judge(incident: Incident, file: Path) -> None:
    """The first finding of `kw doctor` is the incident's."""
    rows = findings_in(file)
    told = [(row["severity"], row["id"], row["title"]) for row in rows]
    assert rows, "no finding at all"
    assert (rows[0]["id"], incident.words in rows[0]["title"]) == (incident.first, True), told


def names(incidents: tuple[Incident, ...]) -> list[str]:
    return [incident.name for incident in incidents]


def test_each_incident_ships() -> None:
    assert sorted(names(INCIDENTS)) == SHIPPED


@pytest.mark.parametrize("incident", INCIDENTS, ids=names(INCIDENTS))
def test_the_cause_comes_first(incident: Incident) -> None:
    judge(incident, FOLDER / "incidents" / f"{incident.name}.pcap.zst")


def _live(incidents: tuple[Incident, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("incident", incidents, ids=names(incidents))


@pytest.mark.broker
@pytest.mark.full
@needs_brokers
@_live(CLIENT_INCIDENTS)
def test_incidents_of_clients(broker: Cluster, incident: Incident, tmp_path: Path) -> None:
    record_incident(broker, incident, tmp_path / "incident.pcap")
    judge(incident, tmp_path / "incident.pcap")


@pytest.mark.broker
@pytest.mark.full
@needs_brokers
@_live(BROKER_INCIDENTS)
def test_incidents_of_nodes(brokers: Cluster, incident: Incident, tmp_path: Path) -> None:
    record_incident(brokers, incident, tmp_path / "incident.pcap")
    judge(incident, tmp_path / "incident.pcap")


@pytest.mark.broker
@pytest.mark.full
@needs_brokers
@pytest.mark.skipif(_ALONE is not None, reason=_ALONE or "")
@_live(NETWORK_INCIDENTS)
def test_incidents_of_networks(incident: Incident, tmp_path: Path) -> None:
    record_network_incident(tmp_path / "cluster", incident, tmp_path / "incident.pcap")
    judge(incident, tmp_path / "incident.pcap")


def _commands_in(remedy: str) -> list[list[str]]:
    """The command lines of kw in a remedy, without their program."""
    return [shlex.split(words)[1:] for words in re.findall(r"kw call .*?(?=;| \(|$)", remedy)]


@pytest.mark.broker
@pytest.mark.full
@needs_brokers
def test_the_command_of_a_remedy_ends_a_transaction_without_a_coordinator(broker: Cluster, tmp_path: Path) -> None:
    incident = next(its for its in CLIENT_INCIDENTS if its.first == "transaction-hangs")
    again = replace(incident, name="transaction-to-abort")
    record_incident(broker, again, tmp_path / "incident.pcap")
    row = findings_in(tmp_path / "incident.pcap")[0]
    ask, abort = _commands_in(row["remedy"])
    described = json.loads(kw(*ask, "-o", "ndjson").out)["response"]
    (producer,) = described["topics"][0]["partitions"][0]["active_producers"]
    assert producer["current_txn_start_offset"] == 0
    assert kw(*abort).code == 0
    reader = IncidentActor(broker, again.name).consumer(**{"isolation.level": "read_committed"})
    reader.assign([TopicPartition(again.name, 0, 0)])
    until(lambda: reader.poll(0.2))
    reader.close()


@pytest.mark.broker
@pytest.mark.full
@needs_brokers
def test_the_command_of_a_remedy_ends_an_open_transaction(broker: Cluster, tmp_path: Path) -> None:
    actor = IncidentActor(broker, "left-open")
    actor.create()
    with Recorder(tmp_path / "incident.pcap", [int(actor.place.rpartition(":")[2])]):
        hung = actor.producer(**{"transactional.id": "ledger-9", "transaction.timeout.ms": 300_000})
        hung.init_transactions(20)
        hung.begin_transaction()
        hung.produce(actor.topic, b"x")
        hung.flush(10)
        time.sleep(5)
        actor.write(5)
    rows = findings_in(tmp_path / "incident.pcap", "--threshold", "transaction.open=3")
    (row,) = (row for row in rows if row["id"] == "transaction-hangs")
    (abort,) = _commands_in(row["remedy"])
    reader = actor.consumer(**{"isolation.level": "read_committed"})
    reader.assign([TopicPartition(actor.topic, 0, 0)])
    assert reader.poll(2) is None
    assert "CONCURRENT_TRANSACTIONS" in kw(*abort).out  # the coordinator is about to abort it
    until(lambda: reader.poll(0.2))
    reader.close()
