"""Small captures that expand: every command stays small in memory, in every format and with every detail."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random
from struct import unpack_from

import pytest

from decoders.frames.read_and_judge_headers import FITS, NO, judge_request
from decoders.limits import CELL_MAX
from decoders.messages.guess_api import guess_request
from decoders.records.read_batches import read_batches, read_first_batch_header
from kwcli.run_environment import Exit
from tests.cli.worlds import kw
from tests.fuzz.bombs import COMMANDS, Bomb
from tests.records.bombs import BOMBS, capture
from tests.records.making import batch

MIB = 1 << 20
# The size of the bombs here. As values the worst of them would take more than 250 MiB in each format.
SIZE = 3 * MIB // 2
# A process with all of kw loaded has 50 MiB; the rest is some copies of 1.5 MiB, and the pieces of output.
MOST_MIB = 150
# Cells hold values of up to 32 MiB (CELL_MAX), and lines are made of them.
MOST_IN_CELLS_MIB = 300


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Captures of all bombs, by name."""
    folder = tmp_path_factory.mktemp("bombs")
    found = {}
    for name, make in BOMBS.items():
        found[name] = folder / f"{name.replace(' ', '-')}.pcap"
        found[name].write_bytes(capture(make(SIZE)))
    return found


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks of memory are read from Linux's /proc")
@pytest.mark.parametrize(
    ("words", "every"),
    [
        pytest.param(("sniff", "-o", "text", "-v", "--records"), 4, marks=pytest.mark.long),
        pytest.param(("sniff", "-o", "text", "-v", "--records"), 1, marks=pytest.mark.full),
        pytest.param(("sniff", "-o", "ndjson", "--records"), 1, marks=pytest.mark.full),
        pytest.param(("sniff", "-o", "hex"), 1, marks=pytest.mark.full),
        pytest.param(("sniff", "-o", "yaml", "--records"), 1, marks=pytest.mark.full),
        pytest.param(("sniff", "-o", "fields", "-e", "topic,key,value,header.a"), 1, marks=pytest.mark.full),
        pytest.param(
            ("sniff", "-o", "table", "--columns", "api,request.topic_data,response"), 1, marks=pytest.mark.full
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else f"each {value}th",
)
def test_every_command_stays_small(files: dict[str, Path], words: tuple[str, ...], every: int) -> None:
    files = dict([*files.items()][::every])
    child = [sys.executable, "-m", "tests.records.peak", *words, "--", *map(str, files.values())]
    done = subprocess.run(child, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert len(rows) == len(files)
    most = MOST_IN_CELLS_MIB if {"-e", "--columns"} & {*words} else MOST_MIB
    too_much = {name: row for name, row in zip(files, rows, strict=True) if int(row[0]) > most}
    assert too_much == {}
    assert [name for name, row in zip(files, rows, strict=True) if row[1:] != ["0", "False"]] == []


@pytest.mark.long
def test_a_cell_has_as_many_values_as_it_may(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pcap"
    path.write_bytes(capture(BOMBS["broken batches"](2 * MIB)))
    found = kw("sniff", str(path), "-q", "-e", "value")
    size = len('{"base64":""}') + 8 * MIB // 3 * 4  # 8 MiB of zeros as base64
    assert found.code == Exit.DONE
    cells = found.out.rstrip("\n").split(",")
    assert [len(cell) for cell in cells if len(cell) > MIB] == pytest.approx([size] * 2, abs=4)
    assert cells[-1] == f"… (more than {CELL_MAX // MIB} MiB: the rest is left out)"


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("look", [guess_request, lambda frame: judge_request(frame, 0)], ids=["guess", "verdict"])
@pytest.mark.parametrize("name", ["topics", pytest.param("created topics", marks=pytest.mark.long)])
def test_what_a_large_request_is_is_told_without_its_values(name: str, look: Callable[[bytes], object]) -> None:
    frame = BOMBS[name](SIZE).request
    look(BOMBS[name](1000).request)  # loads what is made once
    tracemalloc.start()
    try:
        found = look(frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found
    assert peak < 4 * SIZE


@pytest.mark.long
def test_of_a_large_request_that_is_cut_off_the_beginning_tells() -> None:
    frame = BOMBS["created topics"](3 * SIZE).request
    tracemalloc.start()
    try:
        assert judge_request(frame[:-1], 0) == FITS
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * SIZE
    assert judge_request(frame[:200] + b"\xff" * (len(frame) - 201), 0) == NO


def test_the_first_batch_of_many_is_read_alone() -> None:
    one = batch(count=0, last_delta=0)
    assert read_first_batch_header(one * 1000) == read_batches(one, records=False)[0]
    assert read_first_batch_header(b"\0") == read_batches(b"\0", records=False)[0]


@pytest.mark.long
def test_an_answer_to_a_call_stays_small(tmp_path: Path) -> None:
    made = BOMBS["failing topics"](4 * MIB)
    key, version = unpack_from(">hh", made.request, 4)
    _, done = COMMANDS["call"](Random(1), tmp_path, Bomb(key, version, made.request, made.response))
    assert done.code == Exit.FAILURE
    assert done.peak_mb < MOST_MIB
