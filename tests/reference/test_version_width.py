"""`kw version` on terminals of any width: the same words, and no version is parted from its name."""

from __future__ import annotations

import re

import pytest

from tests.cli.worlds import kw, world

WIDE = kw("version", "-o", "text").out


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 120, 400])
def test_lines_are_broken_between_libraries(columns: int) -> None:
    lines = kw("version", env=world(terminal=True, columns=columns)).out.splitlines()
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    assert " ".join(plain).split() == WIDE.split()
    assert all(len(line) <= max(columns, 40) or "," not in line[:-1] for line in plain)  # one library may be longer
    assert not any(line.lstrip()[:1].isdigit() for line in plain)
    broken = [line for line in plain if line.startswith(" " * 8)]
    assert bool(broken) is (columns < max(map(len, WIDE.splitlines())))
