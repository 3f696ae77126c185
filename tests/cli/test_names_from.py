"""`--names-from`: names of topics that a capture has only ids of, from a capture, from records, from a broker."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

import decoders
from decoders.mocking.cluster_from_recording import RecordedCluster
from decoders.protocol_facts.api_keys import API_VERSIONS, FETCH, METADATA
from decoders.wire.primitive_types import format_uuid
from kwcli.capture_options import CaptureOptions
from kwcli.mock.run_mock import read_recording
from kwcli.options import FilterOptions
from kwcli.output.output_settings import Settings
from kwcli.reading.run_reading import ReadingRun
from kwcli.reading.sinks.filter_sort_and_limit_rows import ReadingView
from kwcli.replay.recorded_requests import AllowedChanges, ReplayRecording
from kwcli.run_environment import Exit
from tests.capture.spoken import spoken
from tests.cli.worlds import kw, world
from tests.exchanges.talks import request, response, segments
from tests.net.playbook import offers
from tests.net.responder import Responder, each_request, framed

ID = UUID("6f9a1e0c-3c1d-4b52-9a3e-0c6a6f1b2d11")
NAMED = {
    "brokers": [{"node_id": 1, "host": "10.0.0.2", "port": 9092}],
    "topics": [{"name": "orders", "topic_id": ID, "partitions": []}],
}
LISTED = [(True, request(METADATA, 12, 1, "app", {"topics": None})), (False, response(METADATA, 12, 1, NAMED))]
PART = {"partition": 0, "fetch_offset": 5, "partition_max_bytes": 1}
FETCHED = [
    (True, request(FETCH, 13, 2, "app", {"topics": [{"topic_id": ID, "partitions": [PART]}]})),
    (False, response(FETCH, 13, 2, {"responses": [{"topic_id": ID, "partitions": [{"high_watermark": 9}]}]})),
]
NOTE = "kw: 1 topic has no name in what was read: give --names-from a capture, NDJSON of kw call Metadata, or HOST:PORT"


@pytest.fixture
def late(tmp_path: Path) -> str:
    """A capture of a fetch, which began after the client had asked for names."""
    path = tmp_path / "late.pcap"
    path.write_bytes(spoken(segments(FETCHED, Random(1))))
    return str(path)


def make_source(how: str, folder: Path) -> str:
    path = folder / "names.pcap"
    path.write_bytes(spoken(segments(LISTED, Random(2))))
    if how == "records":
        records = folder / "names.ndjson"
        records.write_text(kw("sniff", str(path), "-o", "ndjson").out)
        return str(records)
    return str(path)


@pytest.mark.parametrize("how", ["capture", "records"])
@pytest.mark.parametrize(
    "words",
    [
        ("sniff", "-e", "topic"),
        ("topics", "-e", "topic"),
        ("clients", "-e", "reads"),
        ("stats", "--by", "topic", "-e", "topic"),
    ],
)
def test_ids_have_the_names_of_the_source(how: str, words: tuple[str, ...], late: str, tmp_path: Path) -> None:
    command, *rest = words
    source = make_source(how, tmp_path)
    before = kw(command, late, "--port", "9092", *rest)
    assert "orders" not in before.out
    assert NOTE in before.err.splitlines()
    after = kw(command, late, "--port", "9092", "--names-from", source, *rest)
    assert (after.code, after.out.strip()) == (Exit.DONE, "orders")
    assert NOTE not in after.err
    assert NOTE not in kw(command, late, "--port", "9092", "-q", *rest).err


def test_a_broker_is_asked_and_that_is_said(late: str) -> None:
    asked: list[int] = []

    def answer(frame: bytes) -> bytes:
        key, version, correlation_id = struct.unpack(">hhi", frame[:8])
        asked.append(key)
        value: dict[str, Any] = NAMED if key == METADATA else offers({METADATA: (0, 13), API_VERSIONS: (0, 4)})
        return framed(decoders.encode_response(key, version, value, correlation_id=correlation_id))

    with Responder(*[each_request(answer)] * 4) as served:
        where = f"127.0.0.1:{served.address[1]}"
        ran = kw("sniff", late, "--port", "9092", "--names-from", where, "-o", "ndjson")
    assert json.loads(ran.out)["topic_names"] == {format_uuid(ID.bytes): "orders"}
    assert f"kw: 1 name of topics from {where}, which was asked" in ran.err.splitlines()
    assert asked.count(METADATA) == 1


@pytest.mark.parametrize(
    ("source", "code", "text"),
    [
        ("no-such-file", Exit.USAGE, "--names-from no-such-file: no such file, and no HOST:PORT of a broker"),
        ("late.pcap", Exit.FAILURE, "no topic id with its name in it (Metadata 10 and later have them)"),
        ("127.0.0.1:1", Exit.UNREACHABLE, "refused"),
    ],
)
def test_a_source_without_names_is_told(source: str, code: Exit, text: str, late: str) -> None:
    word = late if source == "late.pcap" else source
    ran = kw("sniff", late, "--names-from", word)
    assert (ran.code, ran.out) == (code, "")
    assert text in ran.err


def names_in_tables(folder: Path) -> list[list[str | None]]:
    dataset = pytest.importorskip("pyarrow.dataset")
    rows = dataset.dataset(folder / "exchanges", partitioning="hive").to_table().to_pylist()
    return [row["topic_names"] for row in rows if row["api"] == "Fetch"]


@pytest.mark.parametrize("words", [("run",), ("watch", "--finish")])
def test_tables_have_the_names_of_the_source(words: tuple[str, ...], late: str, tmp_path: Path) -> None:
    source, out = make_source("capture", tmp_path), tmp_path / "tables"
    asked = ("pipeline", *words, late, "--out", str(out), "--port", "9092", "--topic", "orders", "-q")
    ran = kw(*asked, "--names-from", source)
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert names_in_tables(out) == [["orders"]]
    without = tmp_path / "without"
    assert kw(*asked[:-6], str(without), *asked[-5:]).code == Exit.DONE
    assert names_in_tables(without) == []


def test_a_replay_asks_for_topics_by_the_names_of_the_source(late: str, tmp_path: Path) -> None:
    def topics(**more: Any) -> dict[UUID, str]:
        recording = ReplayRecording(AllowedChanges())
        view = ReadingView(lambda _key, _side: frozenset(), lambda _write: recording)
        capture = CaptureOptions((late,), ports=(9092,), **more)
        ReadingRun(world(), Settings(quiet=True), capture, FilterOptions(), view=view).run()
        return recording.topics

    assert ID not in topics()
    assert topics(names_from=make_source("capture", tmp_path))[ID] == "orders"


def test_a_mock_has_the_topics_that_the_source_names(late: str, tmp_path: Path) -> None:
    def topics(names_from: str | None) -> list[str]:
        recording = RecordedCluster()
        capture = CaptureOptions((late,), names_from=names_from)
        assert read_recording(world(), capture, recording) == Exit.DONE
        return list(recording.build_cluster(recording.list_nodes()).topics)

    assert topics(None) == []
    assert topics(make_source("capture", tmp_path)) == ["orders"]


@pytest.mark.parametrize("words", [("replay", "--dry-run"), ("mock",), ("pipeline", "run", "--out", "tables")])
def test_a_missing_source_is_told(words: tuple[str, ...], late: str) -> None:
    ran = kw(*words, late, "--names-from", "no-such-file")
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert ran.err.splitlines()[-1].endswith("no such file, and no HOST:PORT of a broker")
