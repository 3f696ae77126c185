"""Memory of large blocks is given back to the system; a burst would be kept forever otherwise."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kwcli import malloc_trim

# 100 MiB in growing blocks, so that glibc would learn to keep them, with small blocks between them that stay.
_BURST = """
import sys
from pathlib import Path
from kwcli.malloc_trim import return_free_memory, set_malloc_thresholds

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

if sys.argv[1] == "tuned":
    set_malloc_thresholds()
before, kept = resident(), []
for size in (1 << 20, 4 << 20, 8 << 20):
    blocks = []
    for _ in range(3):
        blocks.append(b"x" * size)
        kept.append(b"y" * 2000)
    del blocks
pieces = [b"z" * 250_000 for _ in range(60)]
kept.append(b"y" * 2000)
most = resident()
del pieces
if sys.argv[1] == "tuned":
    return_free_memory()
print(most - before, resident() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_what_a_burst_took_is_given_back() -> None:
    command = [sys.executable, "-c", _BURST, "tuned"]
    most, left = map(int, subprocess.run(command, check=True, capture_output=True).stdout.split())
    assert most > 14 << 20
    assert left < 1 << 20


def test_what_has_not_grown_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [100, 60, 62, 66, 61, 50, 55, 50]  # MiB, in the form requested: once, or before and after
    trims: list[int] = []
    monkeypatch.setattr(malloc_trim, "read_resident_size", lambda: sizes.pop(0) << 20)
    monkeypatch.setattr(malloc_trim, "return_free_memory", lambda: trims.append(len(sizes)))
    trimmer = malloc_trim.Trimmer()
    assert [trimmer.trim_if_grown() for _ in range(5)] == [True, False, True, False, True]
    assert trims == [7, 4, 1]
    assert not sizes
