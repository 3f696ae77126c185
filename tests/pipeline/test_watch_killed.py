"""A watch killed with -9 at random moments and started again leaves the tables of an undisturbed run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from kwcli.pipeline.tables.table_columns import TABLES
from tests.bench.volume import write
from tests.bench.watch import process_tree
from tests.pipeline import test_watch_delta, test_watch_iceberg
from tests.pipeline.cluster import cluster
from tests.pipeline.jobs import rows_in
from tests.pipeline.odd import packets
from tests.pipeline.test_watch_doctor import are_those_of, doctor_of
from tests.pipeline.watched import FILE_COLUMNS, run_over, tables_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT: Final = Path(__file__).resolve().parents[2]
FILES: Final = 200
# With these thresholds a little healthy traffic has findings, which grow with it.
FEW: Final = (
    *("--threshold", "batch.least=1", "--threshold", "plain.size=1"),
    *("--threshold", "batch.rate=0", "--threshold", "batch.records=1000000"),
)


class Rotating(threading.Thread):
    """Writes a capture into a ring of files, some packets at a time, and keeps copies of the files."""

    def __init__(self, capture: bytes, folder: Path, aside: Path, per_file: int, pause_s: float) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self._capture = capture
        self._folder = folder
        self._aside = aside
        self._per_file = per_file
        self._pause_s = pause_s

    def run(self) -> None:
        rng = random.Random(1)
        kept = list(packets(self._capture))
        for number, at in enumerate(range(0, len(kept), self._per_file)):
            data = self._capture[:24] + b"".join(kept[at : at + self._per_file])
            name = f"dump{number:05}.pcap"
            (self._aside / name).write_bytes(data)
            place = 0
            while place < len(data):
                step = rng.randint(1, len(data))
                with open(self._folder / name, "ab") as file:
                    file.write(data[place : place + step])
                place += step
                time.sleep(self._pause_s)
        self.over.set()


def watch_killed(
    tmp_path: Path,
    kills: int,
    size: int,
    *words: str,
    longest_s: float,
    env: Mapping[str, str] | None = None,
    others: Sequence[int] = (),
) -> int:
    """Kill a watch so many times while captures come, and compare its tables; gives the number of batches.

    Each time, one process below `others` is killed first, if there is any.
    """
    whole = tmp_path / "whole.pcap"
    write(whole, size, profile="small", connections=20)
    source, aside, out = tmp_path / "in", tmp_path / "aside", tmp_path / "out"
    source.mkdir()
    aside.mkdir()
    capture = whole.read_bytes()
    per_file = max(len(list(packets(capture))) // FILES, 1)
    writer = Rotating(capture, source, aside, per_file, kills * longest_s / 2 / (3 * FILES))
    command = [sys.executable, "-m", "kwcli.main", "pipeline", "watch", str(source), "--out", str(out)]
    command += ["--lateness", "1ms", "--interval", "1ms", "--batch-size", "100kB", *words]
    rng = random.Random(kills)
    writer.start()
    for _ in range(kills):
        with subprocess.Popen(command, cwd=ROOT, env=env, start_new_session=True, stderr=subprocess.PIPE) as process:
            assert process.stderr is not None
            while (line := process.stderr.readline()) and b"Ctrl-C ends" not in line:
                pass
            time.sleep(rng.uniform(0, longest_s))
            below = [pid for other in others for pid in process_tree(other)[1:]]
            if below:
                os.kill(rng.choice(below), signal.SIGKILL)
                time.sleep(rng.uniform(0, longest_s))
            os.killpg(process.pid, signal.SIGKILL)
            assert process.wait(60) == -signal.SIGKILL
    writer.over.wait(600)
    subprocess.run([*command, "-q", "--finish"], cwd=ROOT, env=env, check=True, timeout=600)
    run_over([str(aside)], tmp_path / "run")
    expected = tables_in(tmp_path / "run")
    assert len(expected["exchanges"]) > 100
    assert tables_in(out) == expected
    names = [path.name for path in out.rglob("*.parquet")]
    return len({name.rpartition("-")[0] for name in names})


@pytest.mark.parametrize(
    ("table_format", "in_log"),
    [
        pytest.param("delta", test_watch_delta.is_the_commit, marks=pytest.mark.long),
        pytest.param("iceberg", test_watch_iceberg.is_the_commit, marks=pytest.mark.full),
    ],
)
def test_killed_some_times(tmp_path: Path, table_format: str, in_log: Callable[..., bool]) -> None:
    """Findings and the logs of a table format are complete too, with nothing lost or doubled."""
    assert watch_killed(tmp_path, 5, 2_000_000, "--doctor", *FEW, "--format", table_format, longest_s=2.0) > 2
    assert in_log(tmp_path / "out", "findings")
    assert has_findings(tmp_path)


def has_findings(tmp_path: Path) -> bool:
    """Whether the table has the findings of kw doctor in the capture that was written."""
    expected = doctor_of(tmp_path / "whole.pcap", *FEW)
    assert expected
    return are_those_of(rows_in(tmp_path / "out", "findings"), expected)


@pytest.mark.full
def test_killed_a_hundred_times(tmp_path: Path) -> None:
    assert watch_killed(tmp_path, 100, 6_000_000, longest_s=2.0) > 20


@pytest.mark.full
def test_killed_on_spark(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The driver is killed with its JVM and its Python workers; each start of Spark takes seconds."""
    assert watch_killed(tmp_path, 6, 3_000_000, "--doctor", *FEW, "--master", "local[2]", longest_s=6.0) > 2
    assert has_findings(tmp_path)
    assert_same_for_spark(request.getfixturevalue("spark"), tmp_path)


@pytest.mark.full
def test_killed_on_a_cluster(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Executors and their Python workers are killed while the watch runs, and then its driver."""
    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster") as made:
        watch_killed(
            *(tmp_path, 4, 3_000_000, "--doctor", *FEW, "--master", made.master),
            longest_s=8.0,
            env={**os.environ, "PYSPARK_PYTHON": str(made.python)},
            others=[worker.pid for worker in made.workers],
        )
    assert has_findings(tmp_path)
    assert_same_for_spark(request.getfixturevalue("spark"), tmp_path)


def assert_same_for_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Assert that Spark reads equal tables from the watch and from the run."""
    for table in TABLES:
        watched, ran = (
            spark.read.parquet(str(tmp_path / folder / table)).drop("date", *FILE_COLUMNS) for folder in ("out", "run")
        )
        assert ran.exceptAll(watched).isEmpty()
        assert watched.exceptAll(ran).isEmpty()
        assert table == "skipped" or not ran.isEmpty()
