"""Heartbeats of brokers in, observations out; and these in, findings about brokers that a controller keeps fenced out.

A broker that is fenced leads nothing, and no client is told of it, until it has caught up with the metadata log.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.diagnosis_input import MS, NS, Case, Found, merge_observations
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.exchange_facts import view_or_empty
from decoders.wire.format_and_escape_text import describe_duration

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observation, Observations
    from decoders.exchanges.exchange import Exchange

__all__ = ["FENCED_BROKERS", "observe_broker_heartbeat"]

# A broker that starts reads the metadata log in less.
_FENCED_LEAST_NS: Final = 20 * NS
# A broker without a heartbeat for longer does not run (broker.session.timeout.ms is 9 s by default).
_SILENT_MOST_S: Final = 15


def observe_broker_heartbeat(seen: Observations, exchange: Exchange, client: str) -> None:  # noqa: ARG001  # as all observers have it
    """Observe whether a controller lets a broker take part, and whether the broker wants that."""
    request, answer = view_or_empty(exchange, "request"), view_or_empty(exchange, "response")
    number = request.get("broker_id")
    if not isinstance(number, int) or answer.get("error_code"):
        return
    if not answer.get("is_fenced"):
        its = seen.get_or_make("unfenced", number)
        its.keep_greatest("last", exchange.time_ns)
        its.mark_second(exchange.time_ns)
    elif not request.get("want_fence") and not request.get("want_shut_down"):
        its = seen.get_or_make("fenced-minute", number, exchange.time_ns // NS // 60)
        its.count_exchange(exchange)
        its.mark_second(exchange.time_ns)
        its.keep_first_and_last("caught-up", exchange.time_ns, int(bool(answer.get("is_caught_up"))))


def _find_fenced_brokers(case: Case) -> Iterator[Found]:
    """Brokers that are fenced for long without a break: the longest time of each, where there are several."""
    minutes: dict[int, list[Observation]] = defaultdict(list)
    for (number, _), seen in case.seen.items_of_kind("fenced-minute"):
        minutes[number].append(seen)
    for number, some in minutes.items():
        unfenced = case.seen.get_observation("unfenced", number)
        times = list(unfenced.list_marked_seconds()) if unfenced is not None else []
        fenced = sorted({second for seen in some for second in seen.list_marked_seconds()})
        begin, end = max(_list_runs(fenced, times), key=lambda run: (run[1] - run[0], -run[0]))
        whole = merge_observations(seen for seen in some if seen.first // NS <= end and seen.last // NS >= begin)
        whole.first, whole.last = max(whole.first, begin * NS), min(whole.last, (end + 1) * NS)
        if whole.last - whole.first < _FENCED_LEAST_NS:
            continue
        whole.count = sum(begin <= second <= end for second in fenced)
        whole.evidence = [each for each in whole.evidence if whole.first <= each[0] <= whole.last]
        _, (_, caught_up) = whole.edges["caught-up"]
        over = unfenced is not None and unfenced.most["last"] > whole.last
        about: dict[str, Any] = {"node_id": number, "went_on": over or None}
        about["lasts"] = describe_duration(round((whole.last - whole.first) / MS, -3))
        about["why"] = (
            "it has caught up with the metadata log" if caught_up else "it has not caught up with the metadata log"
        )
        kind = FINDINGS["broker-fenced"]
        yield Found("broker-fenced", kind.went_on if over else kind.severity, whole, about)


def _list_runs(fenced: list[int], unfenced: list[int]) -> list[tuple[int, int]]:
    """The first and the last second of each time in which a broker was fenced, and neither free nor silent between."""
    runs: list[tuple[int, int]] = []
    for second in fenced:
        before = runs[-1][1] if runs else 0
        is_broken = bisect_left(unfenced, second) > bisect_left(unfenced, before + 1)
        if runs and not is_broken and second - before <= _SILENT_MOST_S:
            runs[-1] = runs[-1][0], second
        else:
            runs.append((second, second))
    return runs


FENCED_BROKERS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_fenced_brokers,)
