"""Client libraries recognised by their traits: recorded and held-out releases, old clients, and unknown ones."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import defaultdict
from typing import Any, Final

import pytest

from captures.make.libraries.releases import FAMILIES, HELD_OUT, MINORS, NAMES
from captures.make.libraries.table import TABLE, TRIED, table_of
from decoders.exchanges.client_library_table import LIBRARIES
from decoders.exchanges.client_library_traits import Traits
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.find_client_library import find_library_by_traits, find_program_of_client_id
from tests.exchanges.test_history import of_capture

ROWS: Final[list[dict[str, Any]]] = [json.loads(line) for line in TRIED.read_text().splitlines()]
SILENT: Final = [row for row in ROWS if not row["software"]]
LABELS: Final = list(dict.fromkeys(row["label"] for row in SILENT))


def traits_of(row: dict[str, Any], **other: Any) -> Traits:
    """The traits of a recorded connection, with some values replaced."""
    row = {**row, **other}
    traits = Traits(opened=row.get("opened", True))
    traits.client_id, traits.replica = row["client_id"], row["replica"]
    traits.versions = {int(key): version for key, version in row["versions"].items()}
    traits.offered = {int(key): version for key, version in row["offered"].items()}
    traits.values = {int(key): value for key, value in row["values"].items()}
    return traits


def is_right(label: str, said: dict[str, Any]) -> bool:
    """Whether a release is in the range that was recognised."""
    family, _, release = label.partition(" ")
    if said["name"] != NAMES[family] or release in (said["from"], said["to"]):
        return bool(said["name"] == NAMES[family])
    minors = MINORS.get(family)
    if minors is None:
        return said["from"] is None and said["to"] is None

    def at(name: str) -> int:
        return next(number for number, minor in enumerate(minors) if name == minor or name.startswith(f"{minor}."))

    here = at(release)
    return (said["from"] is None or at(said["from"]) <= here) and (said["to"] is None or here <= at(said["to"]))


@pytest.mark.parametrize("label", LABELS)
def test_a_library_is_right_or_absent(label: str) -> None:
    """Releases that the table was not made from count too; with their own client ids, and with a configured one."""
    for row in SILENT:
        if row["label"] == label:
            for client_id in (row["client_id"], "shop", ""):
                said = find_library_by_traits(traits_of(row, client_id=client_id), LIBRARIES)
                assert said is None or is_right(label, said), (row, said)


def test_each_library_is_known_by_some_of_its_connections() -> None:
    known: defaultdict[str, set[str | None]] = defaultdict(set)
    for row in SILENT:
        said = find_library_by_traits(traits_of(row, client_id="shop"), LIBRARIES)
        known[row["label"].partition(" ")[0]] |= {None if said is None else said["name"]}
    quiet = {family for family, names in known.items() if {*names} == {None}}
    assert {family for family in known if family not in quiet} == {
        *("java", "aiokafka", "kafkajs", "sarama", "kafka-go"),
    }
    told = [find_library_by_traits(traits_of(row), LIBRARIES) for row in SILENT]
    assert sum(said is not None for said in told) > len(told) * 0.45
    assert {said["name"] for said in told if said} == {row.name for row in LIBRARIES}


def test_half_of_all_releases_held_out_are_among_those_tried() -> None:
    assert len(HELD_OUT & {*LABELS}) >= 10
    assert {f"{family} {release}" for family, releases in FAMILIES.items() for release in releases} >= HELD_OUT


def test_the_table_is_what_its_recordings_give() -> None:
    ruff = shutil.which("ruff")
    if ruff is None:
        pytest.skip("ruff, which formats it, is not installed")
    command = [ruff, "format", "-q", "--stdin-filename", str(TABLE), "-"]
    done = subprocess.run(command, input=table_of(ROWS), capture_output=True, text=True, check=True)
    assert done.stdout == TABLE.read_text()


SARAMA: Final = next(row for row in SILENT if row["label"] == "sarama 1.41.3" and "0" in row["versions"])
JAVA: Final = next(row for row in SILENT if row["label"] == "java 2.1.1" and "11" in row["versions"])
# The traits → the reason why no library can be told.
NOBODY: Final[dict[str, dict[str, Any]]] = {
    "the start was not seen": {"opened": False},
    "a version that it does not have": {"versions": {**JAVA["versions"], "11": 4}},
    "another default": {"values": {**JAVA["values"], "11": "consumer roundrobin"}},
    "a version that the broker limits": {"offered": dict.fromkeys(JAVA["offered"], 0)},
    "its offer is unknown": {"offered": {}},
    "nothing but versions": {"values": {}, "client_id": "shop"},
    "too few versions": {"versions": {"11": 3, "18": 2}, "client_id": "shop"},
}


@pytest.mark.parametrize("name", NOBODY)
def test_what_is_not_enough(name: str) -> None:
    assert find_library_by_traits(traits_of(JAVA), LIBRARIES) is not None
    assert find_library_by_traits(traits_of(JAVA, **NOBODY[name]), LIBRARIES) is None


def test_what_fits_two_libraries_is_none() -> None:
    (row,) = [row for row in LIBRARIES if (row.name, row.since) == ("kafka-python", "2.0")]
    twin = row._replace(name="aiokafka")
    traits = Traits(opened=True)
    traits.versions, traits.offered, traits.values = {18: 0, 1: 4, 2: 1}, {1: 17, 2: 9}, {1: row.values[1][0]}
    said = find_library_by_traits(traits, [row])
    assert said == {
        "name": "kafka-python",
        "from": "2.0",
        "to": "2.0",
        "sure": False,
        "why": "Fetch 4, ListOffsets 1, defaults of Fetch",
    }
    assert find_library_by_traits(traits, [row, twin]) is None


PROGRAMS: Final = {
    "connector-consumer-orders-sink-0": "Kafka Connect",
    "connector-producer-db-source-3": "Kafka Connect",
    "connector-dlq-producer-sink-0": "Kafka Connect",
    "shop-6b0c8fd6-1b0e-4b7e-9bd4-6ad0e0b8f0a1-StreamThread-1-consumer": "Kafka Streams",
    "shop-6b0c8fd6-StreamThread-2-restore-consumer": "Kafka Streams",
    "shop-6b0c8fd6-StreamThread-2-producer": "Kafka Streams",
    "_confluent-ksql-default_query_CTAS_1-9f-StreamThread-1-consumer": "ksqlDB",
    "consumer-spark-kafka-source-0a1b2c3d-1-executor-2": "Spark",
    "orders-enumerator-admin-client": "Flink",
    "broker-1-fetcher-0": "kafka-broker",
    "raft-client-3": "kafka-broker",
    "broker-2-to-controller-forwarding-channel-manager": "kafka-broker",
    "connector": None,
    "my-connector-consumer-1": None,
    "StreamThread-1": None,
    "spark": None,
    "broker-1": None,
    "raft-client-x": None,
    "broker-1-fetcher-" + "0" * 600: None,
}


@pytest.mark.parametrize(("client_id", "name"), PROGRAMS.items())
def test_programs_by_the_client_ids_that_they_make(client_id: str, name: str | None) -> None:
    said = find_program_of_client_id(client_id)
    assert (said["name"] if said else None) == name


# Capture → the libraries of clients that do not send their software.
SHIPPED: Final[dict[str, set[tuple[str | None, str]]]] = {
    "old-clients.pcap.gz": {("java-1", "apache-kafka-java")},
    "sasl-raw.pcap": {("producer-1", "apache-kafka-java"), ("consumer-1", "apache-kafka-java")},
    "sasl-gssapi.pcap.gz": {("producer-1", "apache-kafka-java"), ("consumer-1", "apache-kafka-java")},
    "tour.pcapng": {("web-1", "kafkajs"), ("billing-1", "aiokafka"), ("report-1", "apache-kafka-java")},
    "share-groups.pcapng": set(),
    "telemetry.pcapng": set(),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_real_clients(name: str) -> None:
    """Each real client is recognised as what its recording says (captures/README.md), without the brokers."""
    found = {
        (row.client_id, row.extra["library"]["name"])
        for row in of_capture(name)
        if isinstance(row, Exchange) and row.extra and "library" in row.extra
    }
    assert {each for each in found if each[1] != "kafka-broker"} == SHIPPED[name]
