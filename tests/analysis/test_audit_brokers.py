"""Verdicts against reality: clients recorded at brokers of old releases, then run against the broker asked about.

A client that is judged `breaks` does not get its records through the new broker, and one that `works` does.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, TopicPartition

from captures.make.libraries.releases import prepare
from tests.broker.clients.session import ClientFailed, start
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.jars import OLD_BROKERS, client_jars
from tests.broker.options import Options
from tests.broker.recorder import Recorder
from tests.broker.wheels import librdkafka
from tests.cli.worlds import kw, world

pytestmark = needs_brokers

TARGET: Final = "4.3.1"
BROKERS: Final = ("0.10.2.2", "1.1.1", "2.8.2", "3.9.1")
CLIENTS: Final = (
    *("java 0.9.0.1", "java 0.10.2.2", "java 0.11.0.3", "java 1.1.1", "java 2.0.1", "java 2.1.1", "java 2.8.2"),
    *("java 3.9.2", "java 4.3.1", "librdkafka 1.4.2", "librdkafka 1.8.2", "librdkafka 2.14.0"),
    *("kafka-python 1.4.7", "kafka-python 2.0.2", "kafka-python 2.3.0", "aiokafka 0.10.0", "aiokafka 0.13.0"),
    *("kafkajs 1.12.0", "kafkajs 2.2.4", "franz-go 1.7.1", "franz-go 1.22.2", "sarama 1.29.1", "sarama 1.46.3"),
)
QUICK: Final = ("java 0.10.2.2", "librdkafka 2.14.0", "kafka-python 2.0.2")
RECORDS: Final = 20
# A client without all its records by then does not get them.
PATIENCE_S: Final = 25


def play(label: str, place: str, topic: str) -> None:
    """Write records to a topic, and read them in a group of its name, with every setting left as the library has it."""
    family, _, release = label.partition(" ")
    if family in ("java", "librdkafka"):
        program = f"{'java' if family == 'java' else 'rdkafka'}-{release}"
        written = ("produce", {"topic": topic, "count": RECORDS})
        session = start(program, place, [written, ("consume", {"topics": [topic], "group": topic, "count": RECORDS})])
        try:
            with suppress(ClientFailed, subprocess.TimeoutExpired):
                session.finish(PATIENCE_S)
        finally:
            session.kill()
        return
    command, environment = prepare(family, release)
    words = [*command, place, topic, topic]
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(words, env={**os.environ, **environment}, capture_output=True, timeout=PATIENCE_S, check=False)


def have(label: str) -> None:
    """Fetch or build a client, so that a missing one fails here. Raises Missing, or the error of its installer."""
    family, _, release = label.partition(" ")
    if family == "java":
        client_jars(release)
    elif family == "librdkafka":
        librdkafka(release)
    else:
        prepare(family, release)


def came_through(place: str, topic: str) -> bool:
    """Whether all records are on the broker, and the group has committed that it read them."""
    where = TopicPartition(topic, 0)
    asking = Consumer({"bootstrap.servers": place, "group.id": topic})
    try:
        _, end = asking.get_watermark_offsets(where, timeout=20)
        (read,) = asking.committed([where], timeout=20)
    finally:
        asking.close()
    return bool(end >= RECORDS <= read.offset)


def topics_of(labels: Sequence[str]) -> list[str]:
    return [label.replace(" ", "-") for label in labels]


def make_topics(place: str, topics: Sequence[str]) -> None:
    """Create topics by kw: new releases of librdkafka do not understand brokers of 0.10 any more."""
    wanted = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in topics]
    body = json.dumps({"topics": wanted, "timeout_ms": 20_000}).encode()
    made = kw("call", "CreateTopics", "-b", place, "-o", "ndjson", "-", env=world(stdin=body))
    codes = [each["error_code"] for each in json.loads(made.out)["response"]["topics"]]
    assert codes == [0] * len(topics), made.out


def judged(folder: Path, version: str, labels: Sequence[str]) -> Iterator[str]:
    """The verdict of `kw audit` on each client, as recorded at a broker of a release."""
    old = version in OLD_BROKERS
    options = Options(version=version, mode="zookeeper" if old else "kraft", heap="256m")
    file, spans = folder / f"{version}.pcap", []
    with Cluster(options) as cluster:
        place = cluster.bootstrap()
        make_topics(place, topics_of(labels))
        with Recorder(file, [int(place.rpartition(":")[2])]):
            for label, topic in zip(labels, topics_of(labels), strict=True):
                begin = time.time_ns()
                play(label, place, topic)
                spans.append((begin, time.time_ns()))
                time.sleep(0.3)
    for begin, end in spans:
        since, until = (datetime.fromtimestamp(ns / 1e9, UTC).isoformat() for ns in (begin, end))
        words = ("--target", "4.3", "--since", since, "--until", until, "-o", "ndjson", "-q")
        rows = [json.loads(line) for line in kw("audit", str(file), *words).out.splitlines()]
        verdicts = {row["verdict"] for row in rows if row["client_id"] != "kw"}
        yield next((each for each in ("breaks", "unknown") if each in verdicts), "works" if rows else "unknown")


def outcomes(labels: Sequence[str]) -> dict[str, bool]:
    with Cluster(Options(version=TARGET)) as cluster:
        place = cluster.bootstrap()
        make_topics(place, topics_of(labels))
        for label, topic in zip(labels, topics_of(labels), strict=True):
            play(label, place, topic)
        return {label: came_through(place, topic) for label, topic in zip(labels, topics_of(labels), strict=True)}


def compare(folder: Path, brokers: Sequence[str], labels: Sequence[str]) -> dict[tuple[str, str], str]:
    """(broker, client) → the verdict; fails for verdicts that the new broker contradicts."""
    for label in labels:
        have(label)
    works = outcomes(labels)
    found = {
        (version, label): verdict
        for version in brokers
        for label, verdict in zip(labels, judged(folder, version, labels), strict=True)
    }
    table = [f"{'client':20} {'at ' + TARGET:9} {' '.join(f'{each:9}' for each in brokers)}"]
    for label in labels:
        verdicts = " ".join(f"{found[version, label]:9}" for version in brokers)
        table.append(f"{label:20} {'works' if works[label] else 'fails':9} {verdicts}")
    wrong = {
        (version, label): verdict
        for (version, label), verdict in found.items()
        if verdict != "unknown" and (verdict == "works") != works[label]
    }
    assert not wrong, "\n".join(table)
    assert set(works.values()) == {True, False}
    return found


@pytest.mark.full
def test_verdicts_on_clients_of_a_broker_of_1_1_come_true(tmp_path: Path) -> None:
    found = compare(tmp_path, ["1.1.1"], QUICK)
    assert {"breaks", "works"} <= set(found.values())


@pytest.mark.full
def test_verdicts_come_true(tmp_path: Path) -> None:
    found = compare(tmp_path, BROKERS, CLIENTS)
    # Brokers of 3.9 limit no client's versions, so that there is a verdict on each.
    assert [label for label in CLIENTS if found["3.9.1", label] == "unknown"] == []
