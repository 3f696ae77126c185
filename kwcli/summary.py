"""The counts of an engine and of what was shown in, the closing line out: how many of what, over which time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from decoders.limits import CONNECTIONS_MAX
from kwcli.render.units import NS, amount, counted

if TYPE_CHECKING:
    from decoders.exchanges.summary import Summary

# Statuses of exchanges that say that something of them is missing or could not be read.
LOSSY: Final = ("undecoded", "orphan_response")

# Reasons of skipped bytes that are connections of something else; all others are gaps in Kafka traffic.
FOREIGN: Final = {"not_kafka": "other connection", "tls": "TLS connection"}

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
    return summary.gaps > 0 or bool(missing(summary.skipped))


def missing(runs: Mapping[str, int]) -> dict[str, int]:
    """Of runs of bytes that are no exchange, counted by reason, those that are gaps in Kafka traffic."""
    return {reason: count for reason, count in runs.items() if count and reason not in FOREIGN}


def left_unread(runs: Mapping[str, int], sizes: Mapping[str, int]) -> list[str]:
    """`2 gaps (123B)`, `1 TLS connection`: runs of bytes that are no exchange and their bytes, by reason, in words."""
    gaps = missing(runs)
    parts = [f"{counted(sum(gaps.values()), 'gap')} ({amount(sum(sizes[reason] for reason in gaps))})"] if gaps else []
    return parts + [counted(runs[reason], noun) for reason, noun in FOREIGN.items() if runs.get(reason)]


def left_over(counts: Mapping[str, int]) -> list[str]:
    """What packets and segments were passed over, in words; nothing for a sound capture of TCP.

    `counts` are those of readers and of the reassembly, added up.
    """
    parts = [counted(counts.get(name, 0), noun) for name, noun in PASSED_OVER.items() if counts.get(name)]
    if counts.get("after_close"):
        parts.append(f"{amount(counts['after_close'])} behind the end of connections")
    if counts.get("surplus"):
        parts.append(f"{counted(counts['surplus'], 'open connection')} given up at the limit of {CONNECTIONS_MAX:,}")
    return parts


def closing_lines(
    summary: Summary,
    *,
    shown: int,
    errors: int,
    undecoded: int,
    packets: int,
    seconds: float,
    passed_over: Sequence[str] = (),
) -> list[str]:
    """`6 exchanges, 4 clients, 3 brokers, 1 error, 1 unanswered, 1 gap · 2026-11-21 03:04:05–03:04:06 · …`.

    `shown`, `errors` and `undecoded` are of the exchanges that passed the filters; `seconds` is how long it took,
    `passed_over` what left_over() says. The same line several times, the longest first: the terminal decides.
    """
    total = summary.exchanges
    parts = [exchanges(shown, total)]
    if total:
        parts += [counted(len(summary.client_ids), "client"), counted(len(summary.brokers), "broker")]
    if errors:
        parts.append(counted(errors, "error"))
    if summary.unanswered:
        parts.append(f"{summary.unanswered:,} unanswered")
    if undecoded:
        parts.append(f"{undecoded:,} undecoded")
    parts += left_unread(summary.skipped, summary.skipped_bytes)
    parts += passed_over
    counts, took = ", ".join(parts), f"{seconds:.2f} s"
    if not summary.first_ns:
        return [" · ".join([counts, counted(packets, "packet"), took])]
    span = time_span(summary.first_ns, summary.last_ns)
    return [
        " · ".join([counts, span, counted(packets, "packet"), took]),
        " · ".join([counts, span, took]),
        " · ".join([counts, span.partition(" ")[2] or span, took]),
        counts,
    ]


def exchanges(shown: int, total: int) -> str:
    """`6 exchanges`, `2 of 6 exchanges`."""
    return counted(total, "exchange") if shown == total else f"{shown:,} of {counted(total, 'exchange')}"


def time_span(first_ns: int, last_ns: int) -> str:
    """`2026-11-21 03:04:05–03:04:06`; the day again where it changes."""
    try:
        first, last = time.gmtime(first_ns // NS), time.gmtime(last_ns // NS)
    except (OverflowError, ValueError, OSError):  # time stamps that no calendar has, as a corrupt capture may
        return "no time"
    same_day = first[:3] == last[:3]
    end = time.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S", last)
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', first)}–{end}"
