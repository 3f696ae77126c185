"""The garbage collector of Python runs seldom while a task decodes, and as before when it is over."""

from __future__ import annotations

import gc

import pytest

from kwcli.pipeline.spark.tune_python_gc import collect_garbage_seldom
from kwcli.run_environment import SELDOM_COLLECTIONS


def work_and_fail(seen: list[tuple[int, int, int]]) -> None:
    with collect_garbage_seldom():
        seen.append(gc.get_threshold())
        raise ZeroDivisionError


def test_the_thresholds_are_others_inside_alone() -> None:
    before, seen = gc.get_threshold(), list[tuple[int, int, int]]()
    with pytest.raises(ZeroDivisionError):
        work_and_fail(seen)
    assert seen == [SELDOM_COLLECTIONS]
    assert gc.get_threshold() == before != SELDOM_COLLECTIONS
