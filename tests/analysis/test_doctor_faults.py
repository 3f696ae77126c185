"""Faults made on purpose with real brokers and clients are found, and little else: one row a finding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.faults.actors import Actor, Fault, findings_in
from tests.analysis.faults.clients import CLIENT_FAULTS
from tests.analysis.faults.links import LINK_FAULTS, LinkActor
from tests.analysis.faults.nodes import NODE_FAULTS, NodesActor
from tests.analysis.faults.recording import (
    one_broker,
    record_client_fault,
    record_link_fault,
    record_node_fault,
    three_brokers,
)
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.namespace import cannot_isolate

pytestmark = [pytest.mark.broker, pytest.mark.full, needs_brokers]
_ALONE = cannot_isolate()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with one_broker(tmp_path_factory.mktemp("faults")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with three_brokers(tmp_path_factory.mktemp("nodes")) as cluster:
        yield cluster


def judge(fault: Fault[Any], file: Path) -> None:
    """The fault's finding is reported, and no other warning or error but those in `besides`."""
    rows = findings_in(file, *fault.words)
    told = [(row["severity"], row["id"], row["title"]) for row in rows]
    assert fault.finding in {row["id"] for row in rows}, told
    others = {row["id"] for row in rows if row["severity"] != "note"} - {fault.finding}
    assert others <= fault.besides, told


def names(faults: tuple[Fault[Any], ...]) -> list[str]:
    """The names of the findings in rows."""
    return [fault.finding for fault in faults]


@pytest.mark.parametrize("fault", CLIENT_FAULTS, ids=names(CLIENT_FAULTS))
def test_a_fault_of_clients_is_found(broker: Cluster, fault: Fault[Actor], tmp_path: Path) -> None:
    file = tmp_path / "fault.pcap"
    record_client_fault(broker, fault, file)
    judge(fault, file)


@pytest.mark.parametrize("fault", NODE_FAULTS, ids=names(NODE_FAULTS))
def test_a_fault_of_nodes_is_found(brokers: Cluster, fault: Fault[NodesActor], tmp_path: Path) -> None:
    file = tmp_path / "fault.pcap"
    record_node_fault(brokers, fault, file)
    judge(fault, file)


@pytest.mark.skipif(_ALONE is not None, reason=_ALONE or "")
@pytest.mark.parametrize("fault", LINK_FAULTS, ids=names(LINK_FAULTS))
def test_a_fault_of_links_is_found(fault: Fault[LinkActor], tmp_path: Path) -> None:
    file = tmp_path / "fault.pcap"
    record_link_fault(tmp_path / "broker", fault, file)
    judge(fault, file)
