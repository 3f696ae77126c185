"""The line at the end of a ping."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kwcli.calling.ping_summary import Ping, find_percentile


def answer(latency_ms: float | None, *, errors: tuple[str, ...] = (), failures: tuple[str, ...] = ()) -> Any:
    return SimpleNamespace(latency_ms=latency_ms, errors=errors, failures=failures)


@pytest.mark.parametrize(
    ("answers", "lost", "line", "has_answers"),
    [
        ([], 0, "0 requests", False),
        ([], 1, "1 request, 1 lost", False),
        ([answer(None)], 0, "1 request", True),
        (
            [answer(1.0), answer(3.0, errors=("X",)), answer(2.0, failures=("Y",))],
            2,
            "5 requests, 2 errors, 2 lost · min 1.0ms · p50 2.0ms · p90 3.0ms · p99 3.0ms · max 3.0ms",
            True,
        ),
        (
            [answer(0.5, errors=("X", "Y"), failures=("Z",))],
            0,
            "1 request, 1 error · min 500µs · p50 500µs · p90 500µs · p99 500µs · max 500µs",
            True,
        ),
    ],
)
def test_a_ping_is_summed_up(answers: list[Any], lost: int, line: str, has_answers: bool) -> None:
    ping = Ping()
    for each in answers:
        ping.count_exchange(each)
    for _ in range(lost):
        ping.count_lost_request()
    assert (ping.format_summary_line(), ping.has_answers) == (line, has_answers)


@pytest.mark.parametrize(
    ("share", "value"), [(0.0, 1), (0.1, 1), (0.11, 2), (0.5, 5), (0.51, 6), (0.9, 9), (0.99, 10), (1.0, 10)]
)
def test_a_percentile_is_the_nearest_rank(share: float, value: int) -> None:
    assert find_percentile(range(1, 11), share) == value
