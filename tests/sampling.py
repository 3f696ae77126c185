"""Parameters of a test in, the same ones out, with all but a sample left to `.ci/full`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(rows: Iterable[Any], every: int) -> list[Any]:
    """Rows for `parametrize` over one name: the first and each `every`th row unmarked, the others marked `full`."""
    return [row if at % every == 0 else pytest.param(row, marks=pytest.mark.full) for at, row in enumerate(rows)]
