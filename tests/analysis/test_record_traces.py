"""The lives of records: who wrote, read and committed them, from scripted conversations and the captures that ship."""

from __future__ import annotations

import json
from collections.abc import Iterable
from random import Random
from struct import pack
from typing import Any
from uuid import UUID

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.analysis.record_traces import asked_records, record_traces
from decoders.analysis.record_traces.asked_records import (
    AskedOffsets,
    AskedProducer,
    RecordCondition,
    parse_asked_records,
)
from decoders.analysis.record_traces.downstream_traces import DownstreamTraces
from decoders.analysis.record_traces.life_of_record import LivesOfRecords
from decoders.analysis.record_traces.record_contents import read_record_rows
from decoders.analysis.record_traces.record_traces import RecordTraces
from decoders.capture.read_capture import CaptureReader
from decoders.errors import DecodeError, FilterError
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from kwcli.output.renderers import WantedPaths
from kwcli.run_environment import Exit
from tests.analysis.record_scenes import batch_of
from tests.analysis.record_scenes import put as put_batch
from tests.analysis.scenes import FIN, Scene
from tests.analysis.test_groups import join, sync
from tests.captures.shipped import CLEAN, FOLDER, capture_bytes
from tests.cli.worlds import kw, world
from tests.sampling import sampled

SCHEMA_FILE = FOLDER.parent / "decoders" / "messages" / "trace.schema.json"
SCHEMA = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_bytes()))
TOUR = str(FOLDER / "tour.pcapng")
ORDERS = UUID(int=0x0DE5)
PRODUCE, FETCH, FETCH_BY_ID, COMMIT, POSITION = (0, 9), (1, 12), (1, 13), (8, 8), (9, 7)


def make_batch(values: Iterable[str], first: int = 0, **fields: Any) -> bytes:
    """A batch with these values, keys k0, k1 …, and create times at 1,790,000,000,000 ms."""
    records = [
        Record(first + at, 1_790_000_000_000 + at, f"k{at}".encode(), value.encode(), (("n", str(at).encode()),))
        for at, value in enumerate(values)
    ]
    return encode_batch(records, Batch(base_offset=first, **fields))


def produce(scene: Scene, at: float, data: bytes, base: int | None, *, error: int = 0, **more: Any) -> None:
    """A Produce to orders/0; without `base` and `error` its connection ends unanswered."""
    request = {"acks": -1, "topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": data}]}]}
    if isinstance(more.get("transaction"), str):
        request["transactional_id"] = more.pop("transaction")
    part = {"index": 0, "error_code": error, "base_offset": -1 if base is None else base}
    answer = {"responses": [{"name": "orders", "partition_responses": [part]}]}
    if base is None and not error:
        scene.ask(at, PRODUCE, request, None, ends=FIN, client="maker", **more)
    else:
        scene.ask(at, PRODUCE, request, answer, client="maker", **more)


def fetch(
    scene: Scene, at: float, data: bytes, position: int, client: str = "a", *, named: bool = True, **more: Any
) -> None:
    """A Fetch of orders/0, by name or by id; `part` has more fields of the partition's answer."""
    part = {
        "partition_index": 0,
        "high_watermark": 100,
        "last_stable_offset": 100,
        "records": data,
        **more.pop("part", {}),
    }
    ask = {
        "topics": [{"topic": "orders", "topic_id": ORDERS, "partitions": [{"partition": 0, "fetch_offset": position}]}]
    }
    answer = {"responses": [{"topic": "orders", "topic_id": ORDERS, "partitions": [part]}]}
    for topic in (*ask["topics"], *answer["responses"]):
        del topic["topic_id" if named else "topic"]
    what = FETCH if named else FETCH_BY_ID
    scene.ask(at, what, {"replica_id": more.pop("replica", -1), **ask}, answer, client=client, **more)


def commit(scene: Scene, at: float, offset: int, client: str = "a", generation: int = 1) -> None:
    parts = [{"partition_index": 0, "committed_offset": offset}]
    request = {"group_id": "billing", "generation_id_or_member_epoch": generation, "member_id": client}
    answer = {"topics": [{"name": "orders", "partitions": [{"partition_index": 0, "error_code": 0}]}]}
    scene.ask(at, COMMIT, {**request, "topics": [{"name": "orders", "partitions": parts}]}, answer, client=client)


def fold_exchanges(question: str, exchanges: list[Exchange]) -> RecordTraces:
    fold = RecordTraces(parse_asked_records(question))
    for each in exchanges:
        fold.add(each)
    return fold


def rows(scene: Scene, question: str) -> list[dict[str, Any]]:
    """The rows of a scene; asserts that folds of its parts, merged in any order, give the same, and the schema."""
    exchanges = scene.exchanges(RecordTraces(parse_asked_records(question)))
    return rows_of_parts(question, exchanges)


def rows_of_parts(question: str, exchanges: list[Exchange]) -> list[dict[str, Any]]:
    found = fold_exchanges(question, exchanges).rows()
    draw = Random(len(exchanges))
    parts: list[list[Exchange]] = [[], [], []]
    for each in draw.sample(exchanges, len(exchanges)):
        draw.choice(parts).append(each)
    whole = RecordTraces(parse_asked_records(question))
    for part in parts:
        handed = RecordTraces(parse_asked_records(question))
        handed.resume(fold_exchanges(question, part).export())
        whole.merge(handed)
    assert whole.rows() == found
    further = DownstreamTraces(parse_asked_records(question))
    for each in exchanges:
        further.add(each)
    assert [row for row in further.rows() if row["downstream_of"] is None] == found
    return found


def events(row: dict[str, Any]) -> list[str]:
    return [each["event"] for each in row["events"]]


def test_the_tour_shows_who_wrote_and_read_a_record() -> None:
    outcome = kw("trace", TOUR, "orders/2@0", "-o", "ndjson")
    assert outcome.code == Exit.DONE
    (row,) = map(json.loads, outcome.out.splitlines())
    SCHEMA.validate(row)
    assert (row["produced_by"], row["produced"]) == ("checkout-7", "2026-11-21T17:34:46.606430Z")
    reads = [each for each in row["events"] if each["event"] == "read"]
    assert [(each["client_id"], each["group"], each["generation"], each["again"]) for each in reads] == [
        ("billing-1", "billing", 1, False),
        ("billing-1", "billing", 2, True),
    ]
    assert reads[1]["why"] == "after a rebalance; nothing was committed"
    assert row["read_by"][0]["committed"] is None
    assert row["not_in_capture"] == ["a commit of group billing beyond offset 0"]
    assert (row["key"], row["headers"]) == ("customer-3", [{"key": "trace", "value": "4bf92f35"}])


@pytest.mark.parametrize("question", ["orders[2]@0", "value.order==3", "value.order = 3 and key=customer-3"])
def test_a_record_is_found_by_other_words(question: str) -> None:
    found = [json.loads(line) for line in kw("trace", TOUR, question, "-o", "ndjson").out.splitlines()]
    assert ("orders", 2, 0) in [(row["topic"], row["partition"], row["offset"]) for row in found]
    assert len(found) <= 2


def test_offsets_are_those_of_the_records_that_meet_a_condition() -> None:
    asked = {
        (row["partition"], row["offset"])
        for row in map(json.loads, kw("trace", TOUR, "key=customer-3").out.splitlines())
        if row["topic"] == "orders"
    }
    sniffed = set()
    for line in kw("sniff", TOUR, "--records", "--topic", "orders", "--api", "Fetch", "-o", "ndjson").out.splitlines():
        for topic in json.loads(line)["response"]["responses"]:
            for part in topic["partitions"]:
                for batch in part["records"] or ():
                    sniffed |= {
                        (part["partition_index"], record["offset"])
                        for record in batch["records"]
                        if record["key"] == "customer-3"
                    }
    assert sniffed
    assert sniffed <= asked


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("orders/2@0", AskedOffsets("orders", 2, 0, 0)),
        ("my.topic-1[12]@5-9", AskedOffsets("my.topic-1", 12, 5, 9)),
        ("pid=4711/7", AskedProducer(4711, 7)),
        ("pid = 4711", AskedProducer(4711, None)),
    ],
)
def test_questions(text: str, asked: object) -> None:
    assert parse_asked_records(text) == asked


@pytest.mark.parametrize(
    "text", ["orders", "orders/2", "orders/2@9-5", "key=", "latency > 5ms", "key=a and api == Fetch"]
)
def test_questions_that_ask_for_no_record(text: str) -> None:
    with pytest.raises(FilterError):
        parse_asked_records(text)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", sampled(CLEAN, 3))
def test_any_split_gives_the_same_lives(name: str) -> None:
    for question in ("orders/0@0-20", "key ~ '.'", "value ~ '.'"):
        fold = RecordTraces(parse_asked_records(question))
        reader, engine = CaptureReader(), Engine(needs=WantedPaths(fold.needs))
        found = engine.feed([*reader.feed(capture_bytes(name)), *reader.finish()]) + engine.finish()
        rows_of_parts(question, [each for each in found if isinstance(each, Exchange)])


def test_a_damaged_state_is_an_error_of_ours() -> None:
    scene = Scene()
    produce(scene, 0, make_batch(["x"]), 5)
    fetch(scene, 1, make_batch(["x"], 5), 5)
    question = "orders/0@5"
    state = fold_exchanges(question, scene.exchanges(RecordTraces(parse_asked_records(question)))).export()
    for at in range(0, len(state), 7):
        with pytest.raises(DecodeError):
            RecordTraces(parse_asked_records(question)).resume(state[:at])


# What happens to records.


def test_tries_of_a_batch_are_told_apart_and_known_again() -> None:
    scene = Scene()
    batch = make_batch(["x", "y"], producer_id=7, producer_epoch=0, base_sequence=3)
    produce(scene, 0, batch, None, took=0.5)
    produce(scene, 1, batch, None, error=6, line=1)
    produce(scene, 2, batch, 40, line=1)
    produce(scene, 3, make_batch(["z"], producer_id=7, producer_epoch=0, base_sequence=5), 42, line=1)
    (row,) = rows(scene, "orders/0@41")
    assert row["tries"] == 3
    assert [(each["offset"], each["error"], each["why"]) for each in row["events"]] == [
        (None, None, "not answered"),
        (None, "NOT_LEADER_OR_FOLLOWER", None),
        (40, None, None),
    ]
    assert row["acknowledged"] == row["events"][2]["time"].replace(".000", ".001")
    assert rows(scene, "pid=7/4") == [row]
    (lost,) = rows(scene, "pid=7/5")
    assert (lost["offset"], lost["not_in_capture"]) == (42, ["a consumer's Fetch of orders/0 that got offset 42"])


def test_a_batch_that_was_never_answered_is_known_by_what_is_read() -> None:
    scene = Scene()
    produce(scene, 0, make_batch(["x", "y"]), None)
    (row,) = rows(scene, "key=k1")
    assert (row["offset"], row["not_in_capture"]) == (None, ["an answer to its Produce", "its offset"])
    fetch(scene, 1, make_batch(["x", "y"], 10), 10)
    (row,) = rows(scene, "orders/0@11")
    assert (row["tries"], events(row)) == (1, ["produced", "read"])


def test_a_commit_that_covers_a_record_is_the_first_beyond_it() -> None:
    scene = Scene()
    join(scene, 0, "a", 1, took=0.5, known=False, members=("a",))
    sync(scene, 0.6, "a", 1, {"a": [0]})
    produce(scene, 1, make_batch(["x", "y"]), 10)
    fetch(scene, 2, make_batch(["x", "y"], 10), 10)
    commit(scene, 3, 11)
    commit(scene, 4, 12)
    commit(scene, 5, 13)
    (row,) = rows(scene, "orders/0@11")
    assert events(row) == ["produced", "read", "committed"]
    assert [(each["generation"], each["age_ms"]) for each in row["events"][1:]] == [(1, 1001.0), (1, 3001.0)]
    assert row["read_by"][0] | {"first": 0, "last": 0, "committed": 0} == {
        "group": "billing",
        "clients": ["a"],
        "reads": 1,
        "first": 0,
        "last": 0,
        "age_ms": 1001.0,
        "committed": 0,
        "commit_age_ms": 3001.0,
    }
    assert row["not_in_capture"] == []


def test_a_seek_is_told_from_a_rebalance() -> None:
    scene = Scene()
    join(scene, 0, "a", 1, took=0.5, known=False, members=("a",))
    sync(scene, 0.6, "a", 1, {"a": [0]})
    for at in (2.0, 3.0):
        fetch(scene, at, make_batch(["x"], 10), 10)
    fetch(scene, 4, make_batch(["x"], 10), 10, line=3)
    (row,) = rows(scene, "orders/0@10")
    assert [each["why"] for each in row["events"]] == [
        None,
        "went back to offset 10 by itself (a seek)",
        "on another connection: the answer before may not have come",
    ]
    assert row["not_in_capture"] == ["the Produce that wrote it", "a commit of group billing beyond offset 10"]


def leave_while_a_fetch_waits(by: str = "a") -> Scene:
    """A member whose group `by` takes it out of, 0.4 s before its Fetch gets a record; another line of the client."""
    scene = Scene()
    join(scene, 0, "a", 1, took=0.5, known=False, members=("a",))
    sync(scene, 0.6, "a", 1, {"a": [0]})
    fetch(scene, 2, make_batch(["x"], 10), 10, took=0.5, line=1)
    leaving = {"group_id": "billing", "members": [{"member_id": "a", "group_instance_id": None, "reason": "done"}]}
    scene.ask(2.1, (13, 5), leaving, {"members": [{"member_id": "a", "group_instance_id": None}]}, client=by)
    return scene


def test_what_comes_after_a_member_has_left_is_not_read() -> None:
    (row,) = rows(leave_while_a_fetch_waits(), "orders/0@10")
    assert (events(row), row["read_by"]) == (["dropped"], [])
    assert (row["events"][0]["group"], row["events"][0]["why"]) == ("billing", "the member had left the group by then")
    SCHEMA.validate({"kind": "trace", "schema": 1, **row})
    (removed,) = rows(leave_while_a_fetch_waits("admin"), "orders/0@10")  # it reads on until it hears of it
    assert (events(removed), removed["read_by"][0]["group"]) == (["read"], "billing")


def test_what_a_client_asks_for_after_it_has_left_its_group_it_reads_for_itself() -> None:
    scene = leave_while_a_fetch_waits()
    fetch(scene, 3, make_batch(["x"], 10), 10, took=0.5, line=1)
    (row,) = rows(scene, "orders/0@10")
    assert events(row) == ["dropped", "read"]
    (reader,) = row["read_by"]
    assert reader["group"] is None


def test_a_batch_has_no_more_records_than_bytes_whatever_its_header_says() -> None:
    data = bytearray(batch_of(2, producer_id=7, producer_epoch=0, base_sequence=4))
    data[23:27] = pack(">i", 2**20)
    fold = fold_exchanges(
        "pid=7", put_batch(Scene(), 1, bytes(data), 10).exchanges(RecordTraces(parse_asked_records("pid=7")))
    )
    assert len(fold.rows()) <= len(data)


def test_followers_and_reads_from_followers_are_said() -> None:
    scene = Scene()
    nodes = [{"node_id": 2, "host": "10.0.0.9", "port": 9092, "rack": None}]
    scene.ask(0, (3, 9), {}, {"brokers": nodes, "topics": []})
    produce(scene, 1, make_batch(["x"]), 10, broker="10.0.0.8:9092")
    fetch(scene, 2, make_batch(["x"], 10), 10, "broker-3", replica=3, broker="10.0.0.8:9092")
    fetch(scene, 3, b"", 10, "a", part={"preferred_read_replica": 2}, broker="10.0.0.8:9092")
    fetch(scene, 4, make_batch(["x"], 10), 10, "a")
    (row,) = rows(scene, "orders/0@10")
    assert events(row) == ["produced", "replicated", "read"]
    assert row["events"][1]["node_of_follower"] == 3
    assert (row["events"][2]["from_follower"], row["events"][2]["node_id"]) == (True, 2)


@pytest.mark.parametrize("committed", [True, False])
def test_the_end_of_its_transaction_is_part_of_a_life(committed: bool) -> None:
    scene = Scene()
    batch = make_batch(["x"], producer_id=7, producer_epoch=1, base_sequence=0, transactional=True)
    produce(scene, 0, batch, 10, transaction="pay")
    end = {"transactional_id": "pay", "producer_id": 7, "producer_epoch": 1, "committed": committed}
    scene.ask(1, (26, 3), end, {"error_code": 0}, client="maker")
    (row,) = rows(scene, "orders/0@10")
    outcome = "committed" if committed else "aborted"
    assert row["transaction"] == {"id": "pay", "producer_id": 7, "outcome": outcome}
    assert events(row) == ["produced", f"transaction_{outcome}"]


def test_an_answer_to_fetch_tells_which_transactions_were_aborted() -> None:
    scene = Scene()
    its = {"producer_id": 7, "producer_epoch": 1, "transactional": True}
    data = make_batch(["x"], 10, base_sequence=0, **its) + make_batch(["-"], 11, base_sequence=-1, control=True, **its)
    data += make_batch(["y"], 12, base_sequence=1, **its)
    fetch(scene, 1, data, 10, part={"aborted_transactions": [{"producer_id": 7, "first_offset": 10}]})
    aborted, marker, later = rows(scene, "orders/0@10-12")
    assert aborted["transaction"] == {"id": None, "producer_id": 7, "outcome": "aborted"}
    assert later["transaction"] is None
    assert marker["offset"] == 11


def test_what_a_log_no_longer_has_is_said() -> None:
    scene = Scene()
    produce(scene, 0, make_batch(["x", "y", "z"]), 10)
    left = [Record(10, 5, b"k", b"x", ()), Record(12, 5, b"k", b"z", ())]
    fetch(scene, 1, encode_batch(left, Batch(base_offset=10, last_offset=12)), 10)
    fetch(scene, 2, b"", 20, part={"log_start_offset": 20})
    here, gone, _ = rows(scene, "orders/0@10-12")
    assert events(here) == ["produced", "read", "expired"]
    assert events(gone) == ["produced", "absent", "expired"]
    assert gone["events"][1]["why"] == "compacted away, or never written"


def test_a_topic_that_has_only_an_id_is_known_by_its_batches() -> None:
    scene = Scene()
    batch = make_batch(["x"])
    produce(scene, 0, batch, 10)
    fetch(scene, 1, make_batch(["x"], 10), 10, named=False)
    (row,) = rows(scene, "orders/0@10")
    assert events(row) == ["produced", "read"]
    other = Scene()
    fetch(other, 1, make_batch(["x"], 10), 10, named=False)
    (row,) = rows(other, "AAAAAAAAAAAAAAAAAAAN5Q/0@10")
    assert row["topic"] == "AAAAAAAAAAAAAAAAAAAN5Q"


# The command.


def test_what_is_not_there_is_said_with_what_is() -> None:
    outcome = kw("trace", TOUR, "orders/2@999")
    assert outcome.code == Exit.FAILURE
    assert "the records of orders/2 seen there end at offset 124" in outcome.err
    assert 'did you mean "orders"?' in kw("trace", TOUR, "order/2@0").err
    assert kw("trace", TOUR).code == Exit.USAGE
    assert kw("trace", TOUR, "orders").code == Exit.USAGE


def test_the_text_is_a_timeline() -> None:
    outcome = kw(
        "trace",
        TOUR,
        "orders/2@0",
        "-o",
        "text",
        "-q",
        env=world(columns=80, terminal=True, variables={"NO_COLOR": "1"}),
    )
    assert [line for line in outcome.out.splitlines() if len(line) > 80] == []
    assert "17:34:56.614 10.01s billing-1" in outcome.out
    assert outcome.out.splitlines()[-1] == "not in the capture: a commit of group billing beyond offset 0"


@pytest.mark.parametrize(
    "more", [("--jobs", "2"), ("--topic", "orders"), ("-f", "api != JoinGroup and api != SyncGroup")]
)
def test_jobs_and_filters_lose_no_group(more: tuple[str, ...]) -> None:
    whole = kw("trace", TOUR, "orders/2@0-3").out
    assert kw("trace", TOUR, "orders/2@0-3", *more).out == whole


def test_tables_and_records_of_kw_answer_as_the_capture_does() -> None:
    def essence(out: str) -> list[Any]:
        return [
            (row["produced"], row["tries"], [(each["event"], each["time"]) for each in row["events"]])
            for row in map(json.loads, out.splitlines())
        ]

    sniffed = kw("sniff", TOUR, "-o", "ndjson").out.encode()
    whole = essence(kw("trace", TOUR, "orders/2@0").out)
    assert essence(kw("trace", "-", "orders/2@0", env=world(sniffed)).out) == whole


@pytest.mark.parametrize(("command", "words"), [("trace", "[FILE...] [RECORD]"), ("sql", "[FILE...] [QUERY]")])
def test_the_usage_line_names_the_last_word(command: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    kw(command, "--help")
    assert capsys.readouterr().out.splitlines()[0] == f"Usage: kw {command} [OPTIONS] {words}"


@pytest.mark.parametrize(
    ("question", "passed_over", "looked_at"),
    [
        ("key=k1", (b"\x06k1", b"\x04K1", b"\x06xk1"), (b"\x04k1", b"\x84\0k1", b"\x84\x80\0k1")),
        ("header.n=1", (b"11", b"\x04\x31"), (b"\x02\x31",)),
        ("key=" + 70 * "k", (b"\x01" + 70 * b"k",), (b"\x8c\x01" + 70 * b"k", b"\x8c\x81\0" + 70 * b"k")),
        ("value like '*b*cd*'", (b"bd", b"cb"), (b"cd",)),
        ("key in (k1, k2)", (b"\x04k3",), (b"\x04k1", b"\x04k2")),
        ("key=k1 and value~ 'xy'", (b"\x04k1", b"xy"), (b"\x04k1xy",)),
        ("key=k1 and value.order==3", (b"k1",), (b"\x04k1",)),
        ("key in (a, b, c) and value=d", (b"\x02a", b"\x02d"), (b"\x02a\x02d",)),
        ("key='ä'", ("\x04Ä".encode(),), ("\x04ä".encode(),)),
        ("value ~ '^xy$'", (b"yx",), (b"\x04xy",)),
    ],
)
def test_bytes_that_records_must_have_are_known(
    question: str, passed_over: tuple[bytes, ...], looked_at: tuple[bytes, ...]
) -> None:
    search = parse_condition(question)._search
    assert search is not None
    for data in passed_over:
        assert not search(b"--" + data + b"--", 2, 2 + len(data)), data
    for data in looked_at:
        assert search(b"--" + data + b"--", 2, 2 + len(data)), data
        assert not search(b"--" + data + b"--", 2, 1 + len(data)), data


@pytest.mark.parametrize(
    "question",
    [
        *("key=k1 or value.order==3", "not key=k1", "key != k1", "key == null", "key='a\ufffd'", "value ~ 'x.y'"),
        *("key like '*'", "key in (1, 2, 3, 4, 5, 6, 7, 8, 9)", "value.order==3", "value_format == json"),
    ],
)
def test_questions_without_such_bytes_search_none(question: str) -> None:
    assert parse_condition(question)._search is None


def parse_condition(question: str) -> RecordCondition:
    asked = parse_asked_records(question)
    assert isinstance(asked, RecordCondition)
    return asked


def test_a_record_before_the_position_of_a_fetch_was_not_read() -> None:
    scene = Scene()
    fetch(scene, 1, make_batch(["a", "b"]), 1)
    assert rows(scene, "key=k0") == []
    assert [row["offset"] for row in rows(scene, "key=k1")] == [1]


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize(
    ("question", "offsets"), [("key=k1", [1]), ("value=zz", []), ("header.n=k1", []), ("key!=k1", [0, 2])]
)
def test_batches_without_such_bytes_are_not_read(
    monkeypatch: pytest.MonkeyPatch, codec: str, question: str, offsets: list[int]
) -> None:
    read: list[int] = []

    def note_and_read(records: Any, raw: Any, head: Any) -> Any:
        read.append(head.base_offset)
        return read_record_rows(records, raw, head)

    monkeypatch.setattr(asked_records, "read_record_rows", note_and_read)
    scene = Scene()
    fetch(scene, 1, make_batch(["a", "b"], codec=codec) + make_batch(["c"], 2, codec=codec), 0)
    assert [row["offset"] for row in rows(scene, question)] == offsets
    assert (not read) == (codec == "none" and question == "value=zz")


@pytest.mark.parametrize("question", ["orders/0@0-8", "key ~ k"])
def test_lives_that_are_not_shown_are_not_made(monkeypatch: pytest.MonkeyPatch, question: str) -> None:
    monkeypatch.setattr(record_traces, "RECORDS_TRACED_MAX", 2)
    made: list[int] = []
    make_row = LivesOfRecords.make_row

    def note_and_make(lives: LivesOfRecords, where: tuple[str, int], offset: int) -> dict[str, Any]:
        made.append(offset)
        return make_row(lives, where, offset)

    monkeypatch.setattr(LivesOfRecords, "make_row", note_and_make)
    scene = Scene()
    produce(scene, 1, make_batch("abcdefghi"), 0)
    exchanges = scene.exchanges(RecordTraces(parse_asked_records(question)))
    found = fold_exchanges(question, exchanges).rows()
    assert [row["offset"] for row in found] == made == [0, 1]
