"""Records that a reader of another one wrote after it: by equal headers or the same trace, in scenes and a capture."""

from __future__ import annotations

import json
from functools import partial
from random import Random
from typing import Any

import pytest

from decoders.analysis.record_traces import written_records
from decoders.analysis.record_traces.asked_records import parse_asked_records
from decoders.analysis.record_traces.downstream_traces import DownstreamTraces
from decoders.analysis.record_traces.record_traces import RecordTraces
from decoders.errors import DecodeError
from decoders.exchanges.exchange import Exchange
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from kwcli.run_environment import Exit
from tests.analysis.scenes import Scene
from tests.analysis.test_record_traces import SCHEMA
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw

PRODUCE, FETCH = (0, 9), (1, 12)
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-{:016x}-01"
Headers = dict[str, str]


def batch_of(*headers: Headers, first: int = 0) -> bytes:
    """A batch with a record for each dict of headers."""
    records = [
        Record(first + at, 1_790_000_000_000, b"k", b"v", tuple((name, held.encode()) for name, held in each.items()))
        for at, each in enumerate(headers)
    ]
    return encode_batch(records, Batch(base_offset=first))


def write(scene: Scene, at: float, topic: str, offset: int, *headers: Headers, **more: Any) -> None:
    ask = {"acks": -1, "topic_data": [{"name": topic, "partition_data": [{"index": 0, "records": batch_of(*headers)}]}]}
    part = {"index": 0, "error_code": 0, "base_offset": offset}
    scene.ask(at, PRODUCE, ask, {"responses": [{"name": topic, "partition_responses": [part]}]}, **more)


def read(scene: Scene, at: float, topic: str, offset: int, *headers: Headers, **more: Any) -> None:
    data = batch_of(*headers, first=offset)
    part = {"partition_index": 0, "high_watermark": 100, "last_stable_offset": 100, "records": data}
    ask = {"replica_id": -1, "topics": [{"topic": topic, "partitions": [{"partition": 0, "fetch_offset": offset}]}]}
    scene.ask(at, FETCH, ask, {"responses": [{"topic": topic, "partitions": [part]}]}, **more)


def fold_exchanges(question: str, exchanges: list[Exchange]) -> DownstreamTraces:
    fold = DownstreamTraces(parse_asked_records(question))
    for each in exchanges:
        fold.add(each)
    return fold


def rows(scene: Scene, question: str = "orders/0@10") -> list[dict[str, Any]]:
    """The rows of a scene; asserts that folds of its parts, merged in any order, give the same, and the schema."""
    exchanges = scene.exchanges(DownstreamTraces(parse_asked_records(question)))
    found = fold_exchanges(question, exchanges).rows()
    draw = Random(len(exchanges))
    parts: list[list[Exchange]] = [[], [], []]
    for each in draw.sample(exchanges, len(exchanges)):
        draw.choice(parts).append(each)
    whole = DownstreamTraces(parse_asked_records(question))
    for part in parts:
        handed = DownstreamTraces(parse_asked_records(question))
        handed.resume(fold_exchanges(question, part).export())
        whole.merge(handed)
    assert whole.rows() == found
    for row in found:
        SCHEMA.validate({"kind": "trace", "schema": 1, **row})
    in_order = DownstreamTraces(parse_asked_records(question), in_order=True)
    for each in exchanges:
        in_order.add(each)
    assert (in_order.rows(), in_order.left_out.total()) == (found, 0)
    alone = RecordTraces(parse_asked_records(question))
    for each in exchanges:
        alone.add(each)
    assert alone.rows() == [row for row in found if row["downstream_of"] is None]
    return found


def downstream(found: list[dict[str, Any]]) -> list[tuple[str, str, list[str], int]]:
    """Record, source, headers and steps of the rows that follow from others."""
    return [
        (f"{row['topic']}@{row['offset']}", f"{its['topic']}@{its['offset']}", its["headers"], its["steps"])
        for row in found
        if (its := row["downstream_of"]) is not None
    ]


def shop(wrote: Headers, made: Headers, *, at: float = 3, **writer: str) -> Scene:
    """An order of the host of a shop, read by billing, which writes an invoice."""
    scene = Scene()
    write(scene, 1, "orders", 10, wrote, client="shop", host="10.0.0.2")
    read(scene, 2, "orders", 10, wrote, client="billing", host="10.0.0.3")
    write(scene, at, "invoices", 70, made, **{"client": "billing-out", "host": "10.0.0.3", **writer})
    return scene


@pytest.mark.parametrize(
    ("wrote", "made", "headers"),
    [
        ({"order-id": "501"}, {"order-id": "501"}, ["order-id"]),
        ({"order-id": "501", "x": "1"}, {"order-id": "501", "x": "2"}, ["order-id"]),
        ({"traceparent": TRACE.format(1)}, {"traceparent": TRACE.format(2)}, ["traceparent"]),
        ({"traceparent": TRACE.format(1), "b": "2"}, {"b": "2", "traceparent": TRACE.format(9)}, ["b", "traceparent"]),
    ],
)
def test_what_a_reader_wrote_with_an_equal_header_is_downstream(
    wrote: Headers, made: Headers, headers: list[str]
) -> None:
    asked, made_of_it = rows(shop(wrote, made))
    assert asked["downstream_of"] is None
    assert downstream([made_of_it]) == [("invoices@70", "orders@10", headers, 1)]
    assert made_of_it["downstream_of"]["read"] == asked["events"][1]["time"]
    assert made_of_it["headers"] == [{"key": key, "value": held} for key, held in made.items()]
    assert made_of_it["produced_by"] == "billing-out"


@pytest.mark.parametrize(
    "scene",
    [
        shop({"order-id": "501"}, {"order-id": "502"}),
        shop({"order-id": "501"}, {"number": "501"}),
        shop({"order-id": "501"}, {"order-id": "501"}, at=1.5),  # before it had read
        shop({"order-id": "501"}, {"order-id": "501"}, host="10.0.0.4"),  # another client
        shop({"content-type": "json"}, {"content-type": "json"}),
        shop({"traceparent": TRACE.format(1)}, {"traceparent": TRACE.format(1).replace("4bf9", "4bfa")}),
        shop({"traceparent": f"00-{'0' * 32}-{1:016x}-01"}, {"traceparent": f"00-{'0' * 32}-{1:016x}-01"}),
        shop({"order-id": ""}, {"order-id": ""}),
    ],
)
def test_what_only_looks_so_is_not(scene: Scene) -> None:
    assert downstream(rows(scene)) == []


def test_the_same_client_id_on_another_host_is_the_reader() -> None:
    found = rows(shop({"order-id": "501"}, {"order-id": "501"}, host="10.0.0.4", client="billing"))
    assert downstream(found) == [("invoices@70", "orders@10", ["order-id"], 1)]


def test_a_long_or_binary_value_is_compared_whole() -> None:
    """Texts are cut and bytes replaced where they are shown."""
    long = "a" * 300
    assert downstream(rows(shop({"id": f"{long}1"}, {"id": f"{long}2"}))) == []
    assert len(downstream(rows(shop({"id": f"{long}1"}, {"id": f"{long}1"})))) == 1


def test_a_header_that_many_records_share_says_nothing() -> None:
    scene = Scene()
    wrote = [{"source": "web", "order-id": str(number)} for number in range(8)]
    write(scene, 1, "orders", 10, *wrote, client="shop", host="10.0.0.2")
    read(scene, 2, "orders", 10, *wrote, client="billing", host="10.0.0.3")
    write(scene, 3, "invoices", 70, *wrote[::-1], client="billing", host="10.0.0.3")
    assert downstream(rows(scene)) == [("invoices@77", "orders@10", ["order-id"], 1)]


def test_a_header_that_many_records_share_says_nothing_where_their_source_was_only_read() -> None:
    scene = Scene()
    wrote = [{"source": "web", "order-id": str(number)} for number in range(8)]
    read(scene, 2, "orders", 10, *wrote, client="billing")
    write(scene, 3, "invoices", 70, *wrote, client="billing")
    assert downstream(rows(scene)) == [("invoices@70", "orders@10", ["order-id"], 1)]


def test_records_are_followed_on_and_told_once() -> None:
    scene = shop({"order-id": "501", "traceparent": TRACE.format(1)}, {"order-id": "501"})
    read(scene, 4, "invoices", 70, {"order-id": "501"}, client="post", host="10.0.0.5")
    write(scene, 5, "letters", 3, {"order-id": "501", "letter": "9"}, client="post", host="10.0.0.5")
    write(scene, 5.5, "letters", 3, {"order-id": "501", "letter": "9"}, client="post", host="10.0.0.5")
    read(scene, 6, "letters", 3, {"order-id": "501", "letter": "9"}, client="shop", host="10.0.0.2")
    write(scene, 7, "orders", 11, {"letter": "9"}, client="shop", host="10.0.0.2")
    read(scene, 8, "orders", 11, {"letter": "9"}, client="post", host="10.0.0.5")
    write(scene, 9, "letters", 4, {"letter": "8"}, client="post", host="10.0.0.5")
    assert downstream(rows(scene)) == [
        ("invoices@70", "orders@10", ["order-id"], 1),
        ("letters@3", "invoices@70", ["order-id"], 2),
        ("orders@11", "letters@3", ["letter"], 3),
    ]


def test_a_ring_of_records_ends() -> None:
    scene = Scene()
    for step in range(40):
        write(scene, 2 * step, "ring", step, {"hop": "1", "traceparent": TRACE.format(step)})
        read(scene, 2 * step + 1, "ring", step, {"hop": "1", "traceparent": TRACE.format(step)})
    found = downstream(rows(scene, "ring/0@0"))
    assert [record for record, *_ in found] == [f"ring@{number}" for number in range(1, 40)]
    assert [steps for *_, steps in found] == [*range(1, 40)]


def test_steps_are_bounded() -> None:
    scene = Scene()
    for step in range(12):
        headers = {f"h{step}": "a", f"h{step + 1}": "b"} if step % 2 else {f"h{step}": "b", f"h{step + 1}": "a"}
        write(scene, 2 * step, f"t{step}", 0, headers)
        read(scene, 2 * step + 1, f"t{step}", 0, headers)
    assert [steps for *_, steps in downstream(rows(scene, "t0/0@0"))] == [1, 2, 3, 4, 5, 6, 7, 8]


def left_out(scene: Scene, *, parts: int = 1) -> int:
    """How many records a fold has left out that saw a scene in so many parts, one after the other."""
    exchanges = scene.exchanges(DownstreamTraces(parse_asked_records("orders/0@0")))
    whole, size = fold_exchanges("orders/0@0", []), -(-len(exchanges) // parts)
    for at in range(0, len(exchanges), size):
        whole.merge(fold_exchanges("orders/0@0", exchanges[at : at + size]))
    return whole.left_out.total()


def busy_scene(reads_at: float) -> Scene:
    """Three times two records of the client `a`, at 1, 2 and 3 s, which reads at some time."""
    scene = Scene()
    steps = [
        (float(at), partial(write, scene, at, "out", 2 * at, {"id": f"{at}"}, {"id": f"{at}+"})) for at in (1, 2, 3)
    ]
    steps.append((reads_at, partial(read, scene, reads_at, "orders", 0, {"id": "1"})))
    for _, step in sorted(steps, key=lambda each: each[0]):
        step(client="a")
    return scene


@pytest.mark.parametrize(
    ("reads_at", "parts", "count"),
    [
        (0.5, 1, 4),  # two are kept
        (2.5, 1, 0),  # the last two are kept: the others were written before it had read
        (3.5, 1, 0),
        (0.5, 2, 4),
        (3.5, 2, 0),
    ],
)
def test_records_of_readers_beyond_the_limit_are_counted(
    monkeypatch: pytest.MonkeyPatch, reads_at: float, parts: int, count: int
) -> None:
    monkeypatch.setattr(written_records, "RECORDS_WITH_HEADERS_MAX", 2)
    monkeypatch.setattr(written_records, "HEADERS_SAMPLED", 0)
    assert left_out(busy_scene(reads_at), parts=parts) == count


def test_records_of_writers_that_were_found_to_be_readers_too_late_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a capture does not know that its writers had read in the part before."""
    monkeypatch.setattr(written_records, "RECORDS_WITH_HEADERS_MAX", 2)
    monkeypatch.setattr(written_records, "HEADERS_SAMPLED", 0)
    reader, writer = Scene(), Scene()
    read(reader, 0.5, "orders", 0, {"id": "1"}, client="a")
    for at in (1, 2, 3):
        write(writer, at, "out", 2 * at, {"id": f"{at}"}, {"id": f"{at}+"}, client="a")
    question = "orders/0@0"
    folds = [fold_exchanges(question, each.exchanges(fold_exchanges(question, []))) for each in (reader, writer)]
    assert folds[1].left_out.total() == 0
    folds[0].merge(folds[1])
    assert folds[0].left_out == {"written record": 6}


def test_batches_of_writers_that_have_not_read_are_not_read_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written_records, "HEADERS_SAMPLED", 0)
    read_rows: list[int] = []

    def note_rows(_records: Any, _raw: Any, head: Any) -> tuple[()]:
        read_rows.append(head.records)
        return ()

    monkeypatch.setattr(written_records, "read_record_rows", note_rows)
    for reads_at, count in ((0.5, 6), (1.5, 4), (3.5, 0)):
        fold = DownstreamTraces(parse_asked_records("orders/0@0"), in_order=True)
        for each in busy_scene(reads_at).exchanges(fold):
            fold.add(each)
        assert sum(read_rows) == count
        read_rows.clear()


def test_records_of_readers_are_kept_where_others_write_more_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(written_records, "RECORDS_WITH_HEADERS_MAX", 2)
    monkeypatch.setattr(written_records, "HEADERS_SAMPLED", 0)
    scene = Scene()
    for at in range(5):
        write(scene, at, "orders", 2 * at, {"id": f"{at}"}, {"id": f"{at}+"}, client="shop", host="10.0.0.2")
    read(scene, 6, "orders", 8, {"id": "4"}, {"id": "4+"}, client="billing", host="10.0.0.3")
    for at in (7, 8):
        write(scene, at, "orders", 2 * at, {"id": f"{at}"}, {"id": f"{at}+"}, client="shop", host="10.0.0.2")
    write(scene, 9, "invoices", 70, {"id": "4"}, client="billing-out", host="10.0.0.3")
    fold = fold_exchanges("orders/0@8", scene.exchanges(DownstreamTraces(parse_asked_records("orders/0@8"))))
    assert downstream(fold.rows()) == [("invoices@70", "orders@8", ["id"], 1)]
    assert fold.left_out.total() == 0


def test_a_damaged_state_is_an_error_of_ours() -> None:
    question = "orders/0@10"
    scene = shop({"order-id": "501"}, {"order-id": "501"})
    state = fold_exchanges(question, scene.exchanges(DownstreamTraces(parse_asked_records(question)))).export()
    for at in range(0, len(state), 11):
        with pytest.raises(DecodeError):
            DownstreamTraces(parse_asked_records(question)).resume(state[:at])


# The command, on programs that handed on headers.

CAPTURE = str(FOLDER / "traces" / "downstream.pcap.zst")
ORDER, TRACED = "order-id", "traceparent"


def test_a_recorded_order_is_followed_to_its_letters() -> None:
    outcome = kw("trace", CAPTURE, "orders/0@3", "--downstream", "-o", "ndjson")
    assert outcome.code == Exit.DONE
    found = [json.loads(line) for line in outcome.out.splitlines()]
    for row in found:
        SCHEMA.validate(row)
    assert downstream(found) == [
        ("invoices@3", "orders@3", [ORDER, TRACED], 1),
        ("invoices@4", "orders@3", [ORDER], 1),
        ("letters@3", "invoices@3", [TRACED], 2),
    ]
    assert [row["produced_by"] for row in found] == ["shop", "billing-out", "billing-out", "post-out"]


@pytest.mark.parametrize("more", [(), ("--jobs", "2"), ("-f", "api != JoinGroup")])
def test_all_recorded_orders_have_the_invoices_that_were_made_of_them(more: tuple[str, ...]) -> None:
    """Of 504 the invoice has no headers, of 505 there is none; `source`, which all have, is no ground."""
    found = [json.loads(line) for line in kw("trace", CAPTURE, "orders/0@0-7", "--downstream", *more).out.splitlines()]
    made = [(*each[:2], each[2]) for each in downstream(found) if each[0].startswith("invoices")]
    both = [ORDER, TRACED]
    assert made == [
        *((f"invoices@{number}", f"orders@{number}", both) for number in range(4)),
        ("invoices@4", "orders@3", [ORDER]),
        *((f"invoices@{number}", f"orders@{number}", both) for number in (6, 7)),
    ]
    letters = [each[0:2] for each in downstream(found) if each[3] == 2]
    sources = [f"invoices@{number}" for number in (0, 1, 2, 3, 6, 7)]
    assert letters == [(f"letters@{number}", source) for number, source in enumerate(sources)]


def test_the_text_says_the_ground() -> None:
    out = kw("trace", CAPTURE, "orders/0@3", "--downstream", "-o", "text", "-q").out
    said = [line for line in out.splitlines() if line.startswith("downstream of")]
    assert [line.rpartition(": ")[2] for line in said] == [
        "by header order-id, traceparent",
        "by header order-id",
        "by traceparent",
    ]
    assert "downstream of" in kw("trace", CAPTURE, "orders/0@0-7", "--downstream", "-o", "text", "-q").out


def test_without_the_option_no_record_is_followed() -> None:
    (row,) = map(json.loads, kw("trace", CAPTURE, "orders/0@3").out.splitlines())
    assert row["downstream_of"] is None


def test_lists_of_faults_are_not_followed() -> None:
    outcome = kw("trace", CAPTURE, "--losses", "--downstream")
    assert outcome.code == Exit.USAGE
    assert "--downstream goes on from one record" in outcome.err
