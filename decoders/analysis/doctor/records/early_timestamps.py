"""Batches with timestamps of long ago in, observations out; and these in, findings about such producers out.

Retention by time goes by the timestamps of records. A program that gives seconds where milliseconds belong writes
records of January 1970, which brokers delete with the next look at the log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.diagnosis_input import MS, NS, Case, Found, merge_observations
from decoders.analysis.exchange_facts import topic_of_element, view_or_empty
from decoders.exchanges.topic_arrays import structs_at
from decoders.wire.format_and_escape_text import describe_duration, format_rfc3339

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observation, Observations
    from decoders.exchanges.exchange import Exchange

__all__ = ["EARLIEST_MS", "EARLY_TIMESTAMPS", "observe_early_timestamp"]

# The year 2000: Kafka has no records of before, and few programs copy some.
EARLIEST_MS: Final = 946_684_800_000
# Seconds are those of the capture if they differ from its time by less.
_NOW_NS: Final = 2 * 86_400 * NS
# Other timestamps are of long ago because records are: they are no fault if few of a producer are.
_LEAST: Final = 3


def observe_early_timestamp(
    seen: Observations, exchange: Exchange, client: str, place: tuple[str | None, Any], batch: tuple[int, int]
) -> None:
    """Observe a batch that was taken: its greatest timestamp in ms, its records, and where the log begins then.

    A broker that writes its own time (LogAppendTime) says so in its answer, and does not go by such a timestamp.
    """
    timestamp, records = batch
    its = None
    for element in structs_at(_read_whole_answer(exchange), "responses"):
        for part in structs_at(element, "partition_responses"):
            if (topic_of_element(exchange, element), part.get("index")) != place:
                continue
            appended, start = part.get("log_append_time_ms", -1), part.get("log_start_offset", -1)
            if part.get("error_code") or not isinstance(appended, int) or appended >= 0:
                return
            its = seen.get_or_make("early-timestamp", client, *place)
            if isinstance(start, int) and start >= 0:
                its.keep_first_and_last("start", exchange.time_ns, start)
    if its is None:
        return
    its.count_exchange(exchange)
    its.add_to_sum("records", records)
    is_seconds = abs(timestamp * NS - exchange.time_ns) < _NOW_NS
    its.add_to_sum("seconds", is_seconds)
    its.keep_first_and_last("timestamp", exchange.time_ns, timestamp)


def _read_whole_answer(exchange: Exchange) -> Any:
    """The answer with fields that findings do not read of others."""
    found = exchange.values("response")
    return found if isinstance(found, dict) else view_or_empty(exchange, "response")


def _find_early_timestamps(case: Case) -> Iterator[Found]:
    """Producers whose records have timestamps of before 2000: one finding for each client and topic."""
    found: dict[tuple[str, str | None], list[tuple[int, Observation]]] = defaultdict(list)
    for (client, topic, number), seen in case.seen.items_of_kind("early-timestamp"):
        found[client, topic].append((number, seen))
    for (client, topic), some in found.items():
        whole = merge_observations(seen for _, seen in some)
        seconds = whole.sums.get("seconds", 0)
        if not seconds and whole.count < _LEAST:
            continue
        _, (_, last) = whole.edges["timestamp"]
        about: dict[str, Any] = {"client": client, "client_id": client, "topic": topic}
        about |= {"day": format_rfc3339(last * MS)[:10], "records": f"{whole.sums['records']:,}"}
        about["unit"] = f": {last} is the time of the capture in seconds, not in milliseconds" if seconds else None
        moved = _describe_moved_starts(topic, some)
        about["moved"] = moved
        about["why"] = "likely they are" if seconds else "if they are no copies of old records, they are"
        yield Found("timestamps-early", "error" if moved else "warning", whole, about)


def _describe_moved_starts(topic: str | None, some: list[tuple[int, Observation]]) -> str | None:
    """Words for how far the begin of a log went on while such records were written; None where it stayed."""
    moved: list[tuple[int, int, int, int, int]] = []
    for number, seen in some:
        if "start" in seen.edges:
            (began_ns, before), (last_ns, after) = seen.edges["start"]
            moved.append((after - before, number, before, after, last_ns - began_ns))
    most, number, before, after, span_ns = max(moved, default=(0, 0, 0, 0, 0))
    if most <= 0:
        return None
    span = describe_duration(span_ns // NS * 1000)
    return f"; the log of {topic}-{number} began at {before:,}, and {span} later at {after:,}"


EARLY_TIMESTAMPS: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (_find_early_timestamps,)
