"""Parameters of a test in, the same ones out, with all but a sample marked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

FULL = pytest.mark.full


def sampled(rows: Iterable[Any], every: int, rest: pytest.MarkDecorator = FULL) -> list[Any]:
    """Rows for `parametrize` over one name: the first and each `every`th row unmarked, the others marked `rest`."""
    return [row if at % every == 0 else pytest.param(row, marks=rest) for at, row in enumerate(rows)]
