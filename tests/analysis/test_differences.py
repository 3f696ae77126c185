"""Differences of two lots of traffic: known changes come first, halves of one capture differ in nothing."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from random import Random
from typing import Any, Final

import pytest

from decoders.analysis.differences.compare_profiles import (
    compare_profiles,
    compute_rank_sum_p,
    find_significant_by_holm,
)
from decoders.analysis.differences.traffic_profile import TrafficProfile
from decoders.capture.read_capture import CaptureReader
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.protocol_facts.api_keys import API_VERSIONS, FETCH, HEARTBEAT, METADATA, PRODUCE
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from kwcli.output.renderers import WantedPaths
from tests.analysis.scenes import BEGUN, BROKER, MS, NS, Scene
from tests.captures.shipped import CLEAN, FOLDER, capture_bytes

SECONDS = 40


def profiled(some: list[Exchange]) -> TrafficProfile:
    profile = TrafficProfile()
    for each in some:
        profile.add(each)
    return profile


class Traffic:
    """Steady traffic of a producer, a member of a group and a tool, with what a test changes in it."""

    version = "3.9.1"
    produce = 9
    records = 4
    every = 0.2
    took = 0.002
    slow_broker = 0.0
    error = 0
    acks = 1
    topic = "orders"
    group = "billing"
    without = ""
    more = ""

    def __init__(self, seed: int = 1, **changed: Any) -> None:
        self.random = Random(seed)
        for name, value in changed.items():
            assert hasattr(self, name)
            setattr(self, name, value)

    def jitter(self, value: float) -> float:
        """A value with the scatter of real latencies."""
        return value * self.random.lognormvariate(0, 0.4)

    def exchanges(self) -> list[Exchange]:
        """What a profile is made of."""
        return self.scene().exchanges(TrafficProfile())

    def scene(self) -> Scene:
        """The conversations."""
        scene = Scene()
        names = [name for name in ("shop", "billing-1", "audit", self.more) if name and name != self.without]
        for name in names:
            named = {"client_software_name": "apache-kafka-java", "client_software_version": self.version}
            scene.ask(0, (API_VERSIONS, 3), named, {"api_keys": []}, client=name)
        at = 0.1
        while at < SECONDS:
            now = at + self.random.uniform(0, 0.02)
            if "shop" in names:
                scene.ask(now, (PRODUCE, self.produce), *self.produced(), client="shop", took=self.jitter(self.took))
            for name in names:
                if name != "shop":
                    took = self.jitter(0.001 + self.slow_broker)
                    beat = {"group_id": self.group, "member_id": name}
                    scene.ask(now + 0.05, (HEARTBEAT, 3), beat, {}, client=name, took=took)
            if "audit" in names:
                scene.ask(now + 0.1, (METADATA, 9), {}, {}, client="audit", took=self.jitter(0.001 + self.slow_broker))
            at += self.every
        return scene

    def produced(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """A request of Produce and its answer; with `error` every third is refused."""
        count = self.records + self.random.randint(0, 2)
        records = [Record(number, BEGUN // MS, None, b"x" * 50) for number in range(count)]
        part = {"index": 0, "records": encode_batch(records, Batch())}
        code = self.error if self.error and not self.random.randrange(3) else 0
        answer = {"name": self.topic, "partition_responses": [{"index": 0, "error_code": code}]}
        return {"acks": self.acks, "topic_data": [{"name": self.topic, "partition_data": [part]}]}, {
            "responses": [answer]
        }


@cache
def before() -> list[Exchange]:
    return Traffic().exchanges()


def compare(one: list[Exchange], other: list[Exchange]) -> list[dict[str, Any]]:
    """The differences that are told."""
    return [row for row in compare_profiles(profiled(one), profiled(other)) if row["significant"]]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("changed", "first"),
    [
        ({"version": "4.1.2"}, {"change": "new-version", "before": "apache-kafka-java 3.9.1"}),
        ({"produce": 8}, {"change": "new-api-version", "client_id": "shop", "api": "Produce", "after": "8"}),
        ({"records": 40}, {"change": "larger", "metric": "request_size", "client_id": "shop", "api": "Produce"}),
        ({"acks": -1}, {"change": "new-acks", "client_id": "shop", "before": "1", "after": "all"}),
        ({"slow_broker": 0.02}, {"change": "slower", "metric": "latency"}),
        ({"took": 0.03}, {"change": "slower", "metric": "latency", "api": "Produce"}),
        ({"error": 19}, {"change": "new-error", "client_id": "shop", "error": "NOT_ENOUGH_REPLICAS"}),
        ({"without": "audit"}, {"change": "gone-client", "client_id": "audit"}),
        ({"more": "fraud"}, {"change": "new-client", "client_id": "fraud"}),
        ({"topic": "invoices"}, {"change": "gone-topic", "topic": "orders"}),
        ({"every": 0.8}, {"change": "quieter", "metric": "rate"}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) and "change" not in value else "",
)
def test_a_known_change_comes_first(changed: dict[str, Any], first: dict[str, Any]) -> None:
    found = compare(before(), Traffic(seed=2, **changed).exchanges())
    assert found
    # What is new comes beside what is gone for it.
    assert any(first.items() <= row.items() for row in found[:2]), found[:3]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(3, 13))
def test_the_same_traffic_again_differs_in_nothing(seed: int) -> None:
    assert compare(before(), Traffic(seed=seed).exchanges()) == []


def halves(some: list[Exchange]) -> tuple[list[Exchange], list[Exchange]]:
    """The exchanges of the first and of the second half of the time."""
    times = [each.time_ns for each in some]
    middle = (min(times) + max(times)) // 2
    return [each for each in some if each.time_ns < middle], [each for each in some if each.time_ns >= middle]


def test_halves_of_steady_traffic_differ_in_nothing() -> None:
    assert compare(*halves(before())) == []


def test_a_trend_within_a_capture_is_no_change() -> None:
    """Latencies that sink all the time, as those of a program that warms up."""
    scene = Scene()
    draw = Random(5)
    for number in range(400):
        took = 0.001 + 0.02 * 0.99**number * draw.lognormvariate(0, 0.2)
        scene.ask(number / 10, (METADATA, 9), {}, {}, took=took)
    assert compare(*halves(scene.exchanges(TrafficProfile()))) == []


def fetched(every: float, *, left: int = 0, took: float = 0.001) -> list[Exchange]:
    """Fetches each of which is answered once the next batch is written; `left`: records behind it that stay."""
    scene, draw = Scene(), Random(4)
    for number in range(round(SECONDS / every)):
        batch = encode_batch([Record(number, BEGUN // MS, None, b"x" * 50)], Batch(base_offset=number))
        part = {"partition_index": 0, "high_watermark": number + 1 + left, "records": batch}
        asked = {
            "max_wait_ms": 10_000,
            "topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetch_offset": number}]}],
        }
        latency = took * draw.lognormvariate(0, 0.4)
        scene.ask(
            number * every,
            (FETCH, 11),
            asked,
            {"responses": [{"topic": "orders", "partitions": [part]}]},
            took=latency if left else every * 0.9,
        )
    return scene.exchanges(TrafficProfile())


def test_a_reader_at_the_end_waits_for_writers_and_not_for_the_broker() -> None:
    """Writers that write more rarely make no broker slower; one that answers late from the middle of a log is."""
    rows = compare(fetched(0.1), fetched(0.4))
    assert [(row["change"], row["metric"]) for row in rows] == [("quieter", "rate")]
    (row,) = compare(fetched(0.1, left=9), fetched(0.1, left=9, took=0.03))
    assert (row["change"], row["broker"], row["api"]) == ("slower", BROKER, "Fetch")


def test_what_is_true_of_the_only_client_of_a_broker_is_told_once() -> None:
    """Latency is the broker's, sizes are the client's."""
    found = compare(before(), Traffic(seed=2, took=0.03, records=40).exchanges())
    produced = [(row["change"], row["client_id"], row["broker"]) for row in found if row["api"] == "Produce"]
    assert sorted(produced) == [("larger", "shop", None), ("slower", None, BROKER)]


# Healthy captures whose clients do the same from beginning to end.
HEALTHY: Final = (
    *sorted(f"differences/{file.name}" for file in (FOLDER / "differences").iterdir()),
    *("sasl-framed.pcapng", "telemetry.pcapng", "transactions/hanging.pcap.zst"),
    *(f"advisories/connect-{release}.pcap.zst" for release in ("3.3.2", "3.9.2")),
    *("advisories/franz-go-1.15.4.pcap.zst", "advisories/sarama-1.43.3.pcap.zst"),
)


def read_capture(name: str) -> list[Exchange]:
    """The exchanges of a shipped capture."""
    reader, engine = CaptureReader(), Engine(needs=WantedPaths(TrafficProfile().needs))
    found = engine.feed([*reader.feed(capture_bytes(name)), *reader.finish()]) + engine.finish()
    return [each for each in found if isinstance(each, Exchange)]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", HEALTHY)
def test_halves_of_healthy_captures_differ_in_nothing(name: str) -> None:
    one, other = halves(read_capture(name))
    assert min(len(one), len(other)) >= 8
    assert compare(one, other) == []


def test_twenty_captures_are_halved() -> None:
    assert len(HEALTHY) >= 20


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CLEAN)
def test_halves_of_shipped_captures_differ_in_no_value(name: str) -> None:
    """Their clients come and go by a script, so that things are new; how fast and how large answers are is not."""
    some = read_capture(name)
    assert [row for row in compare(*halves(some)) if row["metric"]] == []
    assert compare(some, some) == []


def test_any_split_gives_the_same_profile() -> None:
    whole = profiled(before())
    draw = Random(1)
    parts: list[list[Exchange]] = [[] for _ in range(4)]
    for each in before():
        draw.choice(parts).append(each)
    merged = TrafficProfile()
    for part in draw.sample(parts, 4):
        handed = TrafficProfile()
        handed.resume(profiled(part).export())
        merged.merge(handed)
    assert (merged.first, merged.last, merged.shift) == (whole.first, whole.last, whole.shift)
    assert merged.things == whole.things
    assert merged.rows() == whole.rows()
    assert {key: its.bins for key, its in merged.measured.items()} == {
        key: its.bins for key, its in whole.measured.items()
    }
    assert merged.last - merged.first < (SECONDS + 1) * NS


@pytest.mark.parametrize(
    ("one", "other", "p"),
    [
        # scipy.stats.mannwhitneyu(one, other, method="asymptotic").pvalue
        ([1, 2, 3, 4, 5, 6, 7, 8], [11, 12, 13, 14, 15, 16, 17, 18], 0.000939),
        ([1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 8], 1.0),
    ],
)
def test_p_values_are_those_of_the_test(one: list[float], other: list[float], p: float) -> None:
    assert compute_rank_sum_p(one, other) == pytest.approx(p, abs=2e-4)


def test_p_values_with_ties_are_near_the_exact_ones() -> None:
    one, other = [1, 1, 1, 2, 2, 3], [2, 2, 3, 3, 3, 4]
    pooled = [*one, *other]

    def find_distance(chosen: tuple[int, ...]) -> float:
        own = [pooled[at] for at in chosen]
        rest = [pooled[at] for at in range(len(pooled)) if at not in chosen]
        return abs(sum((a > b) - (a < b) for a in own for b in rest))

    every = [find_distance(chosen) for chosen in combinations(range(len(pooled)), len(one))]
    exact = sum(each >= find_distance(tuple(range(len(one)))) for each in every) / len(every)
    assert compute_rank_sum_p(one, other) == pytest.approx(exact, abs=0.03)


def test_many_comparisons_are_corrected_for() -> None:
    assert find_significant_by_holm([0.004, 0.03, 0.005, 0.0], alpha=0.0125) == [True, False, True, True]
    assert find_significant_by_holm([0.009] * 5) == [False] * 5
