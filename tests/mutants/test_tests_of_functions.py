"""Notes of tests in, the tests of a function out, the closest first."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.mutants.tests_of_functions import TestsOfFunctions

NOTED = [
    ["tests/tcp/test_a.py::far", 0.5, ["decoders/wire/text.py:f", "decoders/wire/text.py:g", "decoders/tcp/a.py:f"]],
    ["tests/tcp/test_a.py::dear", 89.8, ["decoders/wire/text.py:f"]],
    ["tests/wire/test_text.py::wide", 0.1, ["decoders/wire/text.py:f", "decoders/wire/text.py:g"]],
    ["tests/wire/test_text.py::close", 0.2, ["decoders/wire/text.py:f"]],
    ["tests/wire/test_text.py::other", 0.1, ["decoders/wire/text.py:g"]],
    ["tests/wire/test_text.py::other", None, ["decoders/wire/parse_units.py:C.f"]],  # in a program that it starts
    ["tests/wire/test_text.py::red", None, ["decoders/wire/text.py:f"]],
]


TEXTS = {
    "tests/tcp/test_a.py": "",
    "tests/wire/test_text.py": "from decoders.wire import text",
    "tests/cli/test_cut.py": "from decoders.wire.text import cut_text",
    "tests/cli/test_none.py": "from decoders.tcp.text import cut",
}


@pytest.fixture
def tests(tmp_path: Path) -> TestsOfFunctions:
    for name, lines in (("gw0", NOTED[::2]), ("gw1", NOTED[1::2])):
        (tmp_path / f"{name}.ndjson").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for path, text in TEXTS.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return TestsOfFunctions(tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("path", "function", "chosen"),
    [
        ("decoders/wire/text.py", "f", "close wide far test_text.py test_cut.py"),
        ("decoders/wire/text.py", "g", "other wide far test_text.py test_cut.py"),
        ("decoders/wire/text.py", "cut_text", "close other wide far test_cut.py test_text.py"),
        ("decoders/wire/text.py", "", "close other wide far test_text.py test_cut.py"),
        ("decoders/wire/parse_units.py", "C.f", "other test_text.py"),
        ("decoders/none/nothing.py", "f", ""),
    ],
)
def test_the_closest_tests_come_first(tests: TestsOfFunctions, path: str, function: str, chosen: str) -> None:
    assert [re.split("::|/", name)[-1] for name in tests.choose(path, function)] == chosen.split()


def test_a_function_that_runs_at_import_alone_is_not_called(tests: TestsOfFunctions) -> None:
    assert tests.is_called("decoders/wire/text.py", "f")
    assert not tests.is_called("decoders/wire/text.py", "cut_text")
    assert not tests.is_called("decoders/wire/text.py", "")
