"""`kw pipeline run --engine local --jobs`: the tables of one process, as sets of rows, and its lines and exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from decoders import Record
from kwcli.pipeline import local_engine
from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.store.staging_folder import STAGING
from kwcli.pipeline.tables.table_columns import TABLES
from kwcli.reading.sinks import render_jobs
from kwcli.reading.sinks.render_jobs import PartSizes, RenderJobs
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw
from tests.pipeline.jobs import rows_in
from tests.reading.captures_with_values import ORDER, HandMadeCapture, prefixed
from tests.sampling import sampled

ROOT: Final = Path(__file__).resolve().parents[2]
TOUR: Final = str(FOLDER / "tour.pcapng")
# Runs whose rows come from workers: of several captures, of two points, with choices, of cut and encrypted traffic.
RUNS: Final[tuple[tuple[str, ...], ...]] = (
    (TOUR, "--bodies", "--records"),
    (TOUR, "--bodies", "--strict", "-f", "api == Fetch or api == Metadata"),
    (TOUR, str(FOLDER / "first-steps.requests.log.gz"), "--since", "2026-11-21T17:35"),
    (TOUR, str(FOLDER / "three-nodes.pcapng.zst"), "-f", "file ~ tour", "--strict"),
    ("--point", f"a={TOUR}", "--point", f"b={FOLDER / 'sasl-raw.pcap'}", "--tables", "exchanges,skipped"),
    (str(FOLDER / "share-groups.pcapng"), "--bodies", "--reveal-secrets"),
    (str(FOLDER / "faults" / "retransmissions.pcap.zst"), "--strict"),
    (str(FOLDER / "faults" / "isr-flapping.pcap.zst"), "--strict", "--errors"),
    (str(FOLDER / "tls" / "librdkafka-jsse.pcap"), "--keylog", str(FOLDER / "tls" / "librdkafka-jsse.keys")),
    (str(FOLDER / "negative" / "zookeeper.pcap"), str(FOLDER / "telemetry.pcapng")),
)


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Small parts, so that small captures have several; the process ids of the workers."""
    monkeypatch.setattr(render_jobs, "SIZES", PartSizes(3, 7, 1 << 14, 1 << 14))
    monkeypatch.setattr(local_engine, "SHARED_MIN", 0)
    monkeypatch.setattr(local_engine, "can_fork", lambda: True)  # the threads of the test runner do not matter
    made: list[int] = []
    fork = RenderJobs._fork_worker

    def noted(self: RenderJobs) -> None:
        fork(self)
        made.append(self._workers[-1].pid)

    monkeypatch.setattr(RenderJobs, "_fork_worker", noted)
    return made


def told(text: str) -> str:
    """The messages of a run, without its duration and the sizes of files."""
    return re.sub(r"·[^·]* s\n|, [0-9.]+k?B|\S*/(one|more):", "", text)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("words", sampled(RUNS, 2))
def test_any_number_of_jobs_gives_the_same_rows_and_counts(
    tmp_path: Path, forks: list[int], words: tuple[str, ...]
) -> None:
    one = kw("pipeline", "run", *words, "--engine", "local", "--jobs", "1", "--out", str(tmp_path / "one"))
    assert not forks
    for jobs in ("2", "3"):
        out = tmp_path / jobs / "more"
        more = kw("pipeline", "run", *words, "--engine", "local", "--jobs", jobs, "--out", str(out))
        assert forks
        assert (more.code, told(more.err)) == (one.code, told(one.err))
        for table in TABLES:
            assert (out / table).exists() == (tmp_path / "one" / table).exists()
            if (out / table).exists():
                assert rows_in(out, table) == rows_in(tmp_path / "one", table)
        assert not (out / STAGING).exists()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_values_without_a_schema_are_counted_in_all_rows(tmp_path: Path, forks: list[int], jobs: str) -> None:
    captures = []
    for name in ("a.pcap", "b.pcap"):  # the reader itself makes the rows of the first one
        made = HandMadeCapture()
        for number in range(20):
            made.produce("orders", Record(number, 5, prefixed(7), prefixed(number % 3 + 1)))
            made.fetch("orders", Record(number, 5, None, b'{"missing_schema":true,"schema_id":9}'))
        captures.append(made.write(tmp_path / name))
    words = ("run", *captures, "--engine", "local", "--jobs", jobs, "--bodies")
    (tmp_path / "order.avsc").write_text(json.dumps(ORDER))
    (tmp_path / "ids.json").write_text('{"2": "order.avsc"}')
    outcome = kw("pipeline", *words, "--records", "--schemas", str(tmp_path), "--out", str(tmp_path / "out"))
    assert bool(forks) == (jobs == "2")
    assert "kw: 66 values with a schema that was not seen (ids 1, 3, 7): --schemas DIR\n" in outcome.err
    assert "was not seen" not in kw("pipeline", *words, "--out", str(tmp_path / "plain")).err


def test_rows_are_made_by_workers_with_files_of_their_own(tmp_path: Path, forks: list[int]) -> None:
    kw("pipeline", "run", TOUR, "--engine", "local", "--jobs", "2", "--out", str(tmp_path))
    files = list((tmp_path / "exchanges").rglob("*.parquet"))
    assert len(set(forks)) == len(forks) == 2
    assert len(files) == 3  # the reader's first rows, and one for each worker


def test_rows_too_large_for_a_part_are_written_by_the_reader_while_workers_go_on(
    tmp_path: Path, forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render_jobs, "SIZES", PartSizes(3, 7, 1 << 9, 1 << 9))
    kw("pipeline", "run", TOUR, "--engine", "local", "--jobs", "1", "--out", str(tmp_path / "one"))
    kw("pipeline", "run", TOUR, "--engine", "local", "--jobs", "2", "--out", str(tmp_path / "two"))
    assert len(forks) == 2
    assert rows_in(tmp_path / "two", "exchanges") == rows_in(tmp_path / "one", "exchanges")
    sizes = [row["response_size"] or 0 for row in rows_in(tmp_path / "two", "exchanges")]
    assert max(sizes) > 1 << 9


@pytest.fixture
def in_a_worker(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Has workers do something instead of opening a file."""
    reader, open_new = os.getpid(), OutputFolder.open_new

    def instead(act: Callable[[], object]) -> None:
        def act_or_open(self: OutputFolder, path: str) -> Any:
            if os.getpid() != reader:
                act()
            return open_new(self, path)

        monkeypatch.setattr(OutputFolder, "open_new", act_or_open)

    return instead


def no_room() -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("act", "line"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "a worker process of --jobs ended too early, by signal 9"),
        (lambda: os._exit(7), "a worker process of --jobs ended too early, with exit code 7"),
        (no_room, "no space left on device"),
    ],
)
def test_a_worker_that_fails_is_one_line_and_leaves_the_old_tables(
    tmp_path: Path,
    forks: list[int],
    in_a_worker: Callable[[Callable[[], object]], None],
    act: Callable[[], object],
    line: str,
) -> None:
    kw("pipeline", "run", TOUR, "--engine", "local", "--jobs", "1", "--out", str(tmp_path))
    before = rows_in(tmp_path, "exchanges")
    in_a_worker(act)
    captures = [TOUR, str(FOLDER / "share-groups.pcapng")]
    failed = kw("pipeline", "run", *captures, "--engine", "local", "--jobs", "2", "--out", str(tmp_path))
    assert forks
    assert failed.code == 1
    assert failed.err.count("\n") == 1
    assert line in failed.err
    assert rows_in(tmp_path, "exchanges") == before
    for worker in forks:
        with pytest.raises(ChildProcessError):
            os.waitpid(worker, os.WNOHANG)


@pytest.fixture
def dying(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run with workers that sleep before their files."""
    code = """
import os, sys, time
from kwcli.main import main
from kwcli.pipeline import local_engine
from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.reading.sinks import render_jobs
render_jobs.SIZES = render_jobs.PartSizes(3, 7, 1 << 14)
local_engine.SHARED_MIN = 0
reader, open_new = os.getpid(), OutputFolder.open_new
def slow(self, path):
    if os.getpid() != reader:
        print(os.getpid(), flush=True)
        time.sleep(1)
    return open_new(self, path)
OutputFolder.open_new = slow
sys.argv[0] = "kw"
main()
"""
    words = ["pipeline", "run", TOUR, "--engine", "local", "--jobs", "2", "--out", str(tmp_path)]
    with subprocess.Popen([sys.executable, "-c", code, *words], cwd=ROOT, stdout=subprocess.PIPE) as process:
        yield process
        process.kill()


@pytest.mark.long
def test_a_run_that_is_killed_leaves_no_workers_and_no_tables(tmp_path: Path, dying: subprocess.Popen[bytes]) -> None:
    assert dying.stdout is not None
    worker = int(dying.stdout.readline())
    dying.kill()
    until = time.monotonic() + 30
    while os.path.exists(f"/proc/{worker}") and time.monotonic() < until:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{worker}")
    assert not (tmp_path / "exchanges").exists()
    kw("pipeline", "run", TOUR, "--engine", "local", "--out", str(tmp_path))
    assert len(rows_in(tmp_path, "exchanges")) == 193
    assert not (tmp_path / STAGING).exists()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--engine", "stitch"), "--jobs has no effect with --engine"),
        (("--master", "local[2]"), "--jobs has no effect with --master"),
    ],
)
def test_jobs_are_no_option_of_spark(tmp_path: Path, words: tuple[str, ...], line: str) -> None:
    refused = kw("pipeline", "run", TOUR, "--jobs", "2", *words, "--out", str(tmp_path))
    assert refused.code == 2
    assert line in refused.err
