"""Records that were written twice, lost or misrouted: scenes that show them, near misses, and healthy captures."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from decoders.analysis.record_traces.record_faults import RECORD_FAULTS, RecordFaults
from decoders.exchanges.exchange import Exchange
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from kwcli.run_environment import Exit
from tests.analysis.record_scenes import RECORD_SCENES
from tests.analysis.scenes import FIN, Scene
from tests.analysis.test_groups import join, sync
from tests.analysis.test_record_traces import SCHEMA, commit, fetch, make_batch, produce
from tests.captures.shipped import CLEAN, FOLDER
from tests.cli.worlds import kw

PRODUCE, POSITION = (0, 9), (9, 5)


def fold_exchanges(kind: str, exchanges: list[Exchange]) -> RecordFaults:
    fold = RecordFaults(kind)
    for each in exchanges:
        fold.add(each)
    return fold


def rows(kind: str, scene: Scene) -> list[dict[str, Any]]:
    """The rows of a scene; asserts that folds of its parts give the same, and the schema."""
    exchanges = scene.exchanges(RecordFaults(kind))
    found = fold_exchanges(kind, exchanges).rows()
    draw = Random(len(exchanges))
    parts: list[list[Exchange]] = [[], [], []]
    for each in exchanges:
        draw.choice(parts).append(each)
    whole = RecordFaults(kind)
    for part in draw.sample(parts, 3):
        handed = RecordFaults(kind)
        handed.resume(fold_exchanges(kind, part).export())
        whole.merge(handed)
    assert whole.rows() == found
    for row in found:
        SCHEMA.validate({"kind": kind, "schema": 1, **row})
    return found


# Duplicates.


def batch_of(*values: str, at_ms: int = 0, **fields: Any) -> bytes:
    records = [
        Record(number, 1_790_000_000_000 + at_ms, b"k", value.encode(), ()) for number, value in enumerate(values)
    ]
    return encode_batch(records, Batch(**fields))


def test_records_that_were_sent_again_are_found_in_other_batches() -> None:
    """A client that gives up a try puts its records into new batches, with others behind them."""
    scene = Scene()
    produce(scene, 0, batch_of("a", "b", "c"), 10)
    produce(scene, 2, batch_of("b", "c", "d"), 13, line=1)
    (row,) = rows("duplicate", scene)
    assert (row["offset"], row["last_offset"], row["copy_offset"], row["records"]) == (11, 12, 13, 2)
    assert (row["client_id"], row["apart_ms"]) == ("maker", 2000.0)
    assert len(row["evidence"]) == 2


def test_a_sequence_at_two_offsets_is_a_duplicate() -> None:
    scene = Scene()
    batch = batch_of("a", producer_id=7, producer_epoch=0, base_sequence=3)
    produce(scene, 0, batch, 10)
    produce(scene, 0.01, batch, 11, broker="10.0.0.8:9092")
    (row,) = rows("duplicate", scene)
    assert (row["offset"], row["copy_offset"], row["producer_id"], row["sequence"]) == (10, 11, 7, 3)
    read = Scene()
    both = [make_batch(["a"], first, producer_id=7, producer_epoch=0, base_sequence=3) for first in (10, 11)]
    fetch(read, 0, b"".join(both), 10)
    assert [(each["offset"], each["copy_offset"]) for each in rows("duplicate", read)] == [(10, 11)]


def once() -> Scene:
    scene = Scene()
    batch = batch_of("a", producer_id=7, producer_epoch=0, base_sequence=3)
    produce(scene, 0, batch, None, took=0.5)
    produce(scene, 1, batch, 10, line=1)
    produce(scene, 2, batch, None, error=46, line=1)
    return scene


def alike() -> Scene:
    """A constant payload in one millisecond, in batches that wait for their turn."""
    scene = Scene()
    for number in range(4):
        produce(scene, number / 50, batch_of("same", "same"), 10 + 2 * number)
    produce(scene, 9, batch_of("same", "same"), 18)
    return scene


def of_two_clients() -> Scene:
    scene = Scene()
    produce(scene, 0, batch_of("a"), 10)
    produce(scene, 1, batch_of("a"), 11, host="10.0.0.2")
    return scene


def later_alike() -> Scene:
    scene = Scene()
    produce(scene, 0, batch_of("a"), 10)
    produce(scene, 1, batch_of("a", at_ms=1), 11)
    return scene


@pytest.mark.parametrize("scene", [once(), alike(), of_two_clients(), later_alike()])
def test_what_is_no_duplicate(scene: Scene) -> None:
    assert rows("duplicate", scene) == []


def sent_twice(apart: float, *, line: int = 0, more: float | None = None, **copy: Any) -> Scene:
    """The same record at 0 s, and again so many seconds later; `more`: another one on the first connection then."""
    scene = Scene()
    produce(scene, 0, batch_of("a"), 10)
    if more is not None:
        produce(scene, more, batch_of("b"), 12)
    produce(scene, apart, batch_of("a"), 11, line=line, **copy)
    return scene


@pytest.mark.parametrize(
    ("scene", "found"),
    [
        (sent_twice(0.1), True),  # a pause of retry.backoff.ms
        (sent_twice(0.0999), False),
        (sent_twice(0.05, line=1), True),  # the first connection is given up
        (sent_twice(0.05, line=1, more=0.04), True),
        (sent_twice(0.05, line=1, more=0.06), False),  # it is not
        (sent_twice(0.1, line=1, more=0.3), True),
    ],
)
def test_what_is_sent_again_comes_after_a_pause_or_on_another_connection(scene: Scene, found: bool) -> None:
    assert bool(rows("duplicate", scene)) == found


def test_the_whole_row_of_records_sent_again() -> None:
    scene = Scene()
    produce(scene, 0, batch_of("a", "b", "x"), 10)
    produce(scene, 2, batch_of("a", "b"), 20, line=1)
    produce(scene, 4, batch_of("a"), 30, line=2)
    produce(scene, 5, batch_of("x"), 33, line=2)
    first, second, third = rows("duplicate", scene)
    evidence = first.pop("evidence")
    assert [each["correlation_id"] for each in evidence] == [1, 2]
    assert first == {
        "topic": "orders",
        "partition": 0,
        "offset": 10,
        "last_offset": 11,
        "copy_offset": 20,
        "records": 2,
        "client_id": "maker",
        "producer_id": None,
        "sequence": None,
        "apart_ms": 2000.0,
        "time": "2026-09-21T14:13:20.000000Z",
        "copy_time": "2026-09-21T14:13:22.000000Z",
        "why": "key, value and create time are the same, and it was sent again",
    }
    spans = [(each["offset"], each["last_offset"], each["copy_offset"], each["apart_ms"]) for each in (second, third)]
    assert spans == [(10, 10, 30, 4000.0), (12, 12, 33, 5000.0)]


@pytest.mark.parametrize(
    "copy",
    [
        {"producer_id": 8},
        {"producer_epoch": 1},
        {"base_sequence": 4},
        {"producer_id": -1, "producer_epoch": -1, "base_sequence": -1},
    ],
)
def test_another_sequence_is_no_copy(copy: dict[str, int]) -> None:
    its = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    scene = Scene()
    produce(scene, 0, batch_of("a", **its), 10)
    produce(scene, 0.01, batch_of("a", **its | copy), 11)
    assert rows("duplicate", scene) == []


def test_the_whole_row_of_a_batch_at_two_offsets() -> None:
    its = {"producer_id": 0, "producer_epoch": 0, "base_sequence": 0}
    scene = Scene()
    produce(scene, 0, batch_of("a", "b", **its), 0)
    produce(scene, 0.5, batch_of("a", "b", **its), 5, line=1)
    (row,) = rows("duplicate", scene)
    assert len(row.pop("evidence")) == 2
    assert row == {
        "topic": "orders",
        "partition": 0,
        "offset": 0,
        "last_offset": 1,
        "copy_offset": 5,
        "records": 2,
        "client_id": "maker",
        "producer_id": 0,
        "sequence": 0,
        "apart_ms": 500.0,
        "time": "2026-09-21T14:13:20.000000Z",
        "copy_time": "2026-09-21T14:13:20.500000Z",
        "why": "sequence 0 of producer id 0 is at both offsets",
    }
    read = Scene()
    both = [make_batch(["a"], first, producer_id=0, producer_epoch=0, base_sequence=0) for first in (0, 1)]
    fetch(read, 0, b"".join(both), 0)
    (row,) = rows("duplicate", read)
    assert [row[name] for name in ("client_id", "time", "copy_time", "apart_ms", "evidence")] == [*[None] * 4, []]


# Losses.


def group_that_reads(scene: Scene) -> None:
    join(scene, 0, "a", 1, took=0.5, known=False, members=("a",))
    sync(scene, 0.6, "a", 1, {"a": [0]})
    produce(scene, 1, make_batch(["u", "v"]), 10)
    produce(scene, 1.1, make_batch(["w", "x"]), 12)
    produce(scene, 1.2, make_batch(["y", "z"]), 14)
    fetch(scene, 2, make_batch(["u", "v"], 10), 10)


def told(scene: Scene, at: float, offset: int) -> None:
    """The coordinator tells where group billing begins in orders/0."""
    part = {"partition_index": 0, "committed_offset": offset, "error_code": 0}
    request = {"group_id": "billing", "topics": [{"name": "orders", "partition_indexes": [0]}]}
    scene.ask(at, POSITION, request, {"topics": [{"name": "orders", "partitions": [part]}]}, client="a")


@pytest.mark.parametrize(
    ("offset", "why"),
    [
        (None, "it went ahead to offset 14 by itself (a seek)"),
        (-1, "nothing was committed, and it began at offset 14"),
        (14, "offset 14 was committed without reading them"),
    ],
)
def test_records_that_a_group_passed_are_lost(offset: int | None, why: str) -> None:
    scene = Scene()
    group_that_reads(scene)
    if offset is not None:
        told(scene, 2.5, offset)
    fetch(scene, 3, make_batch(["y", "z"], 14), 14)
    (row,) = rows("loss", scene)
    assert (row["offset"], row["last_offset"], row["group"], row["passed_by"]) == (12, 13, "billing", "a")
    assert row["why"] == why


def test_a_commit_ahead_of_reading_loses_records() -> None:
    scene = Scene()
    group_that_reads(scene)
    commit(scene, 3, 16)
    (row,) = rows("loss", scene)
    assert (row["offset"], row["last_offset"], row["records"]) == (12, 15, 4)
    assert row["why"] == "offset 16 was committed without reading them"


def answer_broken_off(size: int) -> Scene:
    """A consumer that resets its connection after so many bytes of an answer; then its group goes on behind it."""
    scene = Scene()
    group_that_reads(scene)
    fetch(scene, 3, make_batch(["w", "x"], 12) + make_batch(["y", "z"], 14), 12, refused_at=size)
    return scene


def second_partition_broken_off() -> Scene:
    """The same where the answer has the whole records of a partition, and breaks off in those of another one."""
    scene = Scene()
    group_that_reads(scene)
    shared = {"high_watermark": 100, "last_stable_offset": 100, "records": make_batch(["w", "x", "y", "z"], 12)}
    asked = [{"partition": number, "fetch_offset": 12} for number in (0, 1)]
    got = [{"partition_index": number, **shared} for number in (0, 1)]
    request = {"replica_id": -1, "topics": [{"topic": "orders", "partitions": asked}]}
    scene.ask(3, (1, 12), request, {"responses": [{"topic": "orders", "partitions": got}]}, client="a", refused_at=300)
    return scene


def come_after_it_left() -> Scene:
    """A consumer that leaves its group, and whose Fetch is answered behind that; then the group goes on behind it."""
    scene = Scene()
    group_that_reads(scene)
    fetch(scene, 3, make_batch(["w", "x", "y", "z"], 12), 12, took=0.5)
    leaving = {"group_id": "billing", "members": [{"member_id": "a", "group_instance_id": None}]}
    scene.ask(3.1, (13, 5), leaving, {"members": [{"member_id": "a", "group_instance_id": None}]}, client="a", line=1)
    return scene


@pytest.mark.parametrize(
    "scene", [answer_broken_off(60), answer_broken_off(200), second_partition_broken_off(), come_after_it_left()]
)
def test_an_answer_that_the_client_did_not_take_is_not_read(scene: Scene) -> None:
    commit(scene, 4, 16, "admin", -1)
    (row,) = rows("loss", scene)
    assert (row["offset"], row["last_offset"], row["passed_by"]) == (12, 15, "admin")
    assert row["why"] == "offset 16 was committed without reading them"


def read_whole() -> Scene:
    scene = Scene()
    group_that_reads(scene)
    fetch(scene, 3, make_batch(["w", "x", "y", "z"], 12), 12)
    commit(scene, 4, 16)
    return scene


def one_answer_unseen() -> Scene:
    scene = Scene()
    group_that_reads(scene)
    request = {"replica_id": -1, "topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetch_offset": 12}]}]}
    scene.ask(3, (1, 12), request, None, ends=FIN, client="a")
    fetch(scene, 4, make_batch(["y", "z"], 14), 14, line=1)
    return scene


def read_by_another_client() -> Scene:
    scene = Scene()
    group_that_reads(scene)
    fetch(scene, 3, make_batch(["w", "x"], 12), 12, "b")
    fetch(scene, 4, make_batch(["y", "z"], 14), 14)
    return scene


def sent_to_a_follower() -> Scene:
    scene = Scene()
    group_that_reads(scene)
    fetch(scene, 3, b"", 12, part={"preferred_read_replica": 2})
    fetch(scene, 4, make_batch(["y", "z"], 14), 14)
    return scene


def not_acknowledged() -> Scene:
    scene = Scene()
    join(scene, 0, "a", 1, took=0.5, known=False, members=("a",))
    sync(scene, 0.6, "a", 1, {"a": [0]})
    fetch(scene, 2, make_batch(["u", "v"], 10), 10)
    fetch(scene, 3, make_batch(["y", "z"], 14), 14)
    return scene


@pytest.mark.parametrize(
    "scene", [read_whole(), one_answer_unseen(), read_by_another_client(), sent_to_a_follower(), not_acknowledged()]
)
def test_what_is_no_loss(scene: Scene) -> None:
    assert rows("loss", scene) == []


# Misrouted batches.


def send(
    scene: Scene,
    at: float,
    sequence: int,
    topic: str = "orders",
    partition: int = 0,
    error: int = 0,
    text: str = "v",
    records: int = 2,
) -> None:
    """A batch of two records of producer 7 with a sequence; its content follows from the sequence and a text."""
    values = [f"{text}{sequence + number}" for number in range(records)]
    batch = batch_of(*values, at_ms=sequence, producer_id=7, producer_epoch=0, base_sequence=sequence)
    request = {"acks": -1, "topic_data": [{"name": topic, "partition_data": [{"index": partition, "records": batch}]}]}
    part = {"index": partition, "error_code": error, "base_offset": -1 if error else 100 + sequence}
    answer = {"responses": [{"name": topic, "partition_responses": [part]}]}
    scene.ask(at, PRODUCE, request, answer, client="maker")


def test_a_batch_under_two_topics_was_misrouted() -> None:
    scene = Scene()
    for sequence in (0, 2, 4, 6):
        send(scene, sequence / 10, sequence)
    send(scene, 1, 4, "payments")
    (row,) = rows("misrouted", scene)
    assert (row["topic"], row["rightful_topic"], row["sequence"], row["sure"]) == ("payments", "orders", 4, False)


def same_sequence_of_both(*next_ones: tuple[str, int, int]) -> Scene:
    """Batches of two topics in lockstep, of which those with sequence 4 are the same; then others in payments."""
    scene = Scene()
    for at, sequence in enumerate((0, 2, 4, 6)):
        send(scene, at, sequence)
    for at, sequence in enumerate((0, 2)):
        send(scene, at + 0.5, sequence, "payments", text="p")
    send(scene, 2.5, 4, "payments")
    for at, (text, sequence, records) in enumerate(next_ones):
        send(scene, 3.5 + at, sequence, "payments", text=text, records=records)
    return scene


def test_a_batch_whose_sequence_the_producer_gives_to_another_one_was_misrouted() -> None:
    (row,) = rows("misrouted", same_sequence_of_both(("p", 4, 2), ("p", 6, 2)))
    assert (row["topic"], row["rightful_topic"], row["sequence"], row["sure"]) == ("payments", "orders", 4, True)
    assert row["why"].endswith("went to orders/0, and the producer gave its sequence to another batch here")


def test_a_sequence_that_is_missing_elsewhere_was_misrouted() -> None:
    scene = Scene()
    for at, (sequence, partition) in enumerate([(0, 0), (0, 1), (2, 0), (4, 1), (6, 0), (8, 0)]):
        send(scene, at / 10, sequence, partition=partition, error=45 if (sequence, partition) == (4, 1) else 0)
    (row,) = rows("misrouted", scene)
    assert (row["partition"], row["rightful_partition"], row["sequence"], row["sure"]) == (1, 0, 4, True)


def written_to_both() -> Scene:
    scene = Scene()
    for sequence in (0, 2, 4, 6):
        for topic in ("orders", "audit"):
            send(scene, sequence / 10 + (topic == "audit") / 50, sequence, topic)
    return scene


def in_order() -> Scene:
    scene = Scene()
    for at, (sequence, partition) in enumerate([(0, 0), (0, 1), (2, 0), (2, 1), (4, 0)]):
        send(scene, at / 10, sequence, partition=partition)
    return scene


@pytest.mark.parametrize(
    "scene",
    [
        written_to_both(),
        in_order(),
        same_sequence_of_both(),  # nothing tells whose it is
        same_sequence_of_both(("p", 6, 2)),  # the producer has counted it
        same_sequence_of_both(("v", 4, 2), ("p", 6, 2)),  # sent again
        same_sequence_of_both(("v", 4, 1), ("w", 5, 1), ("p", 6, 2)),  # split, as it was too large
    ],
)
def test_what_is_not_misrouted(scene: Scene) -> None:
    assert rows("misrouted", scene) == []


# Findings.

KINDS = {"written-twice": "duplicate", "read-past": "loss", "batch-misrouted": "misrouted"}


@pytest.mark.parametrize(("finding", "scene"), [row[:2] for row in RECORD_SCENES if row[0] in KINDS])
def test_what_is_a_finding_is_listed(finding: str, scene: Scene) -> None:
    """The command that kw doctor prints with a finding about records lists these."""
    assert rows(KINDS[finding], scene) != []


def test_a_finding_comes_with_the_command_that_lists_its_records() -> None:
    file = str(FOLDER / "faults" / "sent-twice.pcap.zst")
    found = map(json.loads, kw("doctor", file, "-o", "ndjson").out.splitlines())
    (row,) = (row for row in found if row["id"] == "written-twice")
    assert row["command"] == f"kw trace {file} --duplicates --topic sent-twice"
    (first, *_) = map(json.loads, kw(*row["command"].split()[1:], "-o", "ndjson").out.splitlines())
    assert first["evidence"][0]["packets"] == row["evidence"][0]["packets"]


# Captures.


@pytest.mark.parametrize("kind", RECORD_FAULTS)
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.long] * (each != "tour.pcapng")) for each in CLEAN]
)
def test_healthy_captures_have_none(name: str, kind: str) -> None:
    option = {"duplicate": "--duplicates", "loss": "--losses", "misrouted": "--misrouted"}[kind]
    outcome = kw("trace", str(FOLDER / name), option, "-o", "ndjson", "-q")
    assert (outcome.out, outcome.code) == ("", Exit.DONE)


def test_a_producer_that_sends_again_without_idempotence_is_found_out() -> None:
    file = str(FOLDER / "faults" / "sent-twice.pcap.zst")
    found = [json.loads(line) for line in kw("trace", file, "--duplicates", "-o", "ndjson").out.splitlines()]
    for row in found:
        SCHEMA.validate(row)
    assert [(row["offset"], row["copy_offset"], row["records"]) for row in found] == [
        (1, 11, 5),
        (306, 316, 5),
        (611, 621, 5),
    ]
    text = kw("trace", file, "--duplicates", "-o", "text", "-q").out
    assert "sent-twice/0@1-5" in text
    assert kw("trace", file, "--duplicates", "--losses").code == Exit.USAGE
