"""Each threshold of `kw doctor` decides at its very value, and whatever it is set to, there is an answer."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, nextafter
from typing import Final

import pytest

from decoders.analysis.doctor.doctor import Doctor
from decoders.analysis.doctor.thresholds import THRESHOLDS, Thresholds
from decoders.exchanges.exchange import Ended, Exchange
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from tests.analysis.scenes import BEGUN, MS, Scene
from tests.analysis.test_doctor import PRODUCE_9, SCENES, busy, fetched, joined, left, produced, too_large


def uneven(*partitions: int) -> Scene:
    """Batches of one size, without compression, to these partitions."""
    scene = Scene()
    batch = encode_batch([Record(0, BEGUN // MS, None, b"x" * 32)], Batch())
    assert len(batch) == 100
    for second, partition in enumerate(partitions):
        part = {"index": partition, "records": batch}
        asked = {"acks": 1, "topic_data": [{"name": "orders", "partition_data": [part]}]}
        scene.ask(second, PRODUCE_9, asked, produced(0))
    return scene


def staged(what: str, number: int = 0) -> Scene:
    """The scene of this number that shows a finding."""
    return [row[1] for row in SCENES if row[0] == what][number]


# Threshold, finding, a scene, and the last value with which the scene shows it: from then on there is none.
LAST: Final[list[tuple[str, str, Scene, float]]] = [
    ("isr.changes", "isr-flapping", staged("isr-flapping"), 10),
    ("fetch.waits", "fetch-waits", fetched(25, 1000), 25),
    ("loop.fetches", "fetch-loop", staged("fetch-loop"), 400),
    ("loop.rate", "fetch-loop", staged("fetch-loop"), 400),
    ("busiest.clients", "busiest-client", staged("busiest-client"), 4),
    ("poll.away", "poll-stopped", staged("poll-stopped", -1), 3),
    ("unread.least", "assigned-unread", staged("assigned-unread"), 14.8),
    ("starts.least", "start-repeated", staged("start-repeated"), 3),
    ("sessions.opened", "fetch-sessions-unused", staged("fetch-sessions-unused"), 30),
    ("sessions.lost", "fetch-sessions-lost", staged("fetch-sessions-lost"), 12),
    ("metadata.least", "metadata-storm", staged("metadata-storm"), 60),
    ("connections.least", "connection-churn", staged("connection-churn"), 40),
    ("unanswered.least", "unanswered", staged("unanswered"), 3),
    ("size.least", "request-too-large", staged("request-too-large"), 3),
    ("advertised.asked", "advertised-elsewhere", staged("advertised-elsewhere", -1), 10),
    ("throttle.total", "throttled", staged("throttled", -1), 1200),
    ("revocation.least", "revocation-pending", staged("revocation-pending"), 14.999),
    ("heartbeat.least", "heartbeats-late", staged("heartbeats-late"), 5),
    ("follower.records", "follower-behind", staged("follower-behind"), 5000),
    ("follower.fetches", "follower-behind", staged("follower-behind"), 8),
    ("leaders.least", "leaders-move", staged("leaders-move"), 8),
    ("leaders.each", "leaders-move", staged("leaders-move"), 8),
    ("again.offsets", "read-again", staged("read-again"), 1000),
    ("again.share", "read-again", staged("read-again"), 0.25),
    ("again.batches", "sent-again", staged("sent-again"), 2),
    ("in-flight.least", "many-in-flight", staged("many-in-flight"), 300),
    ("in-flight.least", "one-in-flight", staged("one-in-flight"), 300),
    ("idle.least", "idle-cut", staged("idle-cut"), 349),
    ("idle.cuts", "idle-cut", staged("idle-cut"), 3),
    ("window.shut", "zero-window", staged("zero-window"), 2),
    ("lag.records", "lag-growing", staged("lag-growing"), 20_000),
    ("lag.growth", "lag-growing", staged("lag-growing"), 200),
    ("lag.span", "lag-growing", staged("lag-growing"), 10),
    ("slow.exchanges", "slow-broker", staged("slow-broker"), 60),
    ("slow.slice", "slow-broker", staged("slow-broker"), 9),
    ("slow.slices", "slow-broker", staged("slow-broker"), 7),
    ("slow.share", "slow-broker", staged("slow-broker"), 1),
    ("clock.ahead", "clock-ahead", staged("clock-ahead"), 120),
    ("batch.least", "small-batches", staged("small-batches"), 600),
    ("aborts.least", "transactions-abort", staged("transactions-abort"), 5),
    ("aborts.share", "transactions-abort", staged("transactions-abort"), 0.5),
    ("transaction.open", "transaction-hangs", staged("transaction-hangs"), 100),
    ("rebalance.generations", "rebalance-storm", joined(8), 8),
    ("rebalance.per-member", "rebalance-storm", joined(8), 8),
    ("plain.size", "no-compression", uneven(0, 1, 2), 300),
    ("skew.size", "skew", uneven(0, 1, 0, 2, 0, 3), 600),
    ("skew.share", "skew", uneven(0, 1, 0, 2, 0, 3), 0.5),
    ("huge.size", "huge-frames", too_large(1), 1_200_119),
]
# The same, but the finding is there with greater values alone.
LEAST: Final[list[tuple[str, str, Scene, float]]] = [
    ("connections.exchanges", "connection-churn", staged("connection-churn"), 2),
    ("batch.records", "small-batches", staged("small-batches"), nextafter(1, 2)),
]
# What the topic of a scene needs besides, of those that are small.
BESIDES: Final[dict[str, dict[str, float]]] = {"skew.size": {"skew.share": 0.5}, "skew.share": {"skew.size": 1}}


def find(scene: Scene, thresholds: Mapping[str, float]) -> set[str]:
    """The findings of a scene with these thresholds."""
    fold = Doctor(Thresholds(thresholds))
    for each in scene.rows(Doctor()):
        if isinstance(each, Ended):
            fold.observe_connection_end(each)
        else:
            assert isinstance(each, Exchange)
            fold.add(each)
    return {row["id"] for row in fold.rows()}


@pytest.mark.parametrize(("name", "what", "scene", "last"), LAST, ids=[f"{row[0]} {row[1]}" for row in LAST])
def test_a_threshold_decides_at_its_very_value(name: str, what: str, scene: Scene, last: float) -> None:
    others = BESIDES.get(name, {})
    assert what in find(scene, {**others, name: last})
    assert what not in find(scene, {**others, name: nextafter(last, inf)})


@pytest.mark.parametrize(("name", "what", "scene", "least"), LEAST, ids=[row[0] for row in LEAST])
def test_a_threshold_from_above_decides_at_its_very_value(name: str, what: str, scene: Scene, least: float) -> None:
    assert what in find(scene, {name: least})
    assert what not in find(scene, {name: nextafter(least, 0)})


def test_silence_is_longer_than_its_threshold() -> None:
    scene = left(8)
    assert "poll-stopped" in find(scene, {"poll.silence": nextafter(8, 0)})
    assert "poll-stopped" not in find(scene, {"poll.silence": 8})


def test_a_topic_of_few_partitions_has_no_skew() -> None:
    assert "skew" not in find(uneven(0, 1, 0, 2), {"skew.size": 1})


@pytest.mark.parametrize("value", [0, 1, 1e9])
@pytest.mark.parametrize("scene", [busy(600, 4), staged("slow-broker"), staged("login-failed", 1)], ids=range(3))
def test_every_value_gives_an_answer(scene: Scene, value: float) -> None:
    find(scene, dict.fromkeys(THRESHOLDS, value))
