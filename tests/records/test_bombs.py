"""Small captures that say much: every command stays small, whatever it shows of them and in whatever form."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.records.bombs import BOMBS, capture

MIB = 1 << 20
# What the bombs come to here. As values the worst of them would take more than 250 MiB in each of the formats.
SIZE = 3 * MIB // 2
# A process with all of kw loaded has 50 MiB, then some copies of 1.5 MiB, and what is made of them at a time.
MOST_MIB = 150


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
    "words",
    [
        ("sniff", "-o", "ndjson", "--records"),
        ("sniff", "-o", "text", "-v", "--records"),
    ],
    ids=" ".join,
)
def test_every_command_stays_small(files: dict[str, Path], words: tuple[str, ...]) -> None:
    child = [sys.executable, "-m", "tests.records.peak", *words, "--", *map(str, files.values())]
    done = subprocess.run(child, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert len(rows) == len(files)
    too_much = {name: row for name, row in zip(files, rows, strict=True) if int(row[0]) > MOST_MIB}
    assert too_much == {}
    assert [name for name, row in zip(files, rows, strict=True) if row[1:] != ["0", "False"]] == []
