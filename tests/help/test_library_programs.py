"""The programs on the page `library` run as they stand, and print what they are for."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.help.reading import ROOT, TEXTS, programs_of

PROGRAMS: Final = programs_of(TEXTS["library"])
# The beginning of a program's sentence → a line that it prints, and how many lines there are at least.
PRINTED: Final = {
    "How long": ("below     4 ms  ██████████████████████████████████████", 12),
    "Which client": ("billing-1 orders", 10),
    "A request": ("True", 2),
    "The records": ("billing-1 0 b'customer-1' {'trace': b'4bf92f35'}", 700),
    "The exchanges": ("EndTxn 5 127.0.0.1:39122 → 127.0.0.1:9094 complete error_code: CONCURRENT_TRANSACTIONS>", 8),
    "A table": ("JoinGroup", 10),
}


def test_there_is_a_program_for_each_purpose() -> None:
    assert len(PROGRAMS) == len(PRINTED)
    assert {next(word for word in PRINTED if said.startswith(word)) for said in PROGRAMS} == PRINTED.keys()


@pytest.mark.parametrize("said", PROGRAMS, ids=lambda said: "-".join(said.split()[:2]))
def test_a_program_of_the_page_runs(
    said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "captures").symlink_to(ROOT / "captures")
    monkeypatch.chdir(tmp_path)
    exec(compile(PROGRAMS[said], said, "exec"), {})
    printed = capsys.readouterr()
    line, count = next(expected for word, expected in PRINTED.items() if said.startswith(word))
    lines = printed.out.splitlines()
    assert any(line in each for each in lines)
    assert len(lines) >= count
    assert printed.err == ""
