"""A watch killed with -9 at random moments, and started again, leaves the tables of a run that nobody disturbed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.bench.volume import write
from tests.pipeline import test_watch_delta, test_watch_iceberg
from tests.pipeline.jobs import rows_in
from tests.pipeline.odd import packets
from tests.pipeline.test_watch_doctor import are_those_of, doctor_of
from tests.pipeline.watched import run_over, tables_in

ROOT: Final = Path(__file__).resolve().parents[2]
FILES: Final = 200


class Rotating(threading.Thread):
    """Writes a capture into a ring of files, some packets at a time; what it wrote is kept aside."""

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


def watch_killed(tmp_path: Path, kills: int, size: int, *words: str, longest_s: float) -> int:
    """Kill a watch so many times while captures come; how many batches there were."""
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
        with subprocess.Popen(command, cwd=ROOT, start_new_session=True, stderr=subprocess.PIPE) as process:
            assert process.stderr is not None
            while (line := process.stderr.readline()) and b"Ctrl-C ends" not in line:
                pass
            time.sleep(rng.uniform(0, longest_s))
            os.killpg(process.pid, signal.SIGKILL)
            assert process.wait(60) == -signal.SIGKILL
    writer.over.wait(600)
    subprocess.run([*command, "-q", "--finish"], cwd=ROOT, check=True, timeout=600)
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
    """With findings and the logs of a format, of which none is lost or doubled either."""
    few = [word for name in ("batch.least", "plain.size") for word in ("--threshold", f"{name}=1")]
    few += ["--threshold", "batch.rate=0", "--threshold", "batch.records=1000000"]
    words = ["--doctor", "--format", table_format, *few]
    assert watch_killed(tmp_path, 5, 2_000_000, *words, longest_s=2.0) > 2
    out = tmp_path / "out"
    assert in_log(out, "findings")
    expected = doctor_of(tmp_path / "whole.pcap", *few)
    assert expected
    assert are_those_of(rows_in(out, "findings"), expected)


@pytest.mark.full
def test_killed_a_hundred_times(tmp_path: Path) -> None:
    assert watch_killed(tmp_path, 100, 6_000_000, longest_s=2.0) > 20


@pytest.mark.full
def test_killed_on_spark(tmp_path: Path) -> None:
    """The driver with its JVM and its Python workers; each start of Spark takes seconds."""
    assert watch_killed(tmp_path, 6, 3_000_000, "--master", "local[2]", longest_s=6.0) > 2
