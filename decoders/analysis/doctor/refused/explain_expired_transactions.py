"""Abort markers in, observations out; and these in, findings about transactions that outlived their time-out out.

A coordinator looks every few seconds for transactions that are open for longer than the transaction.timeout.ms of their
InitProducerId. It writes abort markers to their partitions and raises the producer's epoch, so that the producer's next
request is refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LISTED,
    MS,
    NS,
    Case,
    Found,
    escape_for_sentence,
    format_clock,
    has_stopped_recurring,
    merge_observations,
    name_of_api_key,
)
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.doctor.observations import Observation
from decoders.analysis.doctor.refused.errors_with_codes import ErrorKey, find_errors_with_codes
from decoders.analysis.exchange_facts import view_or_empty
from decoders.exchanges.topic_arrays import structs_at
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.wire.format_and_escape_text import describe_duration

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observations
    from decoders.exchanges.exchange import Exchange

__all__ = ["explain_expired_transactions", "observe_abort_markers"]

# INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, PRODUCER_FENCED.
_ABORTED: Final = frozenset({47, 48, 90})


def observe_abort_markers(seen: Observations, exchange: Exchange, client: str) -> None:  # noqa: ARG001  # as all observers have it
    """Observe the producers whose transactions a coordinator has aborted in partitions."""
    for marker in structs_at(view_or_empty(exchange, "request"), "markers"):
        producer = marker.get("producer_id")
        if isinstance(producer, int) and not marker.get("transaction_result"):
            seen.get_or_make("abort-marker", producer).count_name("times", str(exchange.time_ns))


def explain_expired_transactions(case: Case) -> Iterator[tuple[Found, set[ErrorKey]]]:
    """Transactions that were open for longer than their time-out when a request of theirs was refused."""
    by_name: dict[str, dict[ErrorKey, Observation]] = defaultdict(dict)
    for key, seen in find_errors_with_codes(case, _ABORTED):
        names = [key[4]] if key[3] == "transactional_id" else list(seen.names.get("transactional", ()))
        if len(names) == 1 and names[0] is not None:
            by_name[names[0]][key] = seen
    for name, some in by_name.items():
        whole = merge_observations(some.values())
        limit = case.seen.get_observation("transaction-timeout", name)
        timeout_ms = limit.edges["timeout"][1][1] if limit is not None and "timeout" in limit.edges else 0
        begun_ns = _find_begin(case, name, whole.first)
        open_ns = whole.first - begun_ns if begun_ns else 0
        aborted_ns = _find_abort(case, name, begun_ns, whole.first)
        if aborted_ns and _is_aborted_by_coordinator(case, name, (aborted_ns, whole.first), timeout_ms * MS):
            open_ns = max(open_ns, timeout_ms * MS)
        if timeout_ms <= 0 or open_ns < timeout_ms * MS:
            continue
        if case.holes and not aborted_ns:
            continue  # its end may be among what was lost
        clients = sorted({key[2] for key in some})
        first = min(some.items(), key=lambda item: (item[1].first, item[0][1]))[0]
        about: dict[str, Any] = {"name": name, "transactional_id": name, "clients": clients[:LISTED]}
        about["of_clients"] = f" ({escape_for_sentence(clients)})" if clients != [name] else None
        about |= {
            "error": error_name(first[0]),
            "api": name_of_api_key(first[1]),
            "open": describe_duration(open_ns // NS * 1000),
        }
        about["timeout"] = describe_duration(timeout_ms)
        about["aborted"] = f"its coordinator aborted it at {format_clock(aborted_ns)}, and " if aborted_ns else None
        kind = FINDINGS["transaction-expired"]
        committed = max(_list_seconds(case, name, "transaction-committed"), default=0)
        is_over = committed * NS > whole.last and has_stopped_recurring(case, whole)
        yield Found("transaction-expired", kind.went_on if is_over else kind.severity, whole, about), {*some}


def _list_seconds(case: Case, name: str, what: str) -> Iterable[int]:
    """The seconds in which something was observed of a transactional id."""
    seen = case.seen.get_observation(what, name)
    return seen.list_marked_seconds() if seen is not None else ()


def _find_begin(case: Case, name: str, until_ns: int) -> int:
    """The end of the second in which a transaction began that is open at a time, in ns; 0 where that is not known."""

    def seconds(what: str) -> set[int]:
        return {second for second in _list_seconds(case, name, what) if second * NS <= until_ns}

    # What is refused for this reason is aborted at once: an abort in the same second comes after it.
    ended = {second for second in seconds("transaction-ended") if second < until_ns // NS}
    before = max(ended | seconds("transaction-committed") | seconds("transaction-taken"), default=0)
    begins = [second for second in seconds("transaction-begun") if second >= before]
    later = [second for second in begins if second > before]
    if not begins:
        return 0
    return (min(later or begins) + 1) * NS  # it may have begun at the end of that second


def _is_aborted_by_coordinator(case: Case, name: str, times: tuple[int, int], timeout_ns: int) -> bool:
    """Whether a transaction was aborted after its producer had ended or begun none for as long as its time-out.

    `times`: of the abort, and of the refusal, after which the producer aborts as well, in ns.
    """
    aborted, refused = (time_ns // NS for time_ns in times)
    last = 0
    for what in ("transaction-ended", "transaction-committed", "transaction-taken"):
        for second in _list_seconds(case, name, what):
            if second <= aborted and not (what == "transaction-ended" and second == refused):
                last = max(last, second)
    return last > 0 and aborted - last >= timeout_ns // NS


def _find_abort(case: Case, name: str, begun_ns: int, until_ns: int) -> int:
    """When a coordinator wrote abort markers of a transaction between its begin and a refusal, in ns; 0: not seen."""
    known = case.seen.get_observation("transaction-timeout", name)
    markers = [
        case.seen.get_observation("abort-marker", int(number))
        for number in (known.names.get("producers", ()) if known is not None else ())
    ]
    times = (int(each) for seen in markers if seen is not None for each in seen.names["times"])
    return max((each for each in times if begun_ns <= each <= until_ns), default=0)
