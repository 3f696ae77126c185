"""A row of `kw transactions` in, the cells of its table and the lines of its page out: state, partitions, timeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from decoders.wire.format_and_escape_text import describe_duration, escape_text, format_latency, format_size
from kwcli.output.short_texts import count_of, format_number_ranges, palette
from kwcli.output.table import Column, draw_table

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from kwcli.output.output_settings import Settings

__all__ = [
    "TRANSACTION_LINES",
    "draw_transaction_details",
    "format_held_back_partitions",
    "format_producer_id_and_epoch",
    "format_transaction_age",
    "format_transaction_state",
    "format_written_partitions",
    "list_commands_that_end_transactions",
]

_NOTHING: Final = "–"
_MARGIN: Final = 4
_NAME_LEAST: Final = 10
# Rows of a table that a page lists; `-o ndjson` has all.
_LISTED: Final = 200


def format_transaction_state(row: Row) -> str:
    """The state, as text: `timed out (likely)` where it is not certain."""
    return str(row["state"]) if row["sure"] else f"{row['state']} (likely)"


def format_transaction_age(row: Row) -> str:
    """How long the transaction lasted, or lasts, as text."""
    return _NOTHING if row["age_ms"] is None else format_latency(row["age_ms"])


def format_producer_id_and_epoch(row: Row) -> str:
    """The producer id and its epoch, as text: `4711/3`."""
    if row["producer_id"] is None:
        return _NOTHING
    return f"{row['producer_id']}/{_NOTHING if row['producer_epoch'] is None else row['producer_epoch']}"


def format_written_partitions(row: Row) -> str:
    """The partitions and groups of the transaction, as text: `orders[0-2] payments[0] group billing`."""
    numbers: dict[str, list[int]] = {}
    for each in row["partitions"]:
        numbers.setdefault(each["topic"], []).append(each["partition"])
    parts = [f"{escape_text(topic)}[{format_number_ranges(its)}]" for topic, its in numbers.items()]
    return " ".join([*parts, *(f"group {escape_text(group)}" for group in row["groups"])]) or _NOTHING


def format_held_back_partition(hold: Row) -> str:
    """A partition that is held back, as text: `orders-0 at 42, 13 records behind`."""
    likely = "" if hold["sure"] else " (likely)"
    behind = "" if hold["behind"] is None else f", {count_of(hold['behind'], 'offset')} behind"
    return f"{hold['topic']}-{hold['partition']} at {hold['last_stable_offset']:,}{behind}{likely}"


def format_held_back_partitions(row: Row) -> str:
    """The partitions that are held back, as text."""
    return "; ".join(map(format_held_back_partition, row["holds"]))


def list_commands_that_end_transactions(rows: Sequence[Row]) -> list[str]:
    """Lines below a table: what ends each transaction that holds readers back."""
    lines = []
    for row in rows:
        if row["command"] is not None and row["holds"]:
            name = row["transactional_id"] or f"producer {format_producer_id_and_epoch(row)}"
            first = row["holds"][0]
            held = "" if not first["held_ms"] else f" for {describe_duration(first['held_ms'])}"
            lines.append(f"{escape_text(name)} holds {escape_text(format_held_back_partition(first))}{held}")
            lines.append(f"  end it: {escape_text(row['command'])}")
    return lines


def _format_state_line(row: Row) -> str:
    if "holds" not in row:
        return ""
    return f"{format_transaction_state(row)}: {row['why']}"


def _format_client_of_transaction(row: Row) -> str:
    if "holds" not in row or row["client_id"] is None:
        return ""
    software = row["client_software"]
    named = f" ({' '.join(filter(None, software.values()))})" if software else ""
    return f"{row['client_id']} from {row['address']}{named}"


def _format_transaction_duration(row: Row) -> str:
    if "holds" not in row or row["age_ms"] is None:
        return ""
    timeout = "" if row["timeout_ms"] is None else f", timeout {describe_duration(row['timeout_ms'])}"
    return f"{describe_duration(row['age_ms'])}{timeout}"


def _format_transaction_counts(row: Row) -> str:
    if "holds" not in row:
        return ""
    counts = [(row["transactions"], "seen"), (row["commits"], "committed"), (row["aborts"], "aborted")]
    return ", ".join(f"{count:,} {word}" for count, word in counts if count or word == "seen")


# Lines of a transaction's page besides those that every page has: title, and text.
TRANSACTION_LINES: Final[tuple[tuple[str, Callable[[Row], str]], ...]] = (
    ("transaction", _format_state_line),
    ("began", lambda row: (row["began"] or "before the capture") if row.get("partitions") and "holds" in row else ""),
    ("ended", lambda row: row["ended"] or "" if "holds" in row else ""),
    ("lasted", _format_transaction_duration),
    (
        "producer id, epoch",
        lambda row: format_producer_id_and_epoch(row) if "holds" in row and row["producer_id"] is not None else "",
    ),
    ("opened by", _format_client_of_transaction),
    ("holds", lambda row: format_held_back_partitions(row) if "holds" in row else ""),
    ("end it", lambda row: row.get("command") or "" if "holds" in row else ""),
    ("transactions", _format_transaction_counts),
)


def draw_transaction_details(row: Row, settings: Settings) -> list[str]:
    """The lines below the list of a transaction's page: its partitions, and its timeline."""
    lines: list[str] = []
    if row["partitions"]:
        lines += ["  partitions", *_draw_partitions(row, settings)]
    if row["timeline"]:
        lines += ["  timeline", *_draw_timeline(row["timeline"], settings)]
    return lines


def _draw_partitions(row: Row, settings: Settings) -> list[str]:
    rows = row["partitions"][:_LISTED]
    holds = {(each["topic"], each["partition"]): each for each in row["holds"]}
    held = [holds.get((each["topic"], each["partition"])) for each in rows]
    columns = [
        Column("topic", [escape_text(each["topic"]) for each in rows], cut=_NAME_LEAST),
        Column("", [str(each["partition"]) for each in rows], right=True),
        Column("first", [_format_offset(each["first_offset"]) for each in rows], right=True),
        Column("last", [_format_offset(each["last_offset"]) for each in rows], drop=1, right=True),
        Column("records", [f"{each['records']:,}" for each in rows], drop=2, right=True),
        Column("bytes", [format_size(each["bytes"]) for each in rows], drop=3, right=True),
        Column(
            "stable", [_NOTHING if each is None else f"{each['last_stable_offset']:,}" for each in held], right=True
        ),
        Column(
            "end", [_NOTHING if each is None else _format_offset(each["high_watermark"]) for each in held], right=True
        ),
    ]
    return _draw_indented_table(columns, settings) + _format_rows_not_listed(len(row["partitions"]) - len(rows))


def _format_offset(offset: int | None) -> str:
    return _NOTHING if offset is None else f"{offset:,}"


def _draw_timeline(timeline: Sequence[Row], settings: Settings) -> list[str]:
    """The latest events; each with its time, duration, client, and what it is about."""
    rows = timeline[-_LISTED:]
    several_days = rows[0]["time"][:10] != rows[-1]["time"][:10]
    cut = slice(0, 23) if several_days else slice(11, 23)
    columns = [
        Column("time UTC", [each["time"][cut] for each in rows]),
        Column(
            "took",
            [_NOTHING if each["took_ms"] is None else format_latency(each["took_ms"]) for each in rows],
            drop=2,
            right=True,
        ),
        Column("client", [escape_text(each["client_id"]) for each in rows], drop=1, paint="client", cut=_NAME_LEAST),
        Column("", ["✗" if each["error"] else "" if each["answered"] else "?" for each in rows], paint="bad"),
        Column("request", [f"{each['api']} {each['api_version']}" for each in rows], cut=_NAME_LEAST),
        Column("", [_describe_transaction_event(each) for each in rows], cut=_NAME_LEAST),
    ]
    before = len(timeline) - len(rows)
    note = [f"{' ' * _MARGIN}and {before:,} before: -o ndjson has them"] if before else []
    return note + _draw_indented_table(columns, settings)


def _describe_transaction_event(event: Row) -> str:
    """What an event is about: `orders[0] 3 records at 42`, `commits`, `→ 4711/3, timeout 60.0s`; its error first."""
    places = " ".join(
        f"{escape_text(topic)}[{format_number_ranges(its)}]" for topic, its in event["partitions"].items()
    )
    parts = [event["error"], places]
    if event["group"] is not None:
        parts.insert(1, f"group {escape_text(event['group'])}")
    if event["what"] in ("ended", "marker"):
        parts.insert(1, "commit" if event["committed"] else "abort")
    if event["what"] == "produced":
        parts.append(count_of(event["records"], "record"))
        parts.append("" if event["first_offset"] is None else f"at {event['first_offset']:,}")
    if event["what"] == "initialized":
        parts.append("" if event["producer_id"] is None else f"→ {format_producer_id_and_epoch(event)}")
        parts.append("" if event["timeout_ms"] is None else f"timeout {describe_duration(event['timeout_ms'])}")
    elif event["producer_id"] is not None:
        parts.append(f"producer {format_producer_id_and_epoch(event)}")
    if not event["answered"]:
        parts.append("no answer in the capture")
    return " ".join(filter(None, parts))


def _draw_indented_table(columns: list[Column], settings: Settings) -> list[str]:
    width = None if settings.width is None else max(settings.width - _MARGIN, 20)
    return [f"{' ' * _MARGIN}{line}" for line in draw_table(columns, width, palette(settings.color), dense=True)]


def _format_rows_not_listed(more: int) -> list[str]:
    return [f"{' ' * _MARGIN}and {more:,} more: -o ndjson has all"] if more > 0 else []
