"""The time that is left, by a clock that the test sets."""

from __future__ import annotations

from kwcli.net.command_deadline import Deadline


def test_time_runs_out_and_not_below() -> None:
    now = [100.0]
    deadline = Deadline(10.0, lambda: now[0])
    assert deadline.left() == 10.0
    now[0] += 4.0
    assert deadline.left() == 6.0
    now[0] += 7.0
    assert deadline.left() == 0.0


def test_a_sooner_one_is_never_later() -> None:
    now = [100.0]
    deadline = Deadline(10.0, lambda: now[0])
    sooner = deadline.limit_to(5.0)
    assert (sooner.seconds, sooner.left()) == (5.0, 5.0)
    now[0] += 7.0
    assert deadline.limit_to(5.0) is deadline
    assert sooner.left() == 0.0
