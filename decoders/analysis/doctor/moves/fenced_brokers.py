"""Heartbeats of brokers in, observations out; and these in, findings about brokers that a controller keeps fenced out.

A broker that is fenced leads nothing, and no client is told of it, until it has caught up with the metadata log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.diagnosis_input import MS, NS, Case, Found
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.exchange_facts import view_or_empty
from decoders.wire.format_and_escape_text import describe_duration

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observation, Observations
    from decoders.exchanges.exchange import Exchange

__all__ = ["FENCED_BROKERS", "observe_broker_heartbeat"]

# A broker that starts reads the metadata log in less.
_FENCED_LEAST_NS: Final = 20 * NS


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
        its = seen.get_or_make("fenced", number)
        its.count_exchange(exchange)
        its.keep_first_and_last("caught-up", exchange.time_ns, int(bool(answer.get("is_caught_up"))))


def _find_fenced_brokers(case: Case) -> Iterator[Found]:
    for (number,), seen in case.seen.items_of_kind("fenced"):
        if seen.last - seen.first < _FENCED_LEAST_NS:
            continue
        unfenced = case.seen.get_observation("unfenced", number)
        last = unfenced.most["last"] if unfenced is not None else 0
        if seen.first < last < seen.last or _is_marked_between(unfenced, seen.first // NS, seen.last // NS):
            continue  # it comes and goes
        _, (_, caught_up) = seen.edges["caught-up"]
        over = last > seen.last
        about: dict[str, Any] = {"node_id": number, "went_on": over or None}
        about["lasts"] = describe_duration(round((seen.last - seen.first) / MS, -3))
        about["why"] = (
            "it has caught up with the metadata log" if caught_up else "it has not caught up with the metadata log"
        )
        kind = FINDINGS["broker-fenced"]
        yield Found("broker-fenced", kind.went_on if over else kind.severity, seen, about)


def _is_marked_between(unfenced: Observation | None, before: int, after: int) -> bool:
    return unfenced is not None and any(before < second < after for second in unfenced.list_marked_seconds())


FENCED_BROKERS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_fenced_brokers,)
