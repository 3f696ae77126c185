"""The manual page: it has all of the handbook and all options, and groff reports no problem."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kwcli.help.handbook_pages import TOPICS
from kwcli.help.manual_page import format_man_page
from kwcli.main import kw as program
from tests.cli.worlds import kw
from tests.help.reading import TEXTS


def test_it_leaves_the_help_option_of_every_command_as_it_is() -> None:
    """Click keeps the help option that it makes first: in a process of its own, since others have made it here."""
    code = "from tests.cli.worlds import kw; kw('help', '--man'); kw('proxy', 'ctl', '--help')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "  -h, --help " in done.stdout


def rendered(text: str, path: Path, width: int = 80) -> str:
    """The page as a terminal shows it, without its bold and underlined letters."""
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("needs groff on the PATH")
    path.write_text(text)
    done = subprocess.run(
        [groff, "-man", "-Tutf8", "-ww", "-P-c", f"-rLL={width}n", str(path)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    return re.sub(r".\x08", "", done.stdout)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("topic", [None, *TOPICS])
def test_groff_finds_nothing_wrong(topic: str | None, tmp_path: Path) -> None:
    shown = rendered(format_man_page(program, topic), tmp_path / "kw.1")
    prose = [line for line in shown.splitlines() if len(line) > 80]
    assert all(line.startswith("         ") or "  " in line.strip() for line in prose)  # examples are not wrapped


def test_everything_is_in_it(tmp_path: Path) -> None:
    text = format_man_page(program)
    assert text.isascii()
    shown = rendered(text, tmp_path / "kw.1", width=1000)
    words = set(re.findall(r"\w+", shown))
    for topic in TOPICS:
        page = re.sub(
            r"^\|.*\|\n(?=\| ---)", "", TEXTS[topic].partition(": ")[2], flags=re.MULTILINE
        )  # titles of two columns are left out
        missing = set(re.findall(r"\w+", re.sub(r"```\w+|\]\([^)]*\)", "", page))) - words
        assert missing == set(), topic


@pytest.mark.parametrize("command", ["sniff", "call", "proxy", "profile", "version"])
def test_options_of_a_command_are_in_its_page(command: str) -> None:
    shown = kw("help", "--man", command).out
    assert f'.SS "kw {command}' in shown


def test_a_line_that_begins_like_a_request_is_none() -> None:
    assert not [line for line in format_man_page(program).splitlines() if re.match(r"[.'](?![A-Z]|nh|ad|nf|fi)", line)]
