"""The engines on Spark give the tables of one process, row by row, however the captures are cut."""

from __future__ import annotations

import ssl
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwcli.pipeline.engine_job_and_result import EngineResult
from kwcli.pipeline.store.replace_folders_of_tables import open_store
from tests.captures.shipped import CLEAN, FOLDER, NEGATIVE, capture_bytes
from tests.pipeline.jobs import Job, job_of
from tests.pipeline.jobs import run as run_local
from tests.sampling import sampled
from tests.tls.wrapping import pcapng_of, segments_of, wrap

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.long

# Numbers for people, and values learnt from other connections, which splits may learn from later ones.
OUTSIDE = ("connection", "topics", "topic_names", "error_topics", "topic")
TABLES = ("exchanges", "topic_partitions", "connections", "skipped")


def run_spark(spark: SparkSession, folder: Path, job: Job, *, raw: bool) -> EngineResult:
    """Run a job on Spark into tables."""
    from kwcli.pipeline.spark.spark_engine import run_job

    with open_store(str(folder)) as store:
        staging = store.start_staging()
        outcome = run_job(spark, job.spec, job.pending_plan, staging, raw=raw, partitions=2)
        store.commit(staging, outcome.written, sources=[], options={}, tables=job.spec.tables, facts={})
    return outcome


def table(spark: SparkSession, folder: Path, name: str) -> DataFrame:
    """A table without the columns that may differ."""
    return spark.read.parquet(str(folder / name)).drop(*OUTSIDE)


def same(spark: SparkSession, one: Path, other: Path) -> dict[str, int]:
    """Assert that all tables are equal; gives the number of rows of each."""
    counts = {}
    for name in TABLES:
        first, second = (table(spark, folder, name).cache() for folder in (one, other))
        assert first.exceptAll(second).take(3) == []
        assert second.exceptAll(first).take(3) == []
        counts[name] = first.count()
    return counts


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """Every capture under its own capture point: as it is, and decompressed if it is compressed."""
    folder = tmp_path_factory.mktemp("plain")
    points = [(name.replace("/", "-"), str(FOLDER / name)) for name in CLEAN + NEGATIVE]
    for name in CLEAN:
        if name.endswith((".gz", ".zst")):
            plain = folder / name.rpartition(".")[0]
            plain.write_bytes(capture_bytes(name))
            points.append((plain.name, str(plain)))
    return points


@pytest.fixture(scope="module")
def expected(shipped: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables that one process makes of the shipped captures."""
    folder = tmp_path_factory.mktemp("local") / "tables"
    run_local(folder, job_of([], points=shipped))
    return folder


@pytest.mark.parametrize("raw", sampled([False, True], 2), ids=["stitch", "shuffle"])
@pytest.mark.parametrize("size", [pytest.param(1 << 20, marks=pytest.mark.full), 20_000], ids=["1 MiB", "20 kB"])
def test_every_shipped_capture(
    spark: SparkSession,
    shipped: list[tuple[str, str]],
    expected: Path,
    tmp_path: Path,
    size: int,
    raw: bool,
) -> None:
    job = job_of([], points=shipped, size=size)
    outcome = run_spark(spark, tmp_path / "tables", job, raw=raw)
    assert len(job.splits) >= (60 if size < 1 << 20 else len(shipped))
    counts = same(spark, expected, tmp_path / "tables")
    told: Counter[str] = Counter()
    for file in outcome.written:
        told[file.table] += file.rows
    assert counts == told
    assert counts["exchanges"] > 3000
    assert outcome.problems == []


def tls_jobs(folder: Path, size: int) -> list[Job]:
    """A capture with a key log, one of resumed sessions with the first one's keys, one with its secrets at the end."""
    shipped = FOLDER / "tls" / "librdkafka-jsse.pcap"
    made = wrap(segments_of(FOLDER / "first-steps.pcapng"), resumed=True, version=ssl.TLSVersion.TLSv1_2)
    resumed, keys, behind = (folder / name for name in ("resumed.pcapng", "first.keys", "behind.pcapng"))
    resumed.write_bytes(pcapng_of(made.segments))
    keys.write_bytes(made.first_key_log)
    made = wrap(segments_of(FOLDER / "tour.pcapng"))
    plain, head = pcapng_of(made.segments), len(pcapng_of(()))
    behind.write_bytes(plain + pcapng_of((), [made.key_log])[head:])
    return [
        job_of([str(shipped)], size=size, key_logs=(str(shipped.with_suffix(".keys")),)),
        job_of([str(resumed)], size=size, key_logs=(str(keys),)),
        job_of([str(behind)], size=size),
    ]


@pytest.mark.parametrize("raw", sampled([False, True], 2), ids=["stitch", "shuffle"])
def test_tls_however_it_is_cut(spark: SparkSession, tmp_path: Path, raw: bool) -> None:
    for number, job in enumerate(tls_jobs(tmp_path, 50_000)):
        assert len(job.splits) > 2
        one, other = tmp_path / f"local{number}", tmp_path / f"spark{number}"
        run_local(one, job)
        run_spark(spark, other, job, raw=raw)
        assert same(spark, one, other)["exchanges"] > 50


@pytest.mark.parametrize("word", ["/notes/", "/exchanges/"], ids=["reading", "writing"])
def test_a_worker_that_is_killed_changes_nothing(spark: SparkSession, tmp_path: Path, word: str) -> None:
    from pyspark import cloudpickle

    import tests.pipeline.mishaps
    from kwcli.pipeline.spark.spark_engine import run_job
    from tests.pipeline.mishaps import DeadlyFiles

    cloudpickle.register_pickle_by_value(tests.pipeline.mishaps)  # type: ignore[no-untyped-call]  # it has no types
    job = job_of([str(FOLDER / "tour.pcapng")], size=60_000)
    run_local(tmp_path / "expected", job)
    marker = tmp_path / "killed"
    with open_store(str(tmp_path / "tables")) as store:
        staging = store.start_staging()
        staging.files = DeadlyFiles(staging.files.root, word, "worker", marker)
        outcome = run_job(spark, job.spec, job.pending_plan, staging, partitions=2)
        assert marker.exists()
        store.commit(staging, outcome.written, sources=[], options={}, tables=job.spec.tables, facts={})
    same(spark, tmp_path / "expected", tmp_path / "tables")
