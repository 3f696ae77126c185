"""The first finding names the cause of an incident: of captures that ship, and of incidents of real clusters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analysis.faults.actors import findings_in
from tests.analysis.incidents.brokers import BROKER_INCIDENTS
from tests.analysis.incidents.clients import CLIENT_INCIDENTS
from tests.analysis.incidents.incident import Incident
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
from tests.captures.shipped import FOLDER

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
