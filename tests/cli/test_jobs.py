"""`--jobs`: output and messages are the same for any number of processes."""

from __future__ import annotations

import copy
import io
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import MethodType
from typing import Final

import pytest

from decoders import Record
from decoders.analysis.statistics import Statistics
from decoders.apis import NAMES, api
from decoders.exchanges.body_reader import SIDES, list_layouts
from decoders.schema import lazy_decoder
from decoders.schema.lazy_decoder import LazyDecoder
from kwcli.main import run
from kwcli.reading import read_captures_by_time
from kwcli.reading.sinks import filter_sort_and_limit_rows
from kwcli.reading.sinks import render_jobs as jobs
from kwcli.reading.sinks.render_jobs import PartResult, PartSizes, RenderJobs, WorkerMessage
from kwcli.run_environment import Environment, Exit, Failure
from tests.captures.shipped import FOLDER
from tests.cli.test_damage import capture, damaged
from tests.cli.worlds import Outcome
from tests.cli.worlds import kw as run_kw
from tests.reading.captures_with_values import HandMadeCapture, prefixed
from tests.sampling import sampled

Runner = Callable[..., Outcome]

TOUR: Final = FOLDER / "tour.pcapng"
CAPTURES: Final = sorted(
    path
    for path in FOLDER.rglob("*")
    if path.name.endswith((".pcap", ".pcapng", ".pcap.gz", ".pcapng.zst")) and path.is_file()
)
VIEWS: Final[tuple[tuple[str, ...], ...]] = (
    ("sniff",),
    ("sniff", "-v"),
    ("sniff", "-vv", "--records"),
    ("sniff", "--records", "--color", "always"),
    ("sniff", "-o", "ndjson", "--records"),
    ("sniff", "-o", "json", "--names"),
    ("sniff", "-o", "yaml", "--reveal-secrets"),
    ("sniff", "-o", "csv"),
    ("sniff", "-o", "table"),
    ("sniff", "-o", "fields", "-E", "header=y", "-e", "time,api,topic,group,node,summary"),
    ("sniff", "--columns", "time,client,api,node,file,summary"),
    ("sniff", "-o", "hex"),
    ("sniff", "-o", "raw"),
    ("sniff", "-f", "api == Fetch or api == Metadata", "-v"),
    ("sniff", "--errors", "-o", "ndjson"),
    ("sniff", "-f", "node.id > 0", "-o", "table"),
    ("sniff", "--limit", "23"),
    ("sniff", "--topic", "orders", "--limit", "11", "-o", "json"),
    ("sniff", "--sort", "latency"),
    ("sniff", "--strict", "-o", "ndjson", "--guess-requests"),
    ("sniff", "--port", "9092-9099"),
    ("stats",),
    ("stats", "--by", "client,topic", "--metric", "records", "-o", "json"),
    ("stats", "--bucket", "1s", "--slowest", "5", "--errors", "all"),
    ("clients", "-o", "ndjson"),
    ("groups", "-o", "json"),
    ("transactions", "-o", "json"),
    ("topics", "--api", "produce,fetch"),
    ("brokers",),
    ("doctor", "-v"),
    ("doctor", "-o", "ndjson"),
    ("audit", "-o", "ndjson"),
    ("audit", "--security"),
    ("report", "-o", "json"),
)


@pytest.fixture
def kw(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runner:
    """Runs kw with small parts into a file; `forks` counts them."""
    monkeypatch.setattr(jobs, "SIZES", PartSizes(3, 7, 1 << 14))
    monkeypatch.setattr(jobs, "RETURNED_MAX", 1 << 11)  # some parts write by themselves
    monkeypatch.setattr(filter_sort_and_limit_rows, "SHARED_MIN", 0)
    monkeypatch.setattr(read_captures_by_time, "MERGED_MAX", 1 << 12)  # rows come in small pieces
    monkeypatch.setattr(read_captures_by_time, "_PIECE_MIN", 1 << 12)
    monkeypatch.setattr(jobs, "can_fork", lambda: True)  # the threads of the test runner do not matter

    def runner(*words: str, stdin: bytes = b"") -> Outcome:
        out = tmp_path / "out"
        stderr = io.BytesIO()
        with out.open("wb") as stdout:
            env = Environment(
                stdin=io.BytesIO(stdin), stdout=stdout, stderr=stderr, variables={}, monotonic=lambda: 0.0
            )
            code = run(words, env)
        return Outcome(code, out.read_bytes().decode("utf-8", "backslashreplace"), stderr.getvalue().decode())

    return runner


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of workers at each time when another one was forked."""
    made: list[int] = []
    fork = RenderJobs._fork_worker

    def counted(self: RenderJobs) -> None:
        made.append(len(self._workers))
        fork(self)

    monkeypatch.setattr(RenderJobs, "_fork_worker", counted)
    return made


def test_decoders_of_the_first_rows_are_generated_before_the_fork(
    kw: Runner, forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All decoders that have read a message are generated code, although none has read enough to be worth it."""
    monkeypatch.setattr(lazy_decoder, "CALLS", 1 << 62)
    monkeypatch.setattr(lazy_decoder, "BYTES", 1 << 62)
    for key in NAMES:
        for version in api(key).versions:
            for side in SIDES:
                list_layouts(key, version, side)[0].plan.made.clear()
    made: list[LazyDecoder] = []
    make, generate = LazyDecoder.__init__, LazyDecoder.generate_code
    generated: list[LazyDecoder] = []
    missing: list[int] = []
    fork = RenderJobs._fork_worker

    def noted(self: LazyDecoder, *words: object) -> None:
        make(self, *words)  # type: ignore[arg-type]  # as it was called
        made.append(self)

    def counted(self: LazyDecoder) -> None:
        generate(self)
        generated.append(self)

    def checked(self: RenderJobs) -> None:
        if not self._workers:
            missing.append(len([each for each in made if each.has_begun and each not in generated]))
        fork(self)

    monkeypatch.setattr(LazyDecoder, "__init__", noted)
    monkeypatch.setattr(LazyDecoder, "generate_code", counted)
    monkeypatch.setattr(RenderJobs, "_fork_worker", checked)
    assert kw("sniff", str(TOUR), "-o", "ndjson", "--jobs", "2").code == 0
    assert forks
    assert generated
    assert set(missing) == {0}


# Options with which no part is made, or not always.
ALONE: Final = "--sort"
BOTH: Final = "--limit"


@pytest.mark.one_in(18)
@pytest.mark.parametrize("words", VIEWS, ids=" ".join)
def test_the_output_is_that_of_one_process(kw: Runner, forks: list[int], words: tuple[str, ...]) -> None:
    whole = kw(*words, str(TOUR), "--jobs", "1")
    assert forks == []
    assert kw(*words, str(TOUR), "--jobs", "3") == whole
    assert BOTH in words or bool(forks) is (ALONE not in words)
    assert len(whole.out) > 100


@pytest.mark.parametrize(
    "words", [("doctor", "-v"), ("stats", "--slowest", "5"), ("report", "-o", "json")], ids=" ".join
)
def test_folds_of_workers_are_no_copies(
    kw: Runner, forks: list[int], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Compiled classes: deepcopy keeps their bound methods, which feed the folds of the original, or it fails."""

    def refuse(_self: object, _memo: object) -> None:
        raise TypeError("cannot be copied")

    monkeypatch.setitem(copy._deepcopy_dispatch, MethodType, lambda method, _memo: method)  # type: ignore[attr-defined]  # as for a builtin method
    monkeypatch.setattr(Statistics, "__deepcopy__", refuse, raising=False)
    whole = kw(*words, str(TOUR), "--jobs", "1")
    assert kw(*words, str(TOUR), "--jobs", "2") == whole
    assert forks


@pytest.mark.long
@pytest.mark.parametrize("every", [len(CAPTURES), pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_so_is_that_of_every_capture(kw: Runner, path: Path, every: int) -> None:
    """Every capture: some views of it, or all, with several jobs."""
    for number, words in [*enumerate(VIEWS)][CAPTURES.index(path) % every :: every]:
        whole = kw(*words, str(path), "--jobs", "1")
        assert kw(*words, str(path), "--jobs", ("2", "3", "5")[number % 3]) == whole, words


@pytest.mark.full
@pytest.mark.parametrize("count", ["2", "3", "5"])
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_so_is_that_of_any_number(kw: Runner, path: Path, count: str) -> None:
    for words in VIEWS:
        assert kw(*words, str(path), "--jobs", count) == kw(*words, str(path), "--jobs", "1"), words


@pytest.mark.long
@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", [1, *sampled(range(2, 40), 6)])
def test_so_is_that_of_damaged_ones(kw: Runner, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    path = tmp_path / "damaged.pcapng"
    path.write_bytes(damaged(rng, capture(rng.choice([TOUR, FOLDER / "first-steps.pcapng", FOLDER / "sasl-raw.pcap"]))))
    words = VIEWS[seed % len(VIEWS)]
    assert kw(*words, str(path), "--jobs", rng.choice(["2", "3", "5"])) == kw(*words, str(path), "--jobs", "1")


@pytest.mark.long
def test_several_captures_and_a_pipe(kw: Runner, forks: list[int]) -> None:
    names = str(TOUR), str(FOLDER / "first-steps.pcapng"), str(FOLDER / "missing.pcap")
    for words in (("sniff",), ("sniff", "-o", "csv", "--columns", "file,api,topic"), ("stats", "--by", "file")):
        assert kw(*words, *names, "--jobs", "2") == kw(*words, *names, "--jobs", "1")
    assert forks
    data = TOUR.read_bytes()
    assert kw("sniff", "-", "--jobs", "2", stdin=data) == kw("sniff", "-", "--jobs", "1", stdin=data)


PIPE_SIZE: Final = 1 << 16
# The behaviour of a process: exit codes, Ctrl-C, closed pipes.
SMALL_PARTS: Final = """
import sys
from kwcli.reading.sinks import render_jobs as jobs, filter_sort_and_limit_rows as run
jobs.SIZES = jobs.PartSizes(3, 20, 1 << 16)
jobs.RETURNED_MAX = 1 << 12
run.SHARED_MIN = 0
from kwcli.main import main
sys.exit(main())
"""


def program(*words: str) -> tuple[str, ...]:
    """The command of kw with small parts, to be run as its own process."""
    return (sys.executable, "-c", SMALL_PARTS, *words)


def test_who_reads_only_the_beginning_is_no_error() -> None:
    kw = subprocess.Popen(
        program("sniff", str(TOUR), "-o", "ndjson", "--records", "--jobs", "2"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert kw.stdout is not None
    assert kw.stdout.read(200).startswith(b'{"kind":"exchange"')
    kw.stdout.close()
    assert (kw.wait(60), kw.stderr and kw.stderr.read()) == (0, b"")
    assert kw.stderr is not None
    kw.stderr.close()


def test_a_full_disk_is_told_in_one_line() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            program("sniff", str(TOUR), "-v", "--jobs", "2"), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr.decode().splitlines()) == (
        1,
        ["kw: the output cannot be written: no space left on device"],
    )


def lines_of_one_process(*words: str) -> list[bytes]:
    return subprocess.run(program(*words, "--jobs", "1"), capture_output=True, check=True).stdout.splitlines()


def test_ctrl_c_writes_what_was_decoded() -> None:
    words = ("sniff", str(TOUR), "-o", "ndjson", "--records", "-q")
    whole = lines_of_one_process(*words)
    assert sum(map(len, whole)) > 4 * PIPE_SIZE  # so that the program waits for its reader
    with subprocess.Popen(program(*words, "--jobs", "2"), stdout=subprocess.PIPE, start_new_session=True) as kw:
        assert kw.stdout is not None
        first = kw.stdout.readline()
        os.killpg(kw.pid, signal.SIGINT)
        found = (first + kw.stdout.read()).splitlines()
        assert kw.wait(60) == 130
    assert found == whole[: len(found)]
    assert len(found) > 40


@pytest.mark.long
def test_rows_of_a_pipe_that_pauses_come_at_once(tmp_path: Path) -> None:
    words = ("sniff", "-", "-o", "ndjson", "-q", "--jobs", "2")
    out, data = tmp_path / "out", TOUR.read_bytes()
    with out.open("wb") as file, subprocess.Popen(program(*words), stdin=subprocess.PIPE, stdout=file) as kw:
        assert kw.stdin is not None
        for at in range(0, len(data), len(data) // 4 + 1):
            before = out.stat().st_size
            kw.stdin.write(data[at : at + len(data) // 4 + 1])
            kw.stdin.flush()
            deadline = time.monotonic() + 60
            while out.stat().st_size == before:
                assert time.monotonic() < deadline
                time.sleep(0.01)
        kw.stdin.close()
        assert kw.wait(60) == 0
    assert out.read_bytes().splitlines() == lines_of_one_process("sniff", str(TOUR), "-o", "ndjson", "-q")


def test_a_part_that_is_killed_is_told(kw: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(_self: RenderJobs, _part: bytes, _take: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(RenderJobs, "_make_result", die)
    outcome = kw("sniff", str(TOUR), "--jobs", "2")
    assert (outcome.code, outcome.err) == (1, "kw: a worker process of --jobs ended too early, by signal 9\n")


@pytest.mark.parametrize("most", [0, 1])
def test_a_system_without_room_for_more_processes_is_none_that_fails(
    kw: Runner, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    fork, made = RenderJobs._fork_worker, [0]

    def refused(self: RenderJobs) -> None:
        if made[0] >= most:
            raise BlockingIOError
        made[0] += 1
        fork(self)

    whole = kw("sniff", str(TOUR), "-v", "--jobs", "1")
    monkeypatch.setattr(RenderJobs, "_fork_worker", refused)
    assert kw("sniff", str(TOUR), "-v", "--jobs", "3") == whole
    assert made[0] == most


@pytest.mark.parametrize("returned", [0, 1 << 20])
def test_what_was_made_before_something_went_wrong_is_written(
    kw: Runner, monkeypatch: pytest.MonkeyPatch, returned: int
) -> None:
    result = RenderJobs._make_result

    def wrong(self: RenderJobs, message: WorkerMessage, take: int) -> PartResult:
        if message.part.number == 5:
            return PartResult(problem=Failure("this went wrong"))
        return result(self, message, take)

    whole = kw("sniff", str(TOUR), "-v", "--jobs", "1")
    monkeypatch.setattr(jobs, "RETURNED_MAX", returned)
    monkeypatch.setattr(RenderJobs, "_make_result", wrong)
    outcome = kw("sniff", str(TOUR), "-v", "--jobs", "3")
    assert (outcome.code, outcome.err) == (1, "kw: this went wrong\n")
    assert whole.out.startswith(outcome.out)
    assert len(whole.out) // 10 < len(outcome.out) < len(whole.out)


@pytest.mark.parametrize("command", ["sniff", "stats", "report", "doctor", "clients"])
@pytest.mark.parametrize("jobs", ["257", "100000", "9" * 30])
def test_more_processes_than_any_machine_has_cores_are_refused(command: str, jobs: str) -> None:
    outcome = run_kw(command, str(FOLDER / "tour.pcapng"), "--jobs", jobs)
    assert (outcome.code, outcome.out) == (Exit.USAGE, "")
    assert "--jobs" in outcome.err
    assert "256" in outcome.err


@pytest.mark.parametrize(
    "words", [("run", "c.pcap", "--out", "o"), ("watch", "c", "--out", "o"), ("report", "t"), ("sql", "t", "select 1")]
)
@pytest.mark.parametrize("master", ["local[257]", "local[100000,4]", f"local[{'9' * 5000}]"])
def test_a_spark_of_this_machine_has_as_many_threads_at_most(words: tuple[str, ...], master: str) -> None:
    outcome = run_kw("pipeline", *words, "--master", master)
    assert (outcome.code, "at most 256 threads" in outcome.err) == (Exit.USAGE, True)


@pytest.mark.parametrize("words", [("sniff", "--records", "-o", "ndjson"), ("topics", "--values")])
def test_values_without_a_schema_are_those_of_all_processes(
    kw: Runner, forks: list[int], tmp_path: Path, words: tuple[str, ...]
) -> None:
    capture = HandMadeCapture()
    for number in range(40):
        capture.produce("orders", Record(number, 5, None, prefixed(number % 3 + 1)))
    command, *more = words
    outcome = kw(command, capture.write(tmp_path / "a.pcap"), *more, "--jobs", "2")
    assert forks
    assert "40 values with a schema that was not seen (ids 1, 2, 3)" in outcome.err
