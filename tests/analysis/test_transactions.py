"""Transactions: how each ends, what holds the last stable offset and how it is ended; and what must not be claimed."""

from __future__ import annotations

import json
import shlex
from random import Random
from typing import Any
from uuid import UUID

import pytest

from decoders.analysis.doctor.doctor import Doctor
from decoders.analysis.transactions import transactions_fold
from decoders.analysis.transactions.abort_commands import make_describe_producers_command, make_marker_command
from decoders.analysis.transactions.transactions_fold import Transactions
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from tests.analysis.hanging_transactions import HUNG
from tests.analysis.scenes import Scene
from tests.captures.shipped import CLEAN, FOLDER
from tests.cli.worlds import kw
from tests.sampling import sampled

INIT, ADD, ADD_OFFSETS, END, MARKERS, TXN_COMMIT = (22, 4), (24, 3), (25, 3), (26, 3), (27, 1), (28, 3)
PRODUCE, NEW_PRODUCE, NEW_END, FETCH, NEW_FETCH = (0, 9), (0, 13), (26, 5), (1, 12), (1, 13)
PRODUCERS, DESCRIBE, LIST, META = (61, 0), (65, 0), (66, 0), (3, 12)
PID, NAME = 4711, "ledger"
TOPIC_ID = UUID(int=7)
PLACE = {"topic": "orders", "partition": 0}
ABORT = "kw call InitProducerId -b 10.0.0.9:9092 transactional_id=ledger transaction_timeout_ms=60000"
MARKER = (
    "kw call WriteTxnMarkers -b 10.0.0.9:9092 'markers[0].producer_id=4711' 'markers[0].producer_epoch=0'"
    " 'markers[0].transaction_result=false' 'markers[0].topics[0].name=orders'"
    " 'markers[0].topics[0].partition_indexes:=[0]'"
)


def rows(scene: Scene) -> list[dict[str, Any]]:
    """The rows of a scene; asserts that split and merged folds, and exchanges taken twice, give the same."""
    fold = Transactions()
    exchanges = scene.exchanges(fold)
    for each in exchanges:
        fold.add(each)
    draw, parts = Random(len(exchanges)), [Transactions() for _ in range(3)]
    for each in draw.sample(exchanges, len(exchanges)):
        draw.choice(parts).add(each)
    whole = Transactions()
    for each in exchanges:  # as a reader does that filters exchanges for others
        whole.learn(each)
    for part in parts:
        handed = Transactions()
        handed.resume(part.export())
        whole.merge(handed)
    found = fold.rows()
    assert whole.rows() == found
    return found


def only(scene: Scene) -> dict[str, Any]:
    """The one row of a scene."""
    (row,) = rows(scene)
    return row


def initialize(scene: Scene, at: float, *, epoch: int = 0, error: int = 0, timeout: int = 60_000) -> Scene:
    request = {"transactional_id": NAME, "transaction_timeout_ms": timeout, "producer_id": -1, "producer_epoch": -1}
    answer = {"error_code": error, "producer_id": -1 if error else PID, "producer_epoch": epoch}
    return scene.ask(at, INIT, request, answer)


def add_partitions(scene: Scene, at: float, *numbers: int, error: int = 0, epoch: int = 0) -> Scene:
    request = {
        "v3_and_below_transactional_id": NAME,
        "v3_and_below_producer_id": PID,
        "v3_and_below_producer_epoch": epoch,
        "v3_and_below_topics": [{"name": "orders", "partitions": list(numbers)}],
    }
    results = [{"partition_index": number, "partition_error_code": error} for number in numbers]
    answer = {"results_by_topic_v3_and_below": [{"name": "orders", "results_by_partition": results}]}
    return scene.ask(at, ADD, request, answer)


def batch(first: int = 0, *, epoch: int = 0, count: int = 2, producer_id: int = PID) -> bytes:
    head = Batch(base_offset=first, producer_id=producer_id, producer_epoch=epoch, base_sequence=0, transactional=True)
    return encode_batch([Record(first + at, 0, None, b"x") for at in range(count)], head)


def produce(scene: Scene, at: float, base: int, *, epoch: int = 0, error: int = 0, by_id: bool = False) -> Scene:
    topic: dict[str, Any] = {"topic_id": TOPIC_ID} if by_id else {"name": "orders"}
    part = {"index": 0, "records": batch(epoch=epoch)}
    answer = {"index": 0, "error_code": error, "base_offset": -1 if error else base}
    request = {"transactional_id": NAME, "acks": -1, "topic_data": [topic | {"partition_data": [part]}]}
    what = NEW_PRODUCE if by_id else PRODUCE
    return scene.ask(at, what, request, {"responses": [topic | {"partition_responses": [answer]}]})


def end(scene: Scene, at: float, *, commits: bool = True, error: int = 0, epoch: int = 0, new: bool = False) -> Scene:
    request = {"transactional_id": NAME, "producer_id": PID, "producer_epoch": epoch, "committed": commits}
    following = {"producer_id": PID, "producer_epoch": epoch + 1} if new else {}
    return scene.ask(at, NEW_END if new else END, request, {"error_code": error} | following)


def read(scene: Scene, at: float, stable: int, newest: int, *, records: bytes = b"", by_id: bool = False) -> Scene:
    topic: dict[str, Any] = {"topic_id": TOPIC_ID} if by_id else {"topic": "orders"}
    asked = [topic | {"partitions": [{"partition": 0, "fetch_offset": stable}]}]
    part = {"partition_index": 0, "high_watermark": newest, "last_stable_offset": stable, "records": records}
    answer = {"responses": [topic | {"partitions": [part]}]}
    return scene.ask(
        at, NEW_FETCH if by_id else FETCH, {"topics": asked, "isolation_level": 1}, answer, client="reader"
    )


def mark(scene: Scene, at: float, *, commits: bool = False, epoch: int = 1, error: int = 0) -> Scene:
    topics = [{"name": "orders", "partition_indexes": [0]}]
    marker = {"producer_id": PID, "producer_epoch": epoch, "transaction_result": commits, "topics": topics}
    done = [{"name": "orders", "partitions": [{"partition_index": 0, "error_code": error}]}]
    answer = {"markers": [{"producer_id": PID, "topics": done}]}
    return scene.ask(at, MARKERS, {"markers": [marker]}, answer, client="broker-1-txn-marker-sender", host="10.0.0.9")


def describe(scene: Scene, at: float, state: str, *, epoch: int = 0) -> Scene:
    its = {"transactional_id": NAME, "transaction_state": state, "transaction_timeout_ms": 60_000}
    its |= {"transaction_start_time_ms": 1_790_000_000_500, "producer_id": PID, "producer_epoch": epoch}
    its |= {"topics": [{"topic": "orders", "partitions": [0]}]}
    return scene.ask(at, DESCRIBE, {"transactional_ids": [NAME]}, {"transaction_states": [its]}, client="admin")


def list_transactions(scene: Scene, at: float, state: str) -> Scene:
    its = {"transactional_id": NAME, "producer_id": PID, "transaction_state": state}
    return scene.ask(at, LIST, {}, {"transaction_states": [its]}, client="admin")


def describe_producers(scene: Scene, at: float, first: int, *, coordinator_epoch: int = 3) -> Scene:
    its = {"producer_id": PID, "producer_epoch": 0, "last_sequence": 1, "last_timestamp": 0}
    its |= {"coordinator_epoch": coordinator_epoch, "current_txn_start_offset": first}
    parts = [{"partition_index": 0, "active_producers": [its]}]
    request = {"topics": [{"name": "orders", "partition_indexes": [0]}]}
    return scene.ask(at, PRODUCERS, request, {"topics": [{"name": "orders", "partitions": parts}]}, client="admin")


def begun(base: int = 10) -> Scene:
    """A transaction of two records, whose end is not in the scene."""
    return produce(add_partitions(initialize(Scene(), 0), 1, 0), 2, base)


def passed(scene: Scene, at: float) -> Scene:
    """The scene goes on until a time."""
    return scene.ask(at, META, {}, {}, client="other")


# Scene → state, whether it is sure, a part of why, whether there is a command.
STATES: list[tuple[Scene, str, bool, str, bool]] = [
    (initialize(Scene(), 0), "idle", True, "no transaction in the capture", False),
    (begun(), "open", True, "nothing in the capture ends it", True),
    (add_partitions(initialize(Scene(), 0), 1, 0, error=51), "idle", True, "no transaction", False),
    (end(begun(), 3), "committed", True, "app ended it", False),
    (end(begun(), 3, commits=False), "aborted", True, "app ended it", False),
    (end(begun(), 3, error=51), "open", True, "EndTxn was answered with CONCURRENT_TRANSACTIONS", True),
    (end(end(begun(), 3, error=51), 4), "committed", True, "app ended it", False),
    (end(begun(), 3, error=47), "fenced", True, "app got INVALID_PRODUCER_EPOCH", False),
    (end(passed(begun(), 70), 71, error=90), "timed out", True, "PRODUCER_FENCED after its timeout", False),
    (initialize(begun(), 3, epoch=1), "aborted", True, "app initialized the transactional id again", False),
    (initialize(begun(), 3, error=51), "prepared", True, "its abort goes on", True),
    (passed(begun(), 59), "open", True, "nothing in the capture ends it", True),
    (passed(begun(), 70), "timed out", False, "its timeout ran out", False),
    (read(passed(begun(), 70), 71, 10, 15), "ongoing", True, "orders-0 offset 10", True),
    (read(begun(), 3, 10, 12), "ongoing", True, "orders-0 offset 10", True),
    (read(begun(), 3, 12, 12), "ended", True, "can be read past its first record; how it ended", False),
    (read(passed(begun(), 70), 71, 12, 12), "timed out", True, "past its first record, after its timeout", False),
    (mark(begun(), 3), "aborted", True, "an abort marker was written", False),
    (mark(begun(), 3, commits=True), "committed", True, "its marker was written", False),
    (mark(begun(), 3, error=6), "open", True, "nothing in the capture ends it", True),
    (mark(passed(begun(), 70), 71), "timed out", True, "the coordinator aborted it after its timeout", False),
    (end(mark(begun(), 3, commits=True), 3.0005), "committed", True, "its marker was written", False),
    (read(end(begun(), 3), 3.5, 10, 12), "committed", True, "app ended it", False),
    (read(end(begun(), 3), 8, 10, 12), "prepared", True, "app ended it, but its marker is not in orders-0", True),
    (read(read(end(begun(), 3), 8, 10, 12), 9, 13, 13), "committed", True, "app ended it", False),
    (describe(begun(), 3, "Ongoing"), "ongoing", True, "its coordinator tells Ongoing", True),
    (describe(begun(), 3, "CompleteAbort"), "aborted", True, "its coordinator tells CompleteAbort", False),
    (describe(begun(), 70, "CompleteAbort"), "timed out", True, "its coordinator tells CompleteAbort", False),
    (describe(end(begun(), 3), 4, "PrepareCommit"), "prepared", True, "its coordinator tells PrepareCommit", True),
    (describe(Scene(), 3, "Ongoing"), "ongoing", True, "its coordinator tells Ongoing", True),
    (list_transactions(Scene(), 3, "Ongoing"), "ongoing", True, "its coordinator tells Ongoing", True),
    (list_transactions(Scene(), 3, "Empty"), "idle", True, "its coordinator tells Empty", False),
    (describe_producers(begun(), 3, 10), "ongoing", True, "orders-0 offset 10", True),
]


@pytest.mark.parametrize(("scene", "state", "sure", "why", "command"), STATES)
def test_the_state_of_the_latest_transaction(scene: Scene, state: str, sure: bool, why: str, command: bool) -> None:
    row = only(scene)
    assert (row["state"], row["sure"]) == (state, sure)
    assert why in row["why"]
    assert (row["command"] is not None) == command
    assert row["transactional_id"] == NAME


def test_a_transaction_that_holds_the_last_stable_offset_is_named_with_the_command_that_ends_it() -> None:
    scene = begun()
    for at in range(3, 23):
        read(scene, at, 10, 12 + at)
    row = only(scene)
    (hold,) = row["holds"]
    assert hold | PLACE == hold
    assert (hold["last_stable_offset"], hold["high_watermark"], hold["behind"], hold["sure"]) == (10, 34, 24, True)
    assert hold["held_ms"] == 19_000.0
    assert row["command"] == ABORT
    assert (row["producer_id"], row["producer_epoch"], row["client_id"]) == (PID, 0, "app")
    assert row["age_ms"] == pytest.approx(21_001)
    assert [(each["first_offset"], each["last_offset"], each["records"]) for each in row["partitions"]] == [(10, 11, 2)]


def test_the_doctor_and_the_transactions_give_the_same_commands() -> None:
    """A Produce that no AddPartitionsToTxn announced: the coordinator knows nothing of it, so a marker ends it."""
    scene = produce(Scene(), 0, 10)
    for at in range(1, 80):
        read(scene, at, 10, 12 + at)
    assert only(scene)["command"] == MARKER
    doctor = Doctor()
    for each in scene.exchanges(doctor):
        doctor.add(each)
    assert any(MARKER in row["remedy"] for row in doctor.rows() if row["id"] == "transaction-hangs")


def test_a_marker_has_the_coordinators_epoch_where_the_capture_shows_it() -> None:
    scene = describe(describe_producers(end(begun(), 3), 8, 10), 9, "CompleteCommit")
    row = only(scene)
    assert row["state"] == "prepared"
    assert row["command"] == f"{MARKER} 'markers[0].coordinator_epoch=3'"


def test_a_producer_that_is_not_in_the_capture_is_found_by_the_record_at_the_last_stable_offset() -> None:
    scene = read(Scene(), 0, 10, 14, records=batch(10))
    for at in range(1, 20):
        read(scene, at, 10, 14 + at)
    row = only(scene)
    assert (row["transactional_id"], row["producer_id"], row["state"]) == (None, PID, "ongoing")
    assert row["command"] == MARKER
    assert row["holds"][0]["held_ms"] == 19_000.0
    assert rows(read(read(Scene(), 0, 10, 14, records=batch(10)), 5, 10, 15)) == []  # under way


def test_of_an_unknown_producer_the_command_asks_who_it_is() -> None:
    scene = read(read(Scene(), 0, 10, 14), 30, 10, 44)
    row = only(scene)
    assert (row["producer_id"], row["state"]) == (None, "ongoing")
    place = "'topics[0].name=orders' 'topics[0].partition_indexes:=[0]'"
    assert row["command"] == f"kw call DescribeProducers -b 10.0.0.9:9092 {place}"


def test_a_transaction_whose_offsets_are_not_known_is_likely_the_holder() -> None:
    scene = add_partitions(initialize(Scene(), 0), 1, 0)
    for at in range(2, 20):
        read(scene, at, 10, 14)
    row = only(scene)
    assert [hold["sure"] for hold in row["holds"]] == [False]
    assert row["state"] == "open"


def test_transactions_that_add_partitions_with_produce_have_an_epoch_each() -> None:
    scene = initialize(Scene(), 0)
    end(produce(scene, 1, 0, by_id=True), 2, new=True)
    produce(scene, 3, 3, epoch=1, by_id=True)  # whose end is not there
    produce(scene, 4, 6, epoch=2, by_id=True)
    read(scene, 5, 6, 8, by_id=True)
    row = only(scene)
    assert (row["transactions"], row["commits"], row["implicit"], row["state"]) == (3, 1, True, "ongoing")
    assert (row["producer_epoch"], row["command"]) == (2, ABORT)
    assert [each["first_offset"] for each in row["partitions"]] == [6]
    topic = row["partitions"][0]["topic"]
    assert topic == "AAAAAAAAAAAAAAAAAAAABw" == row["holds"][0]["topic"]


def test_a_name_that_is_learnt_later_joins_what_was_said_of_its_id() -> None:
    scene = initialize(Scene(), 0)
    produce(scene, 1, 3, by_id=True)
    scene.ask(2, META, {"topics": None}, {"topics": [{"name": "orders", "topic_id": TOPIC_ID, "partitions": []}]})
    read(scene, 3, 3, 8, by_id=True)
    row = only(scene)
    assert (row["state"], row["holds"][0]["topic"], row["partitions"][0]["topic"]) == ("ongoing", "orders", "orders")


def test_offsets_that_a_transaction_commits_are_in_its_timeline() -> None:
    scene = initialize(Scene(), 0)
    who = {"transactional_id": NAME, "producer_id": PID, "producer_epoch": 0, "group_id": "billing"}
    scene.ask(1, ADD_OFFSETS, who, {})
    parts = [{"partition_index": 2, "committed_offset": 7, "committed_metadata": ""}]
    request = who | {"member_id": "", "topics": [{"name": "orders", "partitions": parts}]}
    done = [{"name": "orders", "partitions": [{"partition_index": 2, "error_code": 0}]}]
    scene.ask(2, TXN_COMMIT, request, {"topics": done})
    row = only(end(scene, 3))
    assert (row["groups"], row["state"], row["age_ms"]) == (["billing"], "committed", pytest.approx(2001))
    assert [each["what"] for each in row["timeline"]] == ["initialized", "offsets added", "offsets committed", "ended"]
    assert row["timeline"][2]["partitions"] == {"orders": [2]}


@pytest.mark.plain  # limits are compiled in
def test_only_the_latest_events_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions_fold, "TRANSACTION_EVENTS_MAX", 3)
    scene = begun()
    for at in range(3, 12):
        produce(scene, at, 10 + 2 * at)
    fold = Transactions()
    for each in scene.exchanges(fold):
        fold.add(each)
    (row,) = fold.rows()
    assert row["cut"] == ["timeline"]
    assert [each["what"] for each in row["timeline"]].count("produced") == 3
    assert row["state"] == "open"
    assert row["age_ms"] == pytest.approx(10_001)  # since the partition was added


def test_a_transaction_without_end_is_named_in_a_capture_that_ships() -> None:
    file = str(FOLDER / "incidents" / "transaction-without-end.pcap.zst")
    (row,) = json.loads(kw("transactions", file, "-o", "json", "-q").out)
    assert (row["transactional_id"], row["state"], row["client_id"]) == ("ledger-2", "ongoing", "raw")
    assert [(hold["last_stable_offset"], hold["behind"]) for hold in row["holds"]] == [(0, 66)]
    shown = kw("transactions", file, "-q", "-o", "text").out
    assert "ledger-2 holds transaction-without-end-0 at 0, 66 offsets behind for 14.38s" in shown
    assert row["command"] in shown
    by_reader = json.loads(kw("transactions", file, "-o", "json", "-q", "--client-id", "reader").out)
    assert by_reader == []  # no exchange of the id is of this client


def test_hanging_transactions_of_both_protocols_are_named_in_a_capture_that_ships() -> None:
    file = str(FOLDER / "transactions" / "hanging.pcap.zst")
    found = {row["transactional_id"]: row for row in json.loads(kw("transactions", file, "-o", "json", "-q").out)}
    assert [(row["state"], row["implicit"]) for row in found.values()] == [
        ("ongoing", False),
        ("ongoing", True),
        ("ongoing", False),
    ]
    for topic, (name, api) in HUNG.items():
        assert [(hold["topic"], hold["sure"]) for hold in found[name]["holds"]] == [(topic, True)]
        assert found[name]["command"].startswith(f"kw call {api} -b 127.0.0.1:20401 ")
    for words in (("--topic", "second-protocol"), ("--client-id", "hung-2"), ("-f", "transactional_id == 'ledger-2'")):
        outs = {kw("transactions", file, *words, "-o", "json", "-q", "--jobs", jobs).out for jobs in ("1", "2")}
        (out,) = outs
        (row,) = json.loads(out)
        assert (row["transactional_id"], row["state"]) == ("ledger-2", "ongoing")


@pytest.mark.parametrize("name", sampled(CLEAN, 2))
def test_healthy_captures_hold_nothing_back(name: str) -> None:
    found = json.loads(kw("transactions", str(FOLDER / name), "-o", "json", "-q").out)
    assert [(row["transactional_id"], row["state"]) for row in found if row["holds"] or not row["sure"]] == []
    assert {row["state"] for row in found} <= {"idle", "committed", "aborted"}


def test_commands_name_any_topic_as_one_word_of_a_shell() -> None:
    """A capture may name a topic that ends the quotes of a shell."""
    topic = "it's; rm -rf $HOME"
    commands = make_describe_producers_command("b:1", topic, 3), make_marker_command("b:1", [(topic, 3)], (7, 0))
    for command in commands:
        assert sum(word.endswith(f".name={topic}") for word in shlex.split(command)) == 1
