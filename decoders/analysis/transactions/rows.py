"""A timeline and what it holds back in, the row of a transactional id out; of a producer without an id likewise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from decoders.analysis.groups.partition_offsets_and_lag import NOTHING
from decoders.analysis.transactions.abort_commands import (
    make_abort_command,
    make_describe_producers_command,
    make_marker_command,
)
from decoders.analysis.transactions.timeline import Transaction, TransactionTimeline
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import format_rfc3339

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.analysis.transactions.held_partitions import HeldPartition

__all__ = ["TransactionView", "make_producer_row", "make_transaction_row"]

_MS: Final = 1_000_000
# States of DescribeTransactions in which a coordinator has nothing to abort.
_OVER: Final = frozenset({"Empty", "CompleteCommit", "CompleteAbort", "Dead"})


class TransactionView(NamedTuple):
    """What a row is made of; `software`: name and version by client and address; `now_ns`: the capture's end."""

    name: str | None
    timeline: TransactionTimeline
    held: Sequence[HeldPartition]
    coordinator: str | None
    software: Mapping[tuple[str, str], tuple[str, str]]
    now_ns: int


def make_transaction_row(view: TransactionView, most: int) -> Row:
    """The row of a transactional id, without its numbers; `most`: how many events its timeline has."""
    timeline, latest = view.timeline, view.timeline.latest
    state, why, sure = _state_reason_and_certainty(timeline)
    client, address = (latest.client, latest.address) if latest is not None else (None, None)
    if client is None and timeline.session is not None and (latest is None or latest.began_ns is not None):
        client, address = timeline.session
    software = view.software.get((client or "", address or ""))
    producer_id, epoch = (latest.producer_id, latest.epoch) if latest is not None else timeline.producer
    timeout = latest.timeout_ms if latest is not None and latest.timeout_ms >= 0 else timeline.timeout_ms
    ended = latest.ended_ns if latest is not None else None
    return {
        "transactional_id": view.name,
        "producer_id": _none_if_unknown(producer_id),
        "producer_epoch": _none_if_unknown(epoch),
        "state": state,
        "sure": sure,
        "why": why,
        "began": _format_time(latest.began_ns) if latest is not None else None,
        "ended": _format_time(ended),
        "age_ms": _age_ms(latest, view.now_ns),
        "timeout_ms": _none_if_unknown(timeout),
        "implicit": latest.implicit if latest is not None else None,
        "client_id": client,
        "address": address,
        "client_software": None if software is None else {"name": software[0], "version": software[1]},
        "coordinator": view.coordinator,
        "partitions": _make_partition_rows(latest),
        "groups": sorted(latest.groups) if latest is not None else [],
        "holds": _make_hold_rows(view.held),
        "command": _make_abort_commands(view),
        "transactions": len(timeline.transactions),
        "timeline": timeline.make_event_rows(most),
    }


def make_producer_row(producer: tuple[int, int], held: Sequence[HeldPartition], now_ns: int) -> Row:
    """The row of a producer that holds readers back and whose transactional id is not known; (-1, -1): none known."""
    timeline = TransactionTimeline([], (), None)
    row = make_transaction_row(TransactionView(None, timeline, held, None, {}, now_ns), 0)
    known = producer[0] != NOTHING
    first = min((each.first_ns for each in held if each.first_ns), default=0)
    who = "a transaction whose producer" if not known else f"a transaction of producer {producer[0]}, whose id"
    return row | {
        "producer_id": _none_if_unknown(producer[0]),
        "producer_epoch": _none_if_unknown(producer[1]),
        "state": "ongoing",
        "why": f"readers of committed records wait at the first record of {who} is not in the capture",
        "age_ms": (max(now_ns, first) - first) / _MS if first else None,
        "command": _make_marker_or_describe_commands(held),
        "first": _format_time(first or None),
        "last": _format_time(max((each.last_ns for each in held), default=0) or None),
    }


def _state_reason_and_certainty(timeline: TransactionTimeline) -> tuple[str, str, bool]:
    """State, why, and whether that is certain."""
    latest = timeline.latest
    if latest is not None:
        return latest.state, latest.why, latest.sure
    if timeline.fenced is not None:
        return "fenced", f"{timeline.fenced.client} was shut out by a newer producer or by the coordinator", True
    if timeline.described is not None:
        return "idle", f"its coordinator tells {timeline.described.state}", True
    return "idle", "no transaction in the capture", True


def _age_ms(latest: Transaction | None, now_ns: int) -> float | None:
    """How long a transaction has lasted, up to the end of the capture if it has not ended; None: not known."""
    if latest is None or latest.began_ns is None:
        return None
    if latest.ended_ns is not None:
        return (latest.ended_ns - latest.began_ns) / _MS
    return (max(now_ns, latest.began_ns) - latest.began_ns) / _MS if latest.is_open else None


def _make_partition_rows(latest: Transaction | None) -> list[Row]:
    return [
        {
            "topic": topic,
            "partition": number,
            "first_offset": _none_if_unknown(its.first_offset),
            "last_offset": _none_if_unknown(its.last_offset),
            "batches": its.batches,
            "records": its.records,
            "bytes": its.bytes,
        }
        for (topic, number), its in sorted(latest.partitions.items() if latest is not None else ())
    ]


def _make_hold_rows(held: Sequence[HeldPartition]) -> list[Row]:
    return [
        {
            "topic": each.place[0],
            "partition": each.place[1],
            "last_stable_offset": each.stable,
            "high_watermark": _none_if_unknown(each.newest),
            "behind": each.newest - each.stable if each.newest >= 0 else None,
            "since": _format_time(each.first_ns),
            "held_ms": (each.last_ns - each.first_ns) / _MS,
            "leader": each.leader,
            "sure": each.sure,
        }
        for each in held
    ]


def _make_abort_commands(view: TransactionView) -> str | None:
    """The command that aborts what is open; None where nothing is."""
    timeline, latest = view.timeline, view.timeline.latest
    if latest is None or not latest.is_open:
        return None
    told = timeline.described
    forgotten = told is not None and told.state in _OVER and told.time_ns >= (latest.began_ns or 0)
    ended = latest.state == "prepared" and latest.asked_end is not None
    if view.held and (forgotten or ended or not latest.registered):
        return _make_marker_or_describe_commands(view.held)  # the coordinator has nothing, or nothing left, to abort
    brokers = sorted({each.leader for each in view.held})
    broker = view.coordinator or (brokers[0] if brokers else None)
    if view.name is None or broker is None:
        return None
    return make_abort_command(broker, view.name)


def _make_marker_or_describe_commands(held: Sequence[HeldPartition]) -> str | None:
    """The commands for the partitions that are held back: markers, or, of an unknown producer, who it is."""
    if not held:
        return None
    if held[0].producer_id == NOTHING:
        return make_describe_producers_command(held[0].leader, *held[0].place)
    by_leader: dict[str, list[HeldPartition]] = {}
    for each in held:
        by_leader.setdefault(each.leader, []).append(each)
    commands = []
    for leader, its in sorted(by_leader.items()):
        epoch = max(each.coordinator_epoch for each in its)
        producer = (its[0].producer_id, its[0].epoch)
        places = [each.place for each in its]
        commands.append(make_marker_command(leader, places, producer, epoch if epoch >= 0 else None))
    return " && ".join(commands)


def _format_time(time_ns: int | None) -> str | None:
    return None if time_ns is None else format_rfc3339(time_ns)


def _none_if_unknown(value: int) -> int | None:
    return None if value < 0 else value
