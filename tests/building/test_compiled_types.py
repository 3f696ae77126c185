"""What plain runs hand over is what compiled code takes: it has the declared types of the modules to compile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
# Values that come from modules which are not compiled: copies of packets, rows of tables, parts of captures.
FILES: Final = (
    "cli/test_cutting.py",
    "cli/test_overwriting.py",
    "pipeline/test_report.py",
    "analysis/test_folds.py",
    "analysis/test_client_compatibility.py",
)
PLUGIN: Final = "tests.building.compiled_types"
# A module with one class and functions that take it, run as if it were one of those that are compiled.
JUDGED: Final = """
from __future__ import annotations
import types
from tests.building import compiled_types
from decoders.schema.api_declaration import Versions

class Row:
    def join(self, other: Row) -> Row:
        return other

def read(row: Row | None, pairs: list[tuple[int, str]] = [], out: list[tuple[int, str]] = []) -> object:
    return row

def is_there(versions: object) -> bool:
    return bool(versions)

compiled_types.judge_module(__import__("sys").modules[__name__])
compiled_types.refuse_truth_of_pair(Versions, [__name__])
"""


def _run(expression: str) -> str:
    """What a call says in a process of its own: the plugin judges what is imported after it."""
    program = (
        f"{JUDGED}\ntry:\n    {expression}\nexcept TypeError as error:\n    print(error)\nelse:\n    print('taken')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("read(Row()); read(None); Row().join(Row()); read(None, [(1, 'a')]); read(row=None)", "taken"),
        ("read(None, [], [('in', 'out', 'nothing is read')])", "taken"),
        ("read(types.SimpleNamespace())", "got <class 'types.SimpleNamespace'>"),
        ("Row().join(None)", "for other of Row.join; got <class 'NoneType'>"),
        ("read(None, [(1, 'a', 3)])", "for pairs of read; got <class 'list'>"),
        ("read(None, ())", "for pairs of read; got <class 'tuple'>"),
        ("is_there(Versions(0, 1))", "compiled code takes each Versions for true"),
        ("read(row=1)", "for row of read; got <class 'int'>"),
    ],
)
def test_an_argument_of_another_type_is_told(expression: str, said: str) -> None:
    told = _run(expression)
    assert told.endswith(said), told


@pytest.mark.long
def test_commands_hand_over_what_is_declared() -> None:
    words = [
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-p",
        PLUGIN,
        "-p",
        "no:cacheprovider",
        *(f"tests/{name}" for name in FILES),
    ]
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", "CI": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
