"""The stages of a Spark job without Spark: the tables are those of one process, however captures are cut, rotated,
compressed and damaged.
"""

from __future__ import annotations

import gzip
import os
import pickle
import random
import re
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from decoders.protocol_facts.api_keys import FETCH, METADATA
from decoders.splits.split_parts import END, ROWS, RUN, SEGMENTS
from decoders.splits.split_segments import Splitter
from decoders.splits.stitch_rows import Stitcher
from decoders.wire.primitive_types import format_uuid
from kwcli.pipeline.spark import read_stage
from kwcli.pipeline.spark.complete_rows_of_splits import RowCompletion
from kwcli.pipeline.spark.driver_task_coordination import Coordination
from kwcli.pipeline.spark.read_stage import read_split
from kwcli.pipeline.spark.stage_schemas import PARTS, STITCHED, StageInput, WriteReport
from kwcli.pipeline.spark.stitch_stage import stitch_partition
from kwcli.pipeline.spark.write_stage import write_tables
from kwcli.pipeline.store.replace_folders_of_tables import open_store
from kwcli.pipeline.tables.write_parquet import WrittenFile
from kwcli.run_environment import Failure
from tests.bench.volume import write
from tests.captures.shipped import FOLDER, capture_bytes
from tests.exchanges.talks import Talker, interleaved, request, response
from tests.exchanges.talks import segments as spoken
from tests.pipeline.jobs import Job, job_of, rows_in
from tests.pipeline.jobs import run as run_local
from tests.pipeline.odd import odd_capture, packets, written

OUTSIDE: Final = ("connection", "topics", "topic_names", "error_topics", "topic")
TABLES: Final = ("exchanges", "topic_partitions", "connections", "skipped")
ORDER: Final = [(name, "ascending") for name in ("point", "key", "ord", "seq", "kind")]


def run_stages(
    folder: Path,
    job: Job,
    rng: random.Random,
    *,
    raw: bool,
    spoil: Callable[[pa.Table], pa.Table] | None = None,
    lost: str = "",
) -> int:
    """Run the stages into tables, two tasks each for 2 and 3, in batches of any size; gives the bytes that travelled.

    `spoil` changes the parts on their way; `lost` is a pattern for the losses that are then reported.
    """
    with open_store(str(folder)) as store:
        stage_input = StageInput(job.spec, len(job.splits), store.start_staging(), raw)
        Coordination(stage_input.staging).write_all_splits(job.splits)
        numbers = list(range(len(job.splits)))
        rng.shuffle(numbers)
        numbers.append(rng.choice(numbers))  # one task runs twice, and Spark uses the first result
        parts = [list(read_split(stage_input, number)) for number in numbers]
        travelled = pa.Table.from_batches([batch for batches in parts[:-1] for batch in batches], PARTS)
        travelled = spoil(travelled) if spoil else travelled
        sides = pa.array([sum(key) % 2 for key in travelled.column("key").to_pylist()])
        verdicts: list[pa.RecordBatch] = []
        for mine in _halves(travelled, sides):
            batches = mine.sort_by(ORDER).combine_chunks().to_batches(max_chunksize=rng.choice((1, 7, 1000)))
            verdicts += stitch_partition(stage_input, batches)
        said = pa.Table.from_batches(verdicts, STITCHED)
        written: list[WrittenFile] = []
        pooled = 0
        for mine in _halves(said, pc.bit_wise_and(said.column("split"), 1)):
            (batch,) = write_tables(stage_input, mine.to_batches(max_chunksize=rng.choice((1, 7, 1000))))
            report: WriteReport = pickle.loads(batch.column("report")[0].as_py())
            written += report.files
            pooled += report.rows
        assert re.fullmatch(lost, "".join(map(str, Coordination(stage_input.staging).read_lost_connections())))
        assert pooled == sum(report.rows for report in Coordination(stage_input.staging).read_reports())
        store.commit(stage_input.staging, written, sources=[], options={}, tables=job.spec.tables, facts={})
    return int(travelled.nbytes)


def _halves(table: pa.Table, sides: pa.Array) -> list[pa.Table]:
    return [table.filter(pc.equal(sides, side)) for side in (0, 1)]


def tables(folder: Path) -> dict[str, list[str]]:
    """The rows of all tables without the columns that may differ, sorted."""
    return {
        table: sorted(
            repr({name: value for name, value in row.items() if name not in OUTSIDE}) for row in rows_in(folder, table)
        )
        for table in TABLES
    }


def again_and_again(capture: bytes, count: int) -> bytes:
    """A capture several times, an hour apart: with the same ports and numbers it looks like retransmissions."""
    out = [capture[:24]]
    for number in range(count):
        for packet in packets(capture):
            seconds = int.from_bytes(packet[:4], "little") + 3600 * number
            out += [seconds.to_bytes(4, "little"), packet[4:]]
    return b"".join(out)


def rotated(folder: Path, capture: bytes, count: int, rng: random.Random, *, loss: float, packed: bool) -> list[str]:
    """A capture as several consecutive files, with some packets missing."""
    kept = [packet for packet in packets(capture) if rng.random() >= loss]
    cuts = [0, *sorted(rng.sample(range(1, len(kept)), count - 1)), len(kept)]
    names = []
    for number in range(count):
        data = capture[:24] + b"".join(kept[cuts[number] : cuts[number + 1]])
        path = folder / (f"{number:03}.pcap" + (".gz" if packed else ""))
        path.write_bytes(gzip.compress(data, 1) if packed else data)
        names.append(str(path))
    return names


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Captures of generated traffic: evenly spread, and with nearly all of it in one connection."""
    folder = tmp_path_factory.mktemp("made")
    found = {"raw SASL": capture_bytes("sasl-raw.pcap")}
    found["the same again and again"] = again_and_again(found["raw SASL"], 8)
    for name, profile, size, hot in (("small", "small", 400_000, 0.0), ("hot", "mixed", 6_000_000, 0.95)):
        path = folder / name
        write(path, size, profile=profile, connections=12, hot=hot)
        found[name] = path.read_bytes()
    return found


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("raw", [False, pytest.param(True, marks=pytest.mark.long)], ids=["stitch", "shuffle"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in (1, 2))])
@pytest.mark.parametrize(
    ("name", "files", "size", "loss", "packed"),
    [
        ("small", 1, 30_000, 0.0, False),
        ("small", 5, 40_000, 0.01, False),
        ("small", 4, 60_000, 0.0, True),
        ("hot", 1, 1 << 20, 0.0, False),
        ("hot", 3, 500_000, 0.02, False),
        ("raw SASL", 1, 5_000, 0.0, False),
        ("raw SASL", 6, 9_000, 0.03, False),
        pytest.param("the same again and again", 1, 100_000, 0.0, False, marks=pytest.mark.long),
    ],
)
def test_the_same_tables(
    made: dict[str, bytes],
    tmp_path: Path,
    name: str,
    files: int,
    size: int,
    loss: float,
    packed: bool,
    seed: int,
    raw: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = random.Random(f"{name} {files} {seed}")
    monkeypatch.setattr(read_stage, "BATCH_WEIGHT", rng.choice([1, 50, 16_384]))
    words = rotated(tmp_path, made[name], files, rng, loss=loss, packed=packed)
    # A connection without its first packets is recognised by others of its broker, which the reference does not know.
    ports = frozenset({9092, 9094}) if raw and loss else None
    job = job_of(words, size=size, ports=ports)
    assert len(job.splits) > 1
    run_local(tmp_path / "local", job)
    expected = tables(tmp_path / "local")
    assert len(expected["exchanges"]) > 50
    run_stages(tmp_path / "tables", job, rng, raw=raw)
    assert tables(tmp_path / "tables") == expected


def test_what_travels_is_little(made: dict[str, bytes], tmp_path: Path) -> None:
    names = rotated(tmp_path, made["hot"], 1, random.Random(1), loss=0.0, packed=False)
    job = job_of(names, size=1 << 20)
    assert run_stages(tmp_path / "one", job, random.Random(1), raw=True) > len(made["hot"]) * 0.9
    assert run_stages(tmp_path / "two", job, random.Random(1), raw=False) < len(made["hot"]) * 0.4


@pytest.mark.long
@pytest.mark.parametrize("raw", [False, True], ids=["stitch", "shuffle"])
def test_filters_times_and_bodies(tmp_path: Path, raw: bool) -> None:
    whole = job_of([str(FOLDER / "tour.pcapng")], size=30_000)
    run_local(tmp_path / "whole", whole)
    times = sorted(row["time_ns"] for row in rows_in(tmp_path / "whole", "exchanges"))
    chosen = {"filter": 'not api in ("Fetch")', "since_ns": times[30], "until_ns": times[150]}
    job = whole._replace(spec=whole.spec._replace(**chosen, bodies=True, ports=frozenset({9092})))
    run_local(tmp_path / "local", job)
    expected = tables(tmp_path / "local")
    assert 10 < len(expected["exchanges"]) < 120
    run_stages(tmp_path / "tables", job, random.Random(1), raw=raw)
    assert tables(tmp_path / "tables") == expected


@pytest.mark.parametrize("raw", [False, True], ids=["stitch", "shuffle"])
def test_a_reset_behind_a_fin_that_waits_at_a_border(tmp_path: Path, raw: bool) -> None:
    path = tmp_path / "odd.pcap"
    path.write_bytes(odd_capture())
    job = job_of([str(path)], size=8_000, ports=frozenset({9092}))
    assert len(job.splits) > 3
    run_local(tmp_path / "local", job)
    expected = tables(tmp_path / "local")
    assert len(expected["connections"]) == 2
    run_stages(tmp_path / "tables", job, random.Random(1), raw=raw)
    assert tables(tmp_path / "tables") == expected


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", [RUN, ROWS, END, SEGMENTS])
def test_a_part_that_cannot_be_taken_costs_its_connection_only(tmp_path: Path, kind: int) -> None:
    rng = random.Random(7)
    talks = [spoken(Talker(rng, count=40).talk.turns, rng, port=50_000 + number) for number in range(3)]
    path = tmp_path / "some.pcap"
    path.write_bytes(written(interleaved(rng, *talks)))
    job = job_of([str(path)], size=30_000, ports=frozenset({9092}))
    run_local(tmp_path / "local", job)
    expected = tables(tmp_path / "local")

    def spoil(parts: pa.Table) -> pa.Table:
        """Replace the first blob of this kind of the second connection by other bytes."""
        rows = parts.to_pylist()
        key = sorted({row["key"] for row in rows})[1]
        mine = (row for row in rows if row["key"] == key and row["kind"] == kind and row["blob"])
        next(mine)["blob"] = b"what is this?"
        return pa.Table.from_pylist(rows, PARTS)

    lost = r".*/some\.pcap: 10\.0\.0\.1:50001 → 10\.0\.0\.2:9092: its state up to byte [\d,]+ is lost: .+"
    run_stages(tmp_path / "tables", job, rng, raw=kind == SEGMENTS, spoil=spoil, lost=lost)
    found = tables(tmp_path / "tables")
    its = "'client': '10.0.0.1:50001'"
    for table in TABLES:
        assert [row for row in found[table] if its not in row] == [row for row in expected[table] if its not in row]
    assert found != expected


def test_a_defect_in_a_task_names_the_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / os.fsdecode(b"od\xffd.pcap")
    path.write_bytes(odd_capture())
    job = job_of([str(path)], size=15_000)
    second = job.splits[1].pieces[0]
    where = f"{tmp_path}/od\\udcffd.pcap: bytes {second.begin:,} to {second.end:,} (split 2)"

    def fail(*_: object) -> None:
        raise ValueError("x is not\ny")

    with open_store(str(tmp_path / "out")) as store:
        stage_input = StageInput(job.spec, len(job.splits), store.start_staging(), False)
        Coordination(stage_input.staging).write_all_splits(job.splits)
        parts = [batch for number in range(len(job.splits)) for batch in read_split(stage_input, number)]
        ordered = pa.Table.from_batches(parts, PARTS).sort_by(ORDER).combine_chunks().to_batches()
        verdicts = list(stitch_partition(stage_input, ordered))
        monkeypatch.setattr(Splitter, "finish", fail)
        with pytest.raises(Failure) as failure:
            list(read_split(stage_input, 1))
        assert failure.value.text == f"{where}: defect: ValueError: x is not y"
        monkeypatch.setattr(Stitcher, "feed", fail)
        with pytest.raises(Failure, match=r"od\\udcffd\.pcap: bytes .* → .*: defect: ValueError: x is not y$"):
            list(stitch_partition(stage_input, ordered))
        monkeypatch.setattr(RowCompletion, "complete_rows", fail)
        with pytest.raises(Failure, match=r"od\\udcffd\.pcap: bytes .* \(split \d+\): defect: ValueError: x is not y$"):
            list(write_tables(stage_input, verdicts))


def test_a_piece_whose_state_cannot_be_taken_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "odd.pcap"
    path.write_bytes(odd_capture())
    job = job_of([str(path)], size=8000, ports=frozenset({9092}))
    (piece,) = job.splits[1].pieces
    spoilt = replace(job.splits[1], pieces=(replace(piece, state=b"what is this?"),))
    outcome = run_local(tmp_path / "local", job._replace(splits=[job.splits[0], spoilt, *job.splits[2:]]))
    assert [str(problem) for problem in outcome.problems] == [
        f"{path}: bytes {piece.begin:,} to {piece.end:,} were not read: unknown tag b'w'"
    ]
    assert outcome.tally.exchanges > 20


@pytest.mark.parametrize("filter", [None, pytest.param("topic == 'orders'", marks=pytest.mark.long)])
def test_names_that_are_given_are_known_in_every_split(filter: str | None, tmp_path: Path) -> None:
    rng = random.Random(5)
    named, late = uuid.UUID(int=7), uuid.UUID(int=8)
    listed = {"topics": [{"name": "invoices", "topic_id": late, "partitions": []}]}
    turns = [(True, request(METADATA, 12, 0, "app", {})), (False, response(METADATA, 12, 0, listed))]
    for number in range(1, 100):
        topics = [{"topic_id": rng.choice((named, late)), "partitions": [{"partition": 0, "fetch_offset": number}]}]
        turns.append((True, request(FETCH, 13, number, "app", {"topics": topics})))
        turns.append((False, response(FETCH, 13, number, {})))
    path = tmp_path / "late.pcap"
    path.write_bytes(written(spoken(turns, rng)))
    given = ((format_uuid(named.bytes), "orders"),)
    job = job_of([str(path)], size=2000, topic_names=given, filter=filter)
    assert len(job.splits) > 4
    run_local(tmp_path / "local", job)
    run_stages(tmp_path / "stages", job, rng, raw=False)
    found = [
        [(row["time_ns"], row["topics"], row["topic_names"]) for row in rows_in(tmp_path / folder, "exchanges")]
        for folder in ("local", "stages")
    ]
    assert found[0] == found[1]
    names = {name for _, topics, _ in found[0] for name in topics}
    assert names == ({"orders"} if filter else {"orders", "invoices"})
