"""The README's pictures show what kw prints today; `python -m tests.help.pictures` draws them anew."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Final

import pytest

from tests.help.pictures import COMMANDS, FOLDER, PAGE_SIZE, THEMES, output_of, read_picture, report_page, texts_of

ROOT: Final = Path(__file__).resolve().parents[2]
SIZE_MAX: Final = 100_000  # bytes: a README that loads at once


@pytest.mark.parametrize("name", COMMANDS)
def test_the_text_of_a_picture_is_what_the_command_prints(name: str) -> None:
    printed = [line.rstrip() for line in output_of(COMMANDS[name]).splitlines()]
    assert len(printed) > 10
    for theme in THEMES:
        drawn = (FOLDER / f"{name}-{theme}.svg").read_text()
        assert texts_of(drawn) == printed
        assert "http" not in drawn.replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_the_picture_of_the_report_is_of_the_page_of_today() -> None:
    digest = hashlib.sha256(report_page()).hexdigest()
    for theme in THEMES:
        assert read_picture(FOLDER / f"report-{theme}.png") == (digest, PAGE_SIZE)


def test_the_readme_shows_every_picture_with_its_command_and_no_other() -> None:
    readme = (ROOT / "README.md").read_text()
    shown = {name.rpartition("/")[2] for name in re.findall(r'"(kwcli/help/pictures/[^"]+)"', readme)}
    assert shown == {path.name for path in FOLDER.iterdir()}
    assert all(f"`{command}`" in readme for command in COMMANDS.values())
    assert all(path.stat().st_size < SIZE_MAX for path in FOLDER.iterdir())
