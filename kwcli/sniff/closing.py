"""Counts of a run in, what is said of it at its end out: the closing line, and what was lost or passed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from decoders.exchanges.exchange import count_clients
from decoders.limits import CONNECTIONS_MAX
from decoders.wire.units import format_size
from kwcli.output.units import NS, UTC_ZONE, Zone, count_of

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Summary

__all__ = [
    "LOSSY",
    "ShownCounts",
    "closing_lines",
    "exchanges",
    "is_lossy",
    "left_over",
    "left_unread",
    "limit_line",
    "missing",
    "time_span",
]

# Statuses of exchanges that say that something of them is missing or could not be read.
LOSSY: Final = ("undecoded", "orphan_response")

# Reasons of skipped bytes that are connections of something else; all others are gaps in Kafka traffic.
FOREIGN: Final = {"not_kafka": "other connection", "tls": "TLS connection"}
# Reasons of skipped bytes that are whole connections, and what these are called.
CONNECTIONS: Final = {"one_direction": "one-direction connection", **FOREIGN}

# Counts of packets and segments that may have held Kafka and gave nothing → how they are called.
PASSED_OVER: Final = {
    "dropped": "dropped packet",
    "unreadable": "unreadable packet",
    "unknown_link": "unknown-link packet",
    "fragmented": "incomplete IP packet",
    "stray": "stray segment",
}


def is_lossy(summary: Summary) -> bool:
    """Whether Kafka traffic is missing from the capture."""
    return summary.gaps > 0 or bool(missing(summary.skipped)) or bool(summary.requests_only)


def missing(runs: Mapping[str, int]) -> dict[str, int]:
    """Of runs of bytes that are no exchange, counted by reason, those that are gaps in Kafka traffic."""
    return {reason: count for reason, count in runs.items() if count and reason not in FOREIGN}


def left_unread(runs: Mapping[str, int], sizes: Mapping[str, int]) -> list[str]:
    """`2 gaps (123B)`, `1 TLS connection`: runs of bytes that are no exchange and their bytes, by reason, in words."""
    gaps = {reason: count for reason, count in runs.items() if count and reason not in CONNECTIONS}
    parts = (
        [f"{count_of(sum(gaps.values()), 'gap')} ({format_size(sum(sizes[reason] for reason in gaps))})"]
        if gaps
        else []
    )
    return parts + [count_of(runs[reason], noun) for reason, noun in CONNECTIONS.items() if runs.get(reason)]


def left_over(counts: Mapping[str, int]) -> list[str]:
    """What packets and segments were passed over, in words; nothing for a sound capture of TCP.

    `counts` are those of readers and of the reassembly, added up.
    """
    parts = [count_of(counts.get(name, 0), noun) for name, noun in PASSED_OVER.items() if counts.get(name)]
    if counts.get("after_close"):
        parts.append(f"{format_size(counts['after_close'])} behind the end of connections")
    if counts.get("surplus"):
        parts.append(f"{count_of(counts['surplus'], 'open connection')} given up at the limit of {CONNECTIONS_MAX:,}")
    return parts


class ShownCounts(NamedTuple):
    """Of the exchanges that passed the filters: how many, with errors, with expected ones alone, undecoded."""

    exchanges: int = 0
    errors: int = 0
    expected: int = 0
    undecoded: int = 0


def closing_lines(
    summary: Summary,
    shown: ShownCounts,
    *,
    packets: int,
    read: Sequence[str] = (),
    seconds: float,
    passed_over: Sequence[str] = (),
    zone: Zone = UTC_ZONE,
) -> list[str]:
    """`6 exchanges, 4 clients, 3 brokers, 1 error, 1 unanswered, 1 gap · 2026-11-21 03:04:05–03:04:06 UTC · …`.

    `read` is what was read besides packets (`12 lines`), `seconds` is how long it took, `passed_over` what left_over()
    says. The same line several times, the longest first: the terminal decides.
    """
    total = summary.exchanges
    parts = [exchanges(shown.exchanges, total)]
    if total:
        parts += [count_of(count_clients(summary.clients), "client"), count_of(len(summary.brokers), "broker")]
    if shown.errors:
        parts.append(count_of(shown.errors, "error"))
    if shown.expected:
        parts.append(count_of(shown.expected, "expected error"))
    if summary.unanswered:
        parts.append(f"{summary.unanswered:,} unanswered")
    if shown.undecoded:
        parts.append(f"{shown.undecoded:,} undecoded")
    parts += left_unread(summary.skipped, summary.skipped_bytes)
    parts += passed_over
    counts, took = ", ".join(parts), f"{seconds:.2f} s"
    all_read = ", ".join([*([count_of(packets, "packet")] if packets or not read else []), *read])
    if not summary.first_ns:
        return [" · ".join([counts, all_read, took])]
    span = time_span(summary.first_ns, summary.last_ns, zone)
    return [
        " · ".join([counts, span, all_read, took]),
        " · ".join([counts, span, took]),
        " · ".join([counts, span.partition(" ")[2] or span, took]),
        counts,
    ]


def limit_line(shown: ShownCounts, seconds: float) -> str:
    """The closing line where a limit has ended the reading: what was read ahead of it is nobody's business."""
    counts = [count_of(shown.exchanges, "exchange"), *([count_of(shown.errors, "error")] if shown.errors else [])]
    counts += [f"{shown.undecoded:,} undecoded"] if shown.undecoded else []
    return f"{', '.join(counts)} · --limit reached, the rest is not read · {seconds:.2f} s"


def exchanges(shown: int, total: int) -> str:
    """`6 exchanges`, `2 of 6 exchanges`."""
    return count_of(total, "exchange") if shown == total else f"{shown:,} of {count_of(total, 'exchange')}"


def time_span(first_ns: int, last_ns: int, zone: Zone = UTC_ZONE) -> str:
    """`2026-11-21 03:04:05–03:04:06 UTC`; the day again where it changes."""
    try:
        first, last = zone.at(first_ns // NS), zone.at(last_ns // NS)
    except (OverflowError, ValueError, OSError):  # time stamps that no calendar has, as a corrupt capture may
        return "no time"
    end = last.strftime("%H:%M:%S" if first.date() == last.date() else "%Y-%m-%d %H:%M:%S")
    return f"{first.strftime('%Y-%m-%d %H:%M:%S')}–{end} {zone.name(last_ns // NS)}"
