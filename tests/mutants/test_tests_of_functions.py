"""Notes of tests in, the tests of a function out, the closest first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.mutants.tests_of_functions import TestsOfFunctions

NOTED = [
    ["tests/tcp/test_a.py::far", 0.5, ["decoders/wire/text.py:f", "decoders/wire/text.py:g", "decoders/tcp/a.py:f"]],
    ["tests/tcp/test_a.py::dear", 89.8, ["decoders/wire/text.py:f"]],
    ["tests/wire/test_text.py::wide", 0.1, ["decoders/wire/text.py:f", "decoders/wire/text.py:g"]],
    ["tests/wire/test_text.py::close", 0.2, ["decoders/wire/text.py:f"]],
    ["tests/wire/test_text.py::other", 0.1, ["decoders/wire/text.py:g"]],
    ["tests/wire/test_text.py::other", None, ["decoders/wire/units.py:C.f"]],  # in a program that it starts
    ["tests/wire/test_text.py::red", None, ["decoders/wire/text.py:f"]],
]


@pytest.fixture
def tests(tmp_path: Path) -> TestsOfFunctions:
    for name, lines in (("gw0", NOTED[::2]), ("gw1", NOTED[1::2])):
        (tmp_path / f"{name}.ndjson").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return TestsOfFunctions(tmp_path)


@pytest.mark.parametrize(
    ("path", "function", "chosen"),
    [
        ("decoders/wire/text.py", "f", ["wire/close", "wire/wide", "tcp/far", "wire/other"]),
        ("decoders/wire/text.py", "g", ["wire/other", "wire/wide", "tcp/far", "wire/close"]),
        ("decoders/wire/text.py", "", ["wire/close", "wire/other", "wire/wide", "tcp/far"]),
        ("decoders/wire/units.py", "C.f", ["wire/other"]),
        ("decoders/wire/none.py", "f", []),
    ],
)
def test_the_closest_tests_come_first(tests: TestsOfFunctions, path: str, function: str, chosen: list[str]) -> None:
    names = [
        name.removeprefix("tests/").partition("/")[0] + "/" + name.partition("::")[2]
        for name in tests.choose(path, function)
    ]
    assert names == chosen
