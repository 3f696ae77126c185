"""What an answer is told of how much of its inputs was read: by Ctrl-C, by --limit, to the end; with filters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kwcli.capture_options import CaptureOptions
from kwcli.options import FilterOptions
from kwcli.output.output_settings import Settings
from kwcli.reading.run_coverage import PartialRun, RunCoverage
from kwcli.reading.run_reading import ReadingRun
from kwcli.reading.sinks.filter_sort_and_limit_rows import ReadingView
from kwcli.reading.sinks.fold_renderer import FoldRenderer
from kwcli.run_environment import Environment
from tests.captures.shipped import FOLDER
from tests.cli.worlds import world

TOUR = FOLDER / "tour.pcapng"
SIZE = TOUR.stat().st_size


class Interrupted:
    """Standard input that is interrupted when this many bytes were read."""

    def __init__(self, data: bytes) -> None:
        self._pieces: Iterator[bytes] = iter([data])

    def read1(self, _size: int = -1, /) -> bytes:
        for piece in self._pieces:
            return piece
        raise KeyboardInterrupt


class Answer(FoldRenderer):
    """An answer that only notes what it was told when it was closed."""

    told: RunCoverage | None = None

    def close(self) -> None:
        self.told = self.coverage


def covered(env: Environment, file: str, filters: FilterOptions, jobs: int = 1) -> RunCoverage:
    answer = Answer([], "")
    view = ReadingView(lambda _key, _side: frozenset(), lambda _write: answer)
    run = ReadingRun(env, Settings(quiet=True), CaptureOptions((file,), jobs=jobs), filters, view=view)
    outcome = run.run()
    assert answer.told is not None
    assert answer.told == outcome.coverage
    return answer.told


def test_an_answer_on_whole_inputs_is_not_partial() -> None:
    found = covered(world(), str(TOUR), FilterOptions())
    assert found == RunCoverage(None, found.exchanges, found.exchanges, filtered=False)
    assert found.exchanges > 100


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_filter_is_told_with_what_it_let_through(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwcli.reading.sinks.filter_sort_and_limit_rows.SHARED_MIN", 0)
    whole = covered(world(), str(TOUR), FilterOptions())
    found = covered(world(), str(TOUR), FilterOptions(apis=("Produce",)), jobs)
    assert found == RunCoverage(None, found.matched, whole.exchanges, filtered=True)
    assert 0 < found.matched < whole.exchanges


def test_a_limit_is_told_with_the_bytes_read(tmp_path: Path) -> None:
    big = tmp_path / "big.pcapng"
    big.write_bytes(TOUR.read_bytes() * 4)
    found = covered(world(), str(big), FilterOptions(limit=3))
    assert found.partial is not None
    assert found.matched == 3
    assert found.partial == PartialRun("limit", found.partial.read, 4 * SIZE)
    assert 0 < found.partial.read < 4 * SIZE


def test_an_interrupted_pipe_is_told_with_the_bytes_read_and_no_size() -> None:
    env = world()
    env.stdin = Interrupted(TOUR.read_bytes()[:100_000])
    found = covered(env, "-", FilterOptions())
    assert found.partial == PartialRun("interrupted", 100_000, None)
    assert found.exchanges > 0


def test_an_interrupted_file_is_told_with_its_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from kwcli.reading.read_captures_by_time import Captures

    big = tmp_path / "big.pcapng"
    big.write_bytes(TOUR.read_bytes() * 4)
    whole = Captures.__iter__

    def interrupted(captures: Captures) -> Iterator[object]:
        segments = whole(captures)
        yield next(segments)
        raise KeyboardInterrupt

    monkeypatch.setattr(Captures, "__iter__", interrupted)
    found = covered(world(), str(big), FilterOptions())
    assert found.partial == PartialRun("interrupted", 1 << 16, 4 * SIZE)
