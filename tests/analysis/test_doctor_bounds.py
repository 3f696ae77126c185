"""What findings cost and how large they are, whatever a capture has: steps of a diagnosis, observations, titles."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from decoders.analysis.doctor.diagnosis_input import Case
from decoders.analysis.doctor.groups.member_findings import MEMBERS
from decoders.analysis.doctor.observations import Observations
from decoders.analysis.doctor.slow_brokers import BrokerLatencies
from decoders.analysis.doctor.thresholds import Thresholds
from tests.analysis.scenes import BEGUN, NS


def make_members_outside(partitions: int) -> Observations:
    """A member whose positions are outside of the log in all partitions of a topic, and whose offsets somebody set."""
    seen = Observations()
    seen.get_or_make("joined", "g", "m").count_occurrence_at(BEGUN)
    alive = seen.get_or_make("alive", "g", "id")
    alive.count_name("clients", "m")
    alive.mark_second(BEGUN + 60 * NS)
    for number in range(partitions):
        for kind, subject, edge in (
            ("offset-set", ("g", "t", number, "tool"), "offset"),
            ("assigned", ("g", "m", "t", number), None),
            ("outside", ("m", "t", number), "position"),
            ("lag", ("r", "t", number), "lag"),
            ("sequence", ("p", "t", number, 7), "next"),
        ):
            its = seen.get_or_make(kind, *subject)
            its.count_occurrence_at(BEGUN)
            if edge is not None:
                its.keep_first_and_last(edge, BEGUN, 6)
            if kind == "assigned":
                its.count_name("from 6", "10.0.0.1:5")
            if kind == "lag":
                its.add_range(("got", "got-from", "got"), 0, 3)
    return seen


def count_lines(run: Callable[[], object]) -> int:
    """How many lines of Python a call runs."""
    lines = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return lines


def test_members_outside_of_their_logs_are_found_in_steps_by_the_number_of_partitions() -> None:
    def cost(count: int) -> int:
        case = Case(make_members_outside(count), {}, BrokerLatencies(), {}, [], Thresholds())
        return count_lines(lambda: [[*find(case)] for find in MEMBERS])

    assert cost(80) < 6 * cost(20)
