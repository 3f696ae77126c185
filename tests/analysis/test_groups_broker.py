"""Timelines and lags of `kw groups` on a real broker, against the broker's log and kafka-consumer-groups."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import pytest

from decoders.wire.parse_units import parse_time
from kwcli.playground.java_process import JAVA_FLAGS
from tests.broker.clients.session import Step, run, start
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.jars import tool_jars
from tests.broker.options import Options
from tests.broker.recorder import Recorder
from tests.cli.worlds import kw

VERSION = "4.3.1"
SLACK = 150 * 10**6  # between the clock of the log and that of the capture, in ns
QUICK = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "1000"}
STABLE = re.compile(r"Stabilized group (\S+) generation (\d+) .*?with (\d+) members")
PREPARING = re.compile(r"Preparing to rebalance group (\S+) in state \w+ with old generation (\d+) \(reason: (.*)\)\.")
# The broker's reason → our cause, and where the member id is.
REASONS = (
    (re.compile(r"Adding new member (\S+)|[Dd]ynamic member (\S+) joins|new member (\S+)"), "joined"),
    (re.compile(r"explicit `LeaveGroup` request for \((\S+?)[,)]|emoving member (\S+) on LeaveGroup"), "left"),
    (re.compile(r"emoving member (\S+) on heartbeat expiration"), "gone"),
    (
        re.compile(r"(?:Updating metadata for|[Ll]eader|ember) (?:member )?(\S+) (?:during|re-joining|joining)"),
        "rejoined",
    ),
)


class Scene(NamedTuple):
    """The rows of a recording, the broker's log, and the output of kafka-consumer-groups at the end, by group."""

    rows: dict[str, dict[str, Any]]
    log: str
    said: dict[str, dict[tuple[str, int], tuple[int | None, int | None, int | None]]]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Members come, leave, crash; then producers go on while nobody reads."""
    folder = tmp_path_factory.mktemp("groups")
    options = Options(listeners=("INTERNAL", "PLAINTEXT"), class_archive=True, version=VERSION)
    with Cluster(options, folder / "cluster") as cluster:
        place = cluster.bootstrap()
        file = folder / "groups.pcap"
        with Recorder(file, [cluster.nodes[0].ports["PLAINTEXT"]]):
            _play(place)
            said = {group: _ask(cluster.bootstrap("INTERNAL"), group) for group in ("billing", "fraud", "audit")}
        log = (cluster.nodes[0].folder / "server.log").read_text()
    found = kw("groups", str(file), "-o", "json")
    return Scene({row["group"]: row for row in json.loads(found.out)}, log, said)


def _play(place: str) -> None:
    before: list[Step] = [("create", {"topics": {"orders": 3}}), ("produce", {"topic": "orders", "count": 300})]
    run("librdkafka", place, before, {"client.id": "shop"})
    reads = {"topics": ["orders"], "group": "billing", "count": 10_000, "polls": 120}
    first = start("java-4.4.0", place, [("consume", reads)], {"client.id": "billing-1", **QUICK})
    time.sleep(5)
    few = {**reads, "polls": 8}
    second = start("java-4.4.0", place, [("consume", few)], {"client.id": "billing-2", **QUICK})
    second.finish()  # it reads for some seconds, commits and leaves
    third = start("librdkafka", place, [("consume", reads)], {"client.id": "billing-3", "session.timeout.ms": "6000"})
    time.sleep(6)
    third.kill()
    new = {"topics": ["orders"], "group": "fraud", "count": 300, "polls": 30, "config": {"group.protocol": "consumer"}}
    run("java-4.4.0", place, [("consume", new)], {"client.id": "fraud-1"})
    run("librdkafka", place, [("consume", {**reads, "group": "audit", "count": 120})], {"client.id": "audit-1"})
    time.sleep(8)  # until the third heartbeat is missed
    run("librdkafka", place, [("produce", {"topic": "orders", "count": 90, "first": 300})], {"client.id": "shop"})
    time.sleep(2)
    first.kill()


def _ask(place: str, group: str) -> dict[tuple[str, int], tuple[int | None, int | None, int | None]]:
    """Partition → committed, end, lag, as kafka-consumer-groups prints them."""
    command = ["java", *JAVA_FLAGS, "-cp", ":".join(map(str, tool_jars(VERSION)))]
    command += ["org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--bootstrap-server", place]
    done = subprocess.run(
        [*command, "--describe", "--group", group], capture_output=True, text=True, timeout=60, check=True
    )
    found = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if words[:1] == [group] and len(words) >= 6:
            numbers = (None if word == "-" else int(word) for word in words[3:6])
            found[words[1], int(words[2])] = tuple(numbers)
    return found  # type: ignore[return-value]  # three of them


def _times(log: str) -> Iterator[tuple[int, str]]:
    """Time in ns and text of each line of a log that begins with a time."""
    for line in log.splitlines():
        match = re.match(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d),(\d{3}) (.*)", line)
        if match:
            local = datetime.fromisoformat(f"{match[1]}T{match[2]}.{match[3]}").astimezone()
            yield int(local.timestamp() * 1000) * 10**6, match[4]


@pytest.mark.broker
@pytest.mark.full
@needs_brokers
def test_generations_are_those_of_the_brokers_log(scene: Scene) -> None:
    for group in ("billing", "audit"):
        logged = [
            (time_ns, int(match[2]), int(match[3]))
            for time_ns, text in _times(scene.log)
            if (match := STABLE.search(text)) and match[1] == group
        ]
        timeline = scene.rows[group]["timeline"]
        assert [(each["generation"], len(each["members"])) for each in timeline] == [row[1:] for row in logged]
        for each, (time_ns, *_) in zip(timeline, logged, strict=True):
            assert parse_time(each["began"]) - SLACK <= time_ns
            assert each["ready"] is None or time_ns <= parse_time(each["ready"]) + SLACK
        # A generation may be over before all of its members have their assignment.
        assert sum(each["ready"] is None for each in timeline) <= 1
    assert len(scene.rows["billing"]["timeline"]) >= 4


@pytest.mark.broker
@pytest.mark.full
@needs_brokers
def test_causes_are_those_of_the_brokers_log(scene: Scene) -> None:
    causes = {}
    for _, text in _times(scene.log):
        match = PREPARING.search(text)
        if match and match[1] == "billing":
            for pattern, what in REASONS:
                named = pattern.search(match[3])
                if named:
                    causes[int(match[2]) + 1] = what, next(filter(None, named.groups())).rstrip(",;)")
                    break
            else:
                pytest.fail(f"an unknown reason: {match[3]}")
    told = {
        each["generation"]: (each["cause"]["what"], each["cause"]["member_id"])
        for each in scene.rows["billing"]["timeline"]
    }
    assert told == {number: cause for number, cause in causes.items() if number in told}
    assert {what for what, _ in told.values()} >= {"joined", "left", "gone"}


@pytest.mark.broker
@pytest.mark.long
@needs_brokers
@pytest.mark.parametrize("group", ["billing", "fraud", "audit"])
def test_lags_are_those_of_kafka_consumer_groups(scene: Scene, group: str) -> None:
    partitions = scene.rows[group]["partitions"]
    told = {
        (each["topic"], each["partition"]): (each["committed"], each["high_watermark"], each["commit_lag"])
        for each in partitions
        if each["committed"] is not None or each["member_id"]  # the tool does not list partitions that were only read
    }
    assert told == scene.said[group]
    assert scene.rows[group]["commit_lag"] == sum(lag or 0 for _, _, lag in scene.said[group].values())
