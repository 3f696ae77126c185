"""Timers of a mocked cluster: run when they are due, in order, unless they were stopped."""

from __future__ import annotations

from tests.mock.stage import Stage


def test_timers_run_when_they_are_due() -> None:
    cluster = Stage().cluster
    cluster.now_ms = 100
    ran: list[str] = []
    cluster.schedule(10, lambda: ran.append("second"))
    stopped = cluster.schedule(5, lambda: ran.append("stopped"))
    cluster.schedule(10, lambda: ran.append("third"))
    cluster.schedule(-3, lambda: ran.append("first"))
    stopped.action = None
    due = [cluster.next_ms]
    cluster.run_due_timers()
    assert ran == ["first"]
    due.append(cluster.next_ms)
    cluster.now_ms = 109
    cluster.run_due_timers()
    assert ran == ["first"]
    cluster.now_ms = 110
    cluster.run_due_timers()
    assert ran == ["first", "second", "third"]
    assert [*due, cluster.next_ms] == [100, 110, None]


def test_a_note_is_for_users_once() -> None:
    cluster = Stage().cluster
    for text in ("a", "b", "a"):
        cluster.add_note_for_user(text)
    assert cluster.notes == ["a", "b"]
    assert len({cluster.next_unique_number() for _ in range(3)}) == 3
