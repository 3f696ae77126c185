"""The examples of the page `contributing`: the packages used once each, and a command that a newcomer adds."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kwcli.help.handbook_pages import read_page
from kwcli.options import ANSWER_FORMATS
from tests.help.reading import ROOT, python_of
from tests.test_layers import FOLDER_FILES

PAGE: Final = read_page("contributing")
FIRST_SCREEN: Final = 60
# Table → its file, and the row behind which the example's row is put.
TABLES: Final = (
    ("kwcli/main.py", "COMMANDS"),
    ("kwcli/help/handbook_pages.py", "TOPICS"),
    ("kwcli/analyses/csv_and_table_columns.py", "FLAT_COLUMNS"),
    ("tests/cli/test_flat_cells.py", "RUNS"),
    ("tests/cli/test_flat_cells.py", "KEPT"),
)
PLACES: Final = (
    *('    "doctor": (', '        "doctor",\n', '        "audit_broker": ('),
    *('    "diff": [(', '    "client": "'),
)
TOUR: Final = ROOT / "captures/tour.pcapng"


def test_the_first_screen_uses_each_package_once() -> None:
    code = python_of(PAGE)
    assert PAGE.partition("print(")[0].count("\n") < FIRST_SCREEN
    for package in ("capture", "exchanges", "filters", "analysis", "apis", "messages", "protocol_facts"):
        assert f"from decoders.{package}" in code
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert re.fullmatch(r"\d+-\d+ leader \d+ complete \w+\n", done.stdout), done.stdout


def files_of_example() -> dict[str, str]:
    """The files that the page tells a newcomer to make: path → text."""
    found = re.findall(
        r"\(([\w/]+\.(?:py|md))\)[^`]*?(?:`[^`\n]+`[^`]*?)*?:?\n+```(?:python|markdown)\n(.*?)```", PAGE, re.DOTALL
    )
    return {path: text for path, text in found if path.startswith(("decoders/", "kwcli/"))}


def rows_of_example() -> list[str]:
    """The rows that the page tells a newcomer to add, in the order of TABLES."""
    (block,) = re.findall(r"```\n( {4}\"sizes\": .*?)```", PAGE, re.DOTALL)
    return [f"{line}\n" for line in block.splitlines()]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program with the command of the page."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("decoders", "kwcli"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    files = files_of_example()
    assert sorted(files) == ["decoders/analysis/sizes.py", "kwcli/commands/analyses/sizes.py", "kwcli/help/sizes.md"]
    for path, text in files.items():
        assert not (tree / path).exists()
        (tree / path).write_text(text)
    for (path, _), row, place in [*zip(TABLES, rows_of_example(), PLACES, strict=True)][:3]:
        text = (tree / path).read_text()
        assert text.count(place) == 1
        (tree / path).write_text(text.replace(place, row + place))
    return tree


def run(tree: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "kwcli", *words],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.one_in(4)
@pytest.mark.parametrize("output", ["text", "table", "md", "ndjson", "json", "csv", "yaml", "fields"])
def test_the_command_of_the_page_has_every_format_and_filter(tree: Path, output: str) -> None:
    words = ("sizes", str(TOUR), "-o", output, "--errors", "all", "--jobs", "2", "-q")
    out = run(tree, *words, "-f", "api == ListOffsets or api == Metadata")
    rows: dict[str, list[Any]] = {
        "text": out.splitlines()[1:],
        "table": out.splitlines()[1:],
        "md": out.splitlines()[2:],
        "fields": out.splitlines(),
        "csv": [*csv.DictReader(io.StringIO(out))] if output == "csv" else [],
        "ndjson": [json.loads(line) for line in out.splitlines()] if output == "ndjson" else [],
        "json": json.loads(out) if output == "json" else [],
        "yaml": [*yaml.safe_load_all(out)] if output == "yaml" else [],
    }
    assert len(rows[output]) == 2
    for row in rows[output]:
        name = row["api"] if isinstance(row, dict) else row
        assert re.search("ListOffsets|Metadata", name)
        if isinstance(row, dict):
            assert int(row["request_max"]) > 10


def test_the_page_of_the_example_names_the_formats_that_answers_have() -> None:
    formats = "\\|".join(ANSWER_FORMATS)
    assert f"| `-o {formats}` | `count`" in files_of_example()["kwcli/help/sizes.md"]


def test_the_files_of_the_example_have_room_in_their_folders(tree: Path) -> None:
    """So that a newcomer who follows the page is not stopped by the test of full folders."""
    full = {path: len([*(tree / path).parent.glob("*.py")]) for path in files_of_example() if path.endswith(".py")}
    assert {path: count for path, count in full.items() if count > FOLDER_FILES} == {}


@pytest.mark.long
def test_the_tests_of_cells_pass_with_the_rows_of_the_example(tree: Path) -> None:
    shutil.copytree(ROOT / "tests", tree / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("captures", "pyproject.toml"):
        (tree / name).symlink_to(ROOT / name)
    words = [sys.executable, "-m", "pytest", "-n", "0", "-m", "", "-k", "every_command or stay_in_their_order or sizes"]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}

    def run_tests() -> str:
        words_of_file = [*words, "tests/cli/test_flat_cells.py"]
        done = subprocess.run(words_of_file, cwd=tree, env=environment, capture_output=True, text=True, check=False)
        return done.stdout

    assert all(f"no row in {name} of tests/cli/test_flat_cells.py" in run_tests() for name in ("RUNS", "KEPT"))
    for (path, _), row, place in [*zip(TABLES, rows_of_example(), PLACES, strict=True)][3:]:
        text = (tree / path).read_text()
        assert text.count(place) == 1
        (tree / path).write_text(text.replace(place, row + place))
    assert " failed" not in run_tests()


def test_the_command_of_the_page_is_limited_and_explained(tree: Path) -> None:
    assert "ended by --limit" in run(tree, "sizes", str(TOUR), "--limit", "20", "-q")
    assert "the largest request and response of each API" in run(tree, "help", "sizes")
    assert "kw sizes orders.pcapng" in run(tree, "sizes", "--help")
    assert "sizes" in run(tree, "--help")


def test_the_files_of_the_page_are_formatted(tree: Path) -> None:
    files = [path for path in files_of_example() if path.endswith(".py")]
    for words in (["ruff", "format", "--check"], ["ruff", "check"]):
        config = ["--config", str(ROOT / "pyproject.toml")]
        done = subprocess.run([*words, *config, *files], cwd=tree, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
