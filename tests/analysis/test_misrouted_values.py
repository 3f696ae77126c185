"""`kw trace --misrouted --values`: records whose value has the schema of another topic, and those that come near."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from decoders import Batch, Record
from decoders.analysis.record_traces.record_faults import MisroutedRecords
from decoders.errors import DecodeError
from decoders.exchanges.exchange import Exchange
from decoders.limits import VALUE_RUNS_MAX
from decoders.messages.decode_record_values import RecordValueReader
from decoders.records.encode_batches import encode_batch
from decoders.values.schemas_and_decoded_values import RegisteredSchema, SchemaOrigin
from kwcli.run_environment import Exit
from tests.analysis.record_scenes import put
from tests.analysis.scenes import Scene
from tests.analysis.test_record_traces import SCHEMA
from tests.captures.shipped import FOLDER
from tests.cli.test_doctor_values import PAYMENT, registered, told_after_the_values
from tests.cli.worlds import kw
from tests.reading.captures_with_values import ORDER, HandMadeCapture, prefixed, schemas_record

PAYMENTS = schemas_record(19, PAYMENT, "payments-value")


def listed(capture: HandMadeCapture, folder: Path, *words: str) -> list[tuple[str, int, str, str]]:
    """Topic, records, rightful topic and reason of the rows."""
    name = capture.write(folder / "a.pcap")
    rows = [json.loads(line) for line in kw("trace", name, "--misrouted", *words, "-o", "ndjson").out.splitlines()]
    for row in rows:
        SCHEMA.validate(row)
    return [(row["topic"], row["records"], row["rightful_topic"], row["why"]) for row in rows]


WHY = "likely: the schema of the value, 19, is registered for payments alone"


@pytest.mark.parametrize(
    ("capture", "records"), [(lambda: registered(PAYMENTS), 2), (told_after_the_values, 1)], ids=["before", "after"]
)
def test_a_value_with_the_schema_of_another_topic_is_listed(
    capture: Callable[[], HandMadeCapture], records: int, tmp_path: Path
) -> None:
    assert listed(capture(), tmp_path, "--values") == [("orders", records, "payments", WHY)]
    assert listed(capture(), tmp_path) == []  # values are decoded on request alone
    ((told, identity),) = (
        (row["title"], row["id"])
        for row in map(json.loads, kw("doctor", str(tmp_path / "a.pcap"), "--values", "-o", "ndjson").out.splitlines())
        if row["kind"] == "finding"
    )
    assert (identity, f"{records} value" in told) == ("value-misrouted", True)


@pytest.mark.parametrize(
    "capture",
    [
        lambda: registered(schemas_record(19, PAYMENT, "shop.Payment")),
        lambda: registered(PAYMENTS, schemas_record(19, PAYMENT, "orders-value")),
        lambda: registered(schemas_record(19, PAYMENT, ":.other:payments-value")),
        lambda: registered(PAYMENTS, topic="all"),
        lambda: registered(schemas_record(19, PAYMENT, "orders-value", 2)),
    ],
    ids=["by-record", "of-both", "other-context", "no-subject", "version"],
)
def test_near_ones_are_not_listed(capture: Callable[[], HandMadeCapture], tmp_path: Path) -> None:
    assert listed(capture(), tmp_path, "--values") == []


def reader_of(*subjects: tuple[int, Any, str]) -> RecordValueReader:
    reader = RecordValueReader()
    for identity, schema, subject in subjects:
        reader.store.add_schema(
            RegisteredSchema("AVRO", json.dumps(schema), SchemaOrigin("capture", 1), identity, subject=subject)
        )
    return reader


def fold_exchanges(exchanges: list[Exchange], reader: RecordValueReader) -> MisroutedRecords:
    fold = MisroutedRecords(reader)
    for each in exchanges:
        fold.add(each)
    return fold


SUBJECTS = ((17, ORDER, "orders-value"), (19, PAYMENT, "payments-value"))


def payments_among_orders() -> list[Exchange]:
    scene = Scene()
    for at, ids in enumerate([(17, 17), (17, 19, 19, 17, 19), (19,), (17,)]):
        data = encode_batch([Record(number, 5, b"k", prefixed(each)) for number, each in enumerate(ids)])
        put(scene, at, data, 10 * at, client="shop")
    return scene.exchanges(MisroutedRecords(reader_of()))


def test_offsets_are_those_of_runs_of_records() -> None:
    """Also where parts of the exchanges are seen apart, with what each of them knows."""
    exchanges = payments_among_orders()
    found = fold_exchanges(exchanges, reader_of(*SUBJECTS)).rows()
    assert [(row["offset"], row["records"], row["client_id"]) for row in found] == [
        (11, 2, "shop"),
        (14, 1, "shop"),
        (20, 1, "shop"),
    ]
    for row in found:
        SCHEMA.validate({"kind": "misrouted", "schema": 1, **row})
    draw, whole = Random(5), MisroutedRecords(reader_of())
    for part in (exchanges[:1], exchanges[1:2], exchanges[2:]):
        reader = reader_of(*draw.sample(SUBJECTS, 2))
        handed = MisroutedRecords(reader_of())
        handed.resume(fold_exchanges(part, reader).export())
        whole.merge(handed)
    assert whole.rows() == found


def get(scene: Scene, at: float, ids: tuple[int, ...], first: int, topic: str = "orders") -> None:
    data = encode_batch(
        [Record(first + number, 5, b"k", prefixed(each)) for number, each in enumerate(ids)], Batch(base_offset=first)
    )
    ask = {"replica_id": -1, "topics": [{"topic": topic, "partitions": [{"partition": 0, "fetch_offset": first}]}]}
    part = {"partition_index": 0, "high_watermark": 99, "last_stable_offset": 99, "records": data}
    scene.ask(at, (1, 12), ask, {"responses": [{"topic": topic, "partitions": [part]}]}, client="reader")


def test_values_that_were_written_before_the_capture_are_found_where_they_are_read() -> None:
    scene = Scene()
    put(scene, 1, encode_batch([Record(0, 5, b"k", prefixed(19))]), 30, client="shop")
    for at in (2, 5):
        get(scene, at, (17, 19, 19), 10)
        get(scene, at + 0.5, (19,), 30)
        get(scene, at + 0.7, (19,), 0, topic="payments")
    get(scene, 8, (17, 17), 40)
    exchanges = scene.exchanges(MisroutedRecords(reader_of()))
    found = fold_exchanges(exchanges, reader_of(*SUBJECTS)).rows()
    reason = "likely: the schema of the value, 19, is registered for payments alone"
    assert [(row["topic"], row["offset"], row["records"], row["client_id"], row["why"]) for row in found] == [
        ("orders", 30, 1, "shop", reason),
        ("orders", 11, 2, None, f"{reason}; its Produce is not in the capture"),
    ]
    assert found[1]["time"] == found[1]["evidence"][0]["time"]
    for row in found:
        SCHEMA.validate({"kind": "misrouted", "schema": 1, **row})
    whole = MisroutedRecords(reader_of())
    for each in (exchanges[5:], exchanges[:5]):
        handed = MisroutedRecords(reader_of())
        handed.resume(fold_exchanges(each, reader_of(*SUBJECTS)).export())
        whole.merge(handed)
    assert whole.rows() == found


@pytest.mark.parametrize(
    "subjects",
    [
        ((17, ORDER, "orders-value"), (19, PAYMENT, "payments-value"), (19, PAYMENT, "orders-value")),
        ((19, PAYMENT, "payments-value"),),
        ((17, ORDER, "orders-value"), (19, PAYMENT, "shop.Payment")),
    ],
)
def test_near_ones_that_are_read_are_not_listed(subjects: tuple[tuple[int, Any, str], ...]) -> None:
    scene = Scene()
    get(scene, 2, (17, 19, 19), 10)
    assert fold_exchanges(scene.exchanges(MisroutedRecords(reader_of())), reader_of(*subjects)).rows() == []


def test_what_is_kept_is_bounded() -> None:
    scene = Scene()
    data = encode_batch([Record(number, 5, b"k", prefixed(17 + number % 2 * 2)) for number in range(2500)])
    put(scene, 0, data, 0)
    fold = fold_exchanges(scene.exchanges(MisroutedRecords(reader_of())), reader_of(*SUBJECTS))
    assert (len(fold.rows()), fold.left_out) == (VALUE_RUNS_MAX, {"likely misrouted record": 1250 - VALUE_RUNS_MAX})


def test_a_damaged_state_is_an_error_of_ours() -> None:
    state = fold_exchanges(payments_among_orders(), reader_of(*SUBJECTS)).export()
    for at in range(0, len(state), 7):
        with pytest.raises(DecodeError):
            MisroutedRecords(reader_of()).resume(state[:at])


def test_the_text_names_the_topic(tmp_path: Path) -> None:
    name = registered(PAYMENTS).write(tmp_path / "a.pcap")
    head, line = kw("trace", name, "--misrouted", "--values", "-o", "text", "-q").out.splitlines()
    assert "belongs to" in head
    assert [word.strip() for word in line.split("  ") if word][3:5] == ["payments", WHY]


def test_values_are_of_misrouted() -> None:
    tour = str(FOLDER / "tour.pcapng")
    for words in (("orders/2@0",), ("--losses",)):
        outcome = kw("trace", tour, *words, "--values")
        assert outcome.code == Exit.USAGE
        assert "--values is of --misrouted" in outcome.err
    assert kw("trace", tour, "--misrouted", "--values").out == ""
