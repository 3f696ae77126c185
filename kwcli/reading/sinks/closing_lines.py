"""Counts of a run in; the closing line, and what was lost or passed over, out.

Each fault of the capture itself is one sentence, with its remedy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from decoders.capture.link_types import LINK_TYPE_REMEDY
from decoders.capture.read_capture import CUT_AT, UNKNOWN
from decoders.exchanges.exchange import ClientIdentity, count_clients
from decoders.frames.framing import BEGINS_LATE
from decoders.limits import CLIENTS_COUNTED_MAX, CONNECTIONS_MAX, TLS_SECRETS_MAX
from decoders.messages.connection_end_rows import ENDS_OF_CONNECTIONS
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.exchange_remarks import STRICT_REMARKS
from decoders.protocols import REFUSED_TLS
from decoders.wire.format_and_escape_text import format_size
from kwcli.output.short_texts import NS, UTC_ZONE, TimeZone, count_of

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled, Summary
    from decoders.tls.key_log import KeyLog

__all__ = [
    "DROPPED_KEYS_LINE",
    "KEYS_DROPPED",
    "LOSSY",
    "CaptureCounts",
    "ShownCounts",
    "closing_lines",
    "count_gaps_by_reason",
    "describe_passed_over",
    "describe_skipped_runs",
    "format_closing_line_at_limit",
    "format_exchange_count",
    "format_time_span",
    "has_cut_packets",
    "is_lossy",
    "is_row_lossy",
    "list_capture_fault_lines",
    "make_capture_counts",
    "note_dropped_keys",
]


# Statuses of exchanges of which a part is missing or could not be read.
LOSSY: Final = ("undecoded", "orphan_response")

# Reasons for skipping a connection that is not Kafka; all other reasons are gaps in Kafka traffic.
FOREIGN: Final = {"not_kafka": "other connection", "tls": "TLS connection"}
# Reasons of runs of bytes that were captured, and are no frame of Kafka.
_FRAMELESS: Final = ("garbage", "oversized")
# How sizes by what the bytes are begin (`make_unframed_sizes`), and how many of these the closing line names.
_NAMED: Final = "garbage: "
_NAMES_MAX: Final = 2
# The reasons of runs that nothing is missing of: what stands before Kafka on a connection, and ends of connections.
_WHOLE: Final = ("prefix", *ENDS_OF_CONNECTIONS)
# The reason of connections that the capture has twice, under other addresses.
_COPY: Final = "copy"
# Reasons for skipping whole connections, and what these are called.
CONNECTIONS: Final = {"one_direction": "one-direction connection", _COPY: "translated copy", **FOREIGN}

# Counts of packets and segments that may have held Kafka but gave nothing → what these are called.
PASSED_OVER: Final = {
    "dropped": "dropped packet",
    "unreadable": "unreadable packet",
    "unknown_link": "unknown-link packet",
    "fragmented": "incomplete IP packet",
    "stray": "stray segment",
}


def is_lossy(summary: Summary) -> bool:
    """Whether Kafka traffic is missing from the capture."""
    return summary.gaps > 0 or bool(count_gaps_by_reason(summary.skipped)) or bool(summary.requests_only)


def is_row_lossy(row: Settled) -> bool:
    """Whether an exchange lacks a part, could not be decoded, or has a remark that counts under `--strict`."""
    return row.kind == "exchange" and (
        row.status in LOSSY or any(remark["id"] in STRICT_REMARKS for remark in row.remarks)
    )


def count_gaps_by_reason(runs: Mapping[str, int]) -> dict[str, int]:
    """The skipped runs of bytes, counted by reason, that are gaps in Kafka traffic."""
    return {reason: count for reason, count in runs.items() if count and reason not in (*FOREIGN, _COPY, *_WHOLE)}


def describe_skipped_runs(runs: Mapping[str, int], sizes: Mapping[str, int]) -> list[str]:
    """`2 gaps (123B)`, `1 TLS connection`: the skipped runs of bytes and their sizes, by reason, in words."""
    gaps = {reason: count for reason, count in runs.items() if count and reason not in (*CONNECTIONS, *_WHOLE)}
    frameless = {reason: gaps.pop(reason) for reason in _FRAMELESS if reason in gaps}
    parts = (
        [f"{count_of(sum(gaps.values()), 'gap')} ({format_size(sum(sizes[reason] for reason in gaps))})"]
        if gaps
        else []
    )
    if frameless:
        what = [name.removeprefix(_NAMED) for name in sizes if name.startswith(_NAMED)]
        shown = f" ({' and '.join(what)})" if 0 < len(what) <= _NAMES_MAX else ""
        parts.append(f"{format_size(sum(sizes[reason] for reason in frameless))} that are no frame{shown}")
    return parts + [count_of(runs[reason], noun) for reason, noun in CONNECTIONS.items() if runs.get(reason)]


def describe_passed_over(counts: Mapping[str, int]) -> list[str]:
    """The packets and segments that were passed over, in words; empty for a sound capture of TCP.

    `counts` are the counts of readers and of the reassembly, added up.
    """
    parts = [count_of(counts.get(name, 0), noun) for name, noun in PASSED_OVER.items() if counts.get(name)]
    if counts.get("after_close"):
        parts.append(f"{format_size(counts['after_close'])} after the end of connections")
    if counts.get("surplus"):
        parts.append(f"{count_of(counts['surplus'], 'open connection')} given up at the limit of {CONNECTIONS_MAX:,}")
    return parts


class ShownCounts(NamedTuple):
    """The exchanges that passed the filters: how many, with errors, with only expected ones, undecoded; the remarks."""

    exchanges: int = 0
    errors: int = 0
    expected: int = 0
    undecoded: int = 0
    remarks: int = 0


def format_client_count(found: Collection[ClientIdentity]) -> str:
    """How many clients there are: `4 clients`, `more than 200,000 clients` where they are not counted apart."""
    if len(found) > CLIENTS_COUNTED_MAX:
        return f"more than {CLIENTS_COUNTED_MAX:,} clients"
    return count_of(count_clients(found), "client")


def closing_lines(
    summary: Summary,
    shown: ShownCounts,
    *,
    packets: int,
    read: Sequence[str] = (),
    seconds: float,
    passed_over: Sequence[str] = (),
    zone: TimeZone = UTC_ZONE,
) -> list[str]:
    """`6 exchanges, 4 clients, 3 brokers, 1 error, 1 unanswered, 1 gap · 2026-11-21 03:04:05–03:04:06 UTC · …`.

    `read` is what was read besides packets (`12 lines`), `seconds` is how long it took, `passed_over` is the result of
    left_over(). There are several versions of the line, the longest first: the terminal decides.
    """
    total = summary.exchanges
    parts = [format_exchange_count(shown.exchanges, total)]
    if total:
        parts += [format_client_count(summary.clients), count_of(len(summary.brokers), "broker")]
    if shown.errors:
        parts.append(count_of(shown.errors, "error"))
    if shown.expected:
        parts.append(count_of(shown.expected, "expected error"))
    if summary.unanswered:
        parts.append(f"{summary.unanswered:,} unanswered")
    if shown.undecoded:
        parts.append(f"{shown.undecoded:,} undecoded")
    if shown.remarks:
        parts.append(count_of(shown.remarks, "remark"))
    parts += describe_skipped_runs(summary.skipped, summary.skipped_bytes)
    parts += passed_over
    counts, took = ", ".join(parts), f"{seconds:.2f} s"
    all_read = ", ".join([*([count_of(packets, "packet")] if packets or not read else []), *read])
    if not summary.first_ns:
        return [" · ".join([counts, all_read, took])]
    span = format_time_span(summary.first_ns, summary.last_ns, zone)
    return [
        " · ".join([counts, span, all_read, took]),
        " · ".join([counts, span, took]),
        " · ".join([counts, span.partition(" ")[2] or span, took]),
        counts,
    ]


def format_closing_line_at_limit(shown: ShownCounts, seconds: float) -> str:
    """The closing line where --limit has ended the reading; what was read ahead of the limit is left out."""
    counts = [count_of(shown.exchanges, "exchange"), *([count_of(shown.errors, "error")] if shown.errors else [])]
    counts += [f"{shown.undecoded:,} undecoded"] if shown.undecoded else []
    counts += [count_of(shown.remarks, "remark")] if shown.remarks else []
    return f"{', '.join(counts)} · --limit reached, the rest is not read · {seconds:.2f} s"


def format_exchange_count(shown: int, total: int) -> str:
    """`6 exchanges`, `2 of 6 exchanges`."""
    return count_of(total, "exchange") if shown == total else f"{shown:,} of {count_of(total, 'exchange')}"


def format_time_span(first_ns: int, last_ns: int, zone: TimeZone = UTC_ZONE) -> str:
    """`2026-11-21 03:04:05–03:04:06 UTC`; the day again where it changes."""
    try:
        first, last = zone.local_time(first_ns // NS), zone.local_time(last_ns // NS)
    except (OverflowError, ValueError, OSError):  # time stamps beyond all calendars, as a corrupt capture may have
        return "no time"
    end = last.strftime("%H:%M:%S" if first.date() == last.date() else "%Y-%m-%d %H:%M:%S")
    return f"{first.strftime('%Y-%m-%d %H:%M:%S')}–{end} {zone.name(last_ns // NS)}"


# Ports and protocols that a sentence lists.
NAMED_MAX: Final = 3
# From this share of the packets on, duplicates are no accident: for each packet with payload there is an ACK.
TWICE_SHARE: Final = 0.05
_BOTH: Final = (
    "capture both directions: tcpdump 'tcp port {port}', not '{half} port {port}'; on a mirror port, both rx and tx"
)
# The count that says that sessions of a key log had to go, and what is told then.
KEYS_DROPPED: Final = "keys_dropped"
DROPPED_KEYS_LINE: Final = (
    f"the key logs have more than {TLS_SECRETS_MAX:,} sessions: the newest were kept, the oldest left out (kw help tls)"
)
_BUFFER: Final = "tcpdump -B 65536 (a larger buffer) or a narrower filter keeps them all"
# Kinds of packets that are not TCP, as the readers count them.
_NO_TCP: Final = {
    "udp": "UDP",
    "icmp": "ICMP",
    "arp": "ARP",
    "unknown_link": "unknown-link",
    "unreadable": "unreadable",
    "other": "other",
}


class CaptureCounts(NamedTuple):
    """Counts of the inputs of a run.

    `packets`: the counts of readers and reassembly (`dropped` with those of the kernel); `runs` and `run_bytes`:
    skipped bytes by reason. `answers_only` and `requests_only`: port of the broker → Kafka connections of which the
    capture has only that direction; `foreign`: protocol (or "") and port → connections that are not Kafka; `has_keys`:
    there were keys of TLS connections.
    """

    exchanges: int
    connections: int
    packets: Mapping[str, int]
    runs: Mapping[str, int]
    run_bytes: Mapping[str, int]
    answers_only: Mapping[int, int]
    requests_only: Mapping[int, int]
    foreign: Mapping[tuple[str, int], int]
    ports: frozenset[int] | None = None
    has_keys: bool = False

    @property
    def one_direction(self) -> int:
        """Kafka connections of which the capture has only one direction."""
        return sum(self.answers_only.values()) + sum(self.requests_only.values())


def make_capture_counts(
    summary: Summary, packets: Mapping[str, int], ports: frozenset[int] | None = None, *, has_keys: bool
) -> CaptureCounts:
    """The counts of a capture, from an engine's summary."""
    return CaptureCounts(
        summary.exchanges,
        summary.connections,
        packets,
        summary.skipped,
        summary.skipped_bytes,
        summary.answers_only,
        summary.requests_only,
        summary.foreign,
        ports,
        has_keys,
    )


def note_dropped_keys(counts: Counter[str], keys: KeyLog) -> None:
    """Note in the counts of a capture that there were more keys than are kept, for `list_capture_fault_lines`."""
    if keys.counts["dropped"]:
        counts[KEYS_DROPPED] += 1


def has_cut_packets(packets: Mapping[str, int]) -> bool:
    """Whether packets were cut at a snap length."""
    return any(count > 0 for name, count in packets.items() if name.startswith(CUT_AT))


def list_capture_fault_lines(counts: CaptureCounts, *, whole: bool) -> list[str]:
    """The faults of a capture, the one that explains the most first; none for a sound capture of Kafka.

    `whole`: the inputs were read to their end, so that what was not found is not there.
    """
    if not counts.packets.get("packets"):
        return ["the capture has no packets: check its filter and its interface"] if whole else []
    lines = [*_format_cut_packets_lines(counts)]
    if counts.one_direction:
        lines.insert(0, _format_one_direction_line(counts))
    if counts.packets.get("dropped"):
        dropped = count_of(counts.packets["dropped"], "packet")
        lines.append(f"{dropped} got lost while capturing: {_BUFFER}")
    elif not lines and counts.runs.get("lost"):
        runs, size = counts.runs["lost"], format_size(counts.run_bytes["lost"])
        lines.append(f"segments are missing from the capture ({count_of(runs, 'gap')}, {size}): {_BUFFER}")
    if counts.runs.get("midstream") and not counts.one_direction:
        lines.append(_format_midstream_line(counts))
    lines += _format_captured_twice_lines(counts)
    if copies := counts.runs.get(_COPY):
        lines.append(_format_copies_line(copies))
    if back := counts.packets.get("set_back"):
        lines.append(
            f"the times of packets go back by more than a second ({count_of(back, 'time')}): a clock was set, and"
            " latencies across that moment are wrong"
        )
    if counts.packets.get(KEYS_DROPPED):
        lines.append(DROPPED_KEYS_LINE)
    if not counts.connections and whole and not has_cut_packets(counts.packets):
        lines += _format_no_kafka_lines(counts)
    return lines


def _format_one_direction_line(counts: CaptureCounts) -> str:
    answers, requests = sum(counts.answers_only.values()), sum(counts.requests_only.values())
    (port, _), *_ = (Counter(counts.answers_only) + Counter(counts.requests_only)).most_common(1)
    if answers == counts.connections:
        text = "the capture has only answers of brokers, which cannot be decoded without their requests"
    elif requests == counts.connections:
        text = "the capture has only requests and no answers of brokers: latencies and errors are unknown"
    else:
        sides = [(answers, "with only answers"), (requests, "with only requests")]
        its = " and ".join(f"{count:,} {what}" for count, what in sides if count)
        text = f"of {count_of(counts.connections, 'Kafka connection')} the capture has {its}"
    return f"{text}; {_BOTH.format(port=port, half='src' if answers >= requests else 'dst')}"


def _format_cut_packets_lines(counts: CaptureCounts) -> Iterable[str]:
    cut = {int(name.removeprefix(CUT_AT)): count for name, count in counts.packets.items() if name.startswith(CUT_AT)}
    cut = {size: count for size, count in cut.items() if count > 0}
    if cut:
        verb = "is" if sum(cut.values()) == 1 else "are"
        if counts.connections:
            said = "headers, sizes and latencies are right, but topics, records, error codes and the like are missing"
        elif counts.packets.get("tcp"):
            said = "too short to tell whether they are Kafka (--port PORT says so)"
        else:
            said = "they lack even the TCP headers"
        yield (
            f"{count_of(sum(cut.values()), 'packet')} {verb} cut at {max(cut):,} bytes (snaplen): {said};"
            " tcpdump -s 0 keeps all"
        )


def _format_captured_twice_lines(counts: CaptureCounts) -> Iterable[str]:
    twice, tcp = counts.packets.get("twice", 0), counts.packets.get("tcp", 0)
    if twice > TWICE_SHARE * tcp:
        yield (
            f"{count_of(twice, 'packet')} with payload are in the capture more than once within a millisecond and count"
            " once: it is of several interfaces on one path (-i any, a bridge and its veth); capture on one of them"
        )


def _format_copies_line(copies: int) -> str:
    verb, it = ("is", "it counts") if copies == 1 else ("are", "they count")
    return (
        f"{count_of(copies, 'connection')} {verb} in the capture a second time with other addresses: NAT or a bridge,"
        f" seen on both sides; {it} once (-v shows the copies)"
    )


def _format_midstream_line(counts: CaptureCounts) -> str:
    runs, size = counts.runs["midstream"], counts.run_bytes["midstream"]
    where = "of a connection" if runs == 1 else "of connections"
    passed = f" ({format_size(size)} before the first whole frames)" if size else ""
    return f"{BEGINS_LATE} {where}{passed}: earlier requests are unknown; start the capture before the clients connect"


def _format_no_kafka_lines(counts: CaptureCounts) -> Iterable[str]:
    """What the capture has instead of Kafka."""
    tls = counts.runs.get("tls", 0)
    others = counts.runs.get("not_kafka", 0)
    if counts.ports is not None and others:
        named = ", ".join(str(port) for port in sorted(counts.ports))
        there = Counter[int]()
        for (_, port), count in counts.foreign.items():
            there[port] += count
        yield f"no connection to port {named}; there are connections to {_format_highest_counts(there)}"
    elif tls and not others:
        which = "the only connection is" if tls == 1 else f"all {tls:,} connections are"
        what = "give its key log with --keylog FILE, or have the clients go through kw proxy (kw help tls)"
        if counts.has_keys:
            what = "the key log has no key that fits (kw sniff -v says why for each connection)"
        refused = sum(count for (name, _), count in counts.foreign.items() if name == REFUSED_TLS)
        if refused == tls:
            them = "it" if tls == 1 else "each"
            yield f"{which} TLS, and the other side closed {them} without an answer: is the listener one without TLS?"
            return
        yield f"{which} TLS and none was decrypted: {what}"
    elif tls or others:
        names = Counter[str]()
        for (name, port), count in counts.foreign.items():
            names[f"{name or 'of something else'} (port {port})"] += count
        ports = [port for (name, port), _ in Counter(dict(counts.foreign)).most_common() if not name]
        hint = f"; if port {ports[0]} is Kafka's, say so: --port {ports[0]}" if ports else ""
        yield f"the capture has no Kafka; connections: {_format_highest_counts(names)}{hint}"
    elif not counts.packets.get("tcp"):
        kinds = [f"{counts.packets[name]:,} {noun}" for name, noun in _NO_TCP.items() if counts.packets.get(name)]
        unknown = [
            f"{count:,} {name}; kw does not read that, tshark may"
            for name, count in counts.packets.items()
            if name.startswith(UNKNOWN)
        ]
        packets = f" (packets: {', '.join([*kinds, *unknown])})" if kinds else ""
        remedy = LINK_TYPE_REMEDY if counts.packets.get("unknown_link") else "check its filter and its interface"
        yield f"the capture has no TCP{packets}, but Kafka uses TCP: {remedy}"
    elif not counts.exchanges:
        yield "the capture has no Kafka: none of its TCP connections carries data"


def _format_highest_counts(found: Counter[int] | Counter[str]) -> str:
    """`9092 (40), 9093 (10) and 2 others`."""
    most = found.most_common(NAMED_MAX)
    text = ", ".join(f"{name} ({count:,})" if isinstance(name, int) else f"{count:,} {name}" for name, count in most)
    rest = len(found) - len(most)
    return f"{text} and {count_of(rest, 'other')}" if rest else text
