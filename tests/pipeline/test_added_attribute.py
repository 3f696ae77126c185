"""An attribute with a row in the table and a value, no more: records, schema, rows, paths and tables have it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


def test_a_new_attribute_takes_its_row_and_its_value() -> None:
    command = [sys.executable, "-m", "tests.pipeline.added_attribute"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (made.stdout, made.stderr) == ("everywhere\n", "")
