"""Values of a group wait to be counted together, so many at most, and are counted as one by one."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

import pytest

from decoders.analysis.percentiles import count_by_bin
from decoders.analysis.statistics import WAITING_MAX, GroupStatistics

VALUES: Final = [Random(number).randrange(1 << 40) for number in range(3 * WAITING_MAX + 7)]


def merge_value(group: GroupStatistics, value: int) -> None:
    other = GroupStatistics()
    other.add_value(value)
    group.merge(other, 0, max)


WAYS: Final[dict[str, Callable[[GroupStatistics, int], None]]] = {
    "one": GroupStatistics.add_value,
    "several": lambda group, value: group.add_values([value]),
    "merged": merge_value,
}


@pytest.mark.parametrize("add", WAYS.values(), ids=WAYS)
def test_values_wait_up_to_a_limit(add: Callable[[GroupStatistics, int], None]) -> None:
    group, waiting = GroupStatistics(), []
    for value in VALUES:
        add(group, value)
        waiting.append(len(group._waiting))
    assert waiting == [number % WAITING_MAX for number in range(1, len(VALUES) + 1)]
    assert group.value_bins() == count_by_bin(VALUES)
    assert (group.values, group.total) == (len(VALUES), sum(VALUES))
    assert (group.low, group.high) == (min(VALUES), max(VALUES))


def test_a_group_without_values_is_merged() -> None:
    group = GroupStatistics()
    group.add_values([5, 3])
    group.merge(GroupStatistics(), 0, max)
    assert (group.values, group.low, group.high) == (2, 3, 5)
    other = GroupStatistics()
    other.add_values([4, 9])
    other.merge(group, 0, max)
    assert (other.values, other.total, other.low, other.high) == (4, 21, 3, 9)
    assert other.value_bins() == count_by_bin([4, 9, 5, 3])
