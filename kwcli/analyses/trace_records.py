"""`kw trace`: captures and a question about records in, the lives of these records out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from decoders.analysis.record_traces.asked_records import (
    AskedOffsets,
    AskedRecords,
    RecordCondition,
    looks_like_asked_records,
    parse_asked_records,
)
from decoders.analysis.record_traces.downstream_traces import DownstreamTraces
from decoders.analysis.record_traces.record_faults import MisroutedRecords, RecordFaults
from decoders.analysis.record_traces.record_traces import RecordTraces
from decoders.errors import FilterError
from decoders.exchanges.exchange import Exchange
from decoders.filters import parse
from decoders.wire.format_and_escape_text import escape_text, format_latency, format_size
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.analyses.csv_and_table_columns import format_record_reader, format_source_record
from kwcli.analyses.render_answer import AnswerRenderer, Text
from kwcli.analyses.run_analysis import run_analysis
from kwcli.output.report_partial_input import describe_full_index
from kwcli.output.short_texts import count_of, find_zone, palette
from kwcli.output.table import Column, draw_table
from kwcli.run_environment import Exit
from kwcli.stats.statistics_as_text import wrap_note

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Settled
    from kwcli.capture_options import CaptureOptions
    from kwcli.options import FilterOptions, OutputOptions
    from kwcli.output.output_settings import Settings
    from kwcli.run_environment import Environment
    from kwcli.schema_options import SchemaOptions

__all__ = ["RecordFaultRenderer", "TraceRenderer", "run_record_faults", "trace_records"]

# As many records are shown in full; of more there is a table, but with -v.
_IN_FULL: Final = 5
_NAME_LEAST: Final = 10
_EVENT_LEAST: Final = 20
_NOTHING: Final = "–"
_USAGE: Final = (
    "the last word names records: 'orders/2@0', 'orders/2@0-20', key=…, header.NAME=…, value.FIELD=… or pid=…"
)


def trace_records(
    env: Environment,
    capture: CaptureOptions,
    filters: FilterOptions,
    schemas: SchemaOptions,
    shown: OutputOptions,
    *,
    downstream: bool,
) -> Exit:
    """Run `kw trace`; returns the exit code. Raises Failure or UsageError."""
    from kwcli.net.connection_options import add_value_reader_to_settings

    capture, asked = _split_inputs_and_asked_records(capture)
    capture.check_usage()
    settings = shown.make_settings(env)
    settings = add_value_reader_to_settings(env, settings, schemas, wanted=isinstance(asked, RecordCondition))
    if isinstance(asked, RecordCondition):
        asked.set_value_reader(settings.values)
    within = parse(capture.time_filter_text(env, settings.zone)).matches
    return run_analysis(env, settings, capture, filters, TraceRenderer(asked, settings, within, downstream=downstream))


def _split_inputs_and_asked_records(capture: CaptureOptions) -> tuple[CaptureOptions, AskedRecords]:
    """The inputs, and what the last word asks for. Raises UsageError where it asks for no record."""
    *files, last = capture.files or ("",)
    if not looks_like_asked_records(last):
        what = "" if not last or os.path.lexists(last) else f"{last} names no record: "
        raise click.UsageError(what + _USAGE, click.get_current_context())
    try:
        asked = parse_asked_records(last)
    except FilterError as problem:
        raise click.UsageError(str(problem), click.get_current_context()) from None
    return capture._replace(files=tuple(files)), asked


def run_record_faults(
    env: Environment,
    capture: CaptureOptions,
    kind: str,
    filters: FilterOptions,
    schemas: SchemaOptions,
    shown: OutputOptions,
    *,
    values: bool,
) -> Exit:
    """Run `kw trace --duplicates`, `--losses` or `--misrouted`; returns the exit code. Raises Failure or UsageError."""
    from kwcli.net.connection_options import add_value_reader_to_settings

    capture.check_usage()
    settings = shown.make_settings(env)
    settings = add_value_reader_to_settings(env, settings, schemas, wanted=values)
    within = parse(capture.time_filter_text(env, settings.zone)).matches
    return run_analysis(env, settings, capture, filters, RecordFaultRenderer(kind, settings, within))


class _RecordAnswerRenderer(AnswerRenderer):
    """An answer about records; `within`: whether an exchange is of the time that is asked for."""

    fold: RecordTraces | RecordFaults

    def __init__(
        self,
        kind: str,
        rows: Callable[[], list[Row]],
        text: Text,
        settings: Settings,
        within: Callable[[Exchange], bool],
    ) -> None:
        super().__init__(self.fold, kind, rows, text, settings)
        self._within = within
        self.set_file_names = self.fold.set_file_names

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Learn who was in which group also from exchanges that the filters leave out."""
        for row in rows:
            if isinstance(row, Exchange) and self._within(row):
                self.fold.learn(row)

    def coverage_sentences(self) -> list[str]:
        """What the answer says of the part of the inputs that it was made of, and of what the index had no room for."""
        return [*super().coverage_sentences(), *describe_full_index(self.fold.left_out)]


class RecordFaultRenderer(_RecordAnswerRenderer):
    """Records that were written twice or lost, or batches that were misrouted."""

    fold: RecordFaults

    def __init__(self, kind: str, settings: Settings, within: Callable[[Exchange], bool]) -> None:
        reader = settings.values if kind == "misrouted" else None
        self.fold = RecordFaults(kind) if reader is None else MisroutedRecords(reader)
        super().__init__(kind, self.fold.rows, partial(_format_record_faults, kind), settings, within)

    def make_empty_copy(self) -> RecordFaultRenderer:
        """A renderer like this one that has seen nothing."""
        return RecordFaultRenderer(self.fold.kind, self._settings, self._within)


_NONE_FOUND: Final = {
    "duplicate": "no record was written twice, as far as the capture shows",
    "loss": "no group passed an acknowledged record without reading it, as far as the capture shows",
    "misrouted": "no batch was misrouted, as far as the capture shows",
}


def _format_record_faults(kind: str, rows: Sequence[Row], settings: Settings) -> str:
    if not rows:
        return f"{_NONE_FOUND[kind]}\n"
    zone = find_zone(settings.zone)

    def format_time_of_fault(row: Row) -> str:
        time = next((row[key] for key in ("copy_time", "passed", "time") if row.get(key)), None)
        return _NOTHING if time is None else (zone.format_exact_time(time) if settings.zone else time)[11:23]

    columns = [
        Column("time" if settings.zone else "time UTC", list(map(format_time_of_fault, rows)), drop=3),
        Column(
            "records", [_format_partition_and_offsets(row) for row in rows], paint="client", cut=_NAME_LEAST, left=True
        ),
        Column(
            "client", [escape_text(_find_client_of_fault(row) or _NOTHING) for row in rows], cut=_NAME_LEAST, drop=2
        ),
        Column(_TITLES[kind], [escape_text(_CELLS[kind](row)) for row in rows], cut=_NAME_LEAST, paint="bad"),
        Column("why", [escape_text(row["why"]) for row in rows], wrap=True),
    ]
    return "".join(f"{line}\n" for line in draw_table(columns, settings.width, palette(settings.color), dense=True))


_TITLES: Final = {"duplicate": "again at", "loss": "passed by", "misrouted": "belongs to"}
_CELLS: Final[dict[str, Callable[[Row], str]]] = {
    "duplicate": lambda row: format_offsets(row["copy_offset"], row["records"]),
    "loss": lambda row: row["group"],
    "misrouted": lambda row: "/".join(
        str(row[name]) for name in ("rightful_topic", "rightful_partition") if row[name] is not None
    ),
}


def _find_client_of_fault(row: Row) -> str | None:
    found: str | None = row["passed_by"] if "passed_by" in row else row["client_id"]
    return found


def _format_partition_and_offsets(row: Row) -> str:
    offset = "@?" if row["offset"] is None else f"@{format_offsets(row['offset'], row['records'])}"
    return escape_text(f"{row['topic']}/{row['partition']}{offset}")


def format_offsets(first: int, records: int) -> str:
    """Offsets as text: `7`, `7-9`."""
    return f"{first}" if records == 1 else f"{first}-{first + records - 1}"


class TraceRenderer(_RecordAnswerRenderer):
    """The lives of the records that are asked for."""

    fold: RecordTraces

    def __init__(
        self,
        asked: AskedRecords,
        settings: Settings,
        within: Callable[[Exchange], bool],
        *,
        downstream: bool,
        in_order: bool = True,
    ) -> None:
        """`in_order`: the exchanges of captures come in the order of time, and not those of a worker."""
        self.fold = DownstreamTraces(asked, in_order=in_order) if downstream else RecordTraces(asked)
        self._downstream = downstream
        self._asked = asked
        super().__init__("trace", self._find_traced_rows_or_fail, _format_text, settings, within)

    def make_empty_copy(self) -> TraceRenderer:
        """A renderer like this one that has seen nothing."""
        return TraceRenderer(self._asked, self._settings, self._within, downstream=self._downstream, in_order=False)

    def _find_traced_rows_or_fail(self) -> list[Row]:
        rows = self.fold.rows()
        if not rows:
            what = f"nothing of {self._describe_asked_records()} in what was read{self._suggest_offsets_or_topic()}"
            raise self.make_not_found_failure(what, *describe_full_index(self.fold.left_out))
        return rows

    def _describe_asked_records(self) -> str:
        asked = self._asked
        if isinstance(asked, AskedOffsets):
            last = "" if asked.last == asked.first else f"-{asked.last}"
            return escape_text(f"{asked.topic}/{asked.partition}@{asked.first}{last}")
        if isinstance(asked, RecordCondition):
            return f"a record with {escape_text(asked.text)}"
        return f"producer id {asked.producer_id}" + ("" if asked.sequence is None else f", sequence {asked.sequence}")

    def _suggest_offsets_or_topic(self) -> str:
        """What may have been meant: the offsets of the partition that were seen, or a topic of a like name."""
        asked, index = self._asked, self.fold.index
        if not isinstance(asked, AskedOffsets):
            return ""
        seen = {
            (index.topic_names.get(topic, topic), number): end for (topic, number), end in index.found.seen_to.items()
        }
        end = seen.get((asked.topic, asked.partition))
        if end is not None and end > 0:
            return f": the records of {escape_text(asked.topic)}/{asked.partition} seen there end at offset {end - 1:,}"
        numbers = sorted(number for topic, number in seen if topic == asked.topic and number >= 0)
        if numbers:
            return (
                f": records of {escape_text(asked.topic)} were seen in partitions {', '.join(map(str, numbers[:10]))}"
            )
        return did_you_mean(asked.topic, sorted({topic for topic, _ in seen}))


def _format_text(rows: Sequence[Row], settings: Settings) -> str:
    if len(rows) > _IN_FULL and not settings.verbose:
        example = f"kw trace … '{_format_partition_and_offset(rows[0])}'"
        note = f"{count_of(len(rows), 'record')}: -v shows each in full, and so does a question for one: {example}"
        paint = palette(settings.color)
        lines = [f"{paint.dim}{line}{paint.off}" for line in wrap_note(note, settings.width)]
        return "".join(f"{line}\n" for line in [*_draw_table_of_records(rows, settings), "", *lines])
    blocks = ("".join(f"{line}\n" for line in _draw_life_of_record(row, settings)) for row in rows)
    return "\n".join(blocks)


def _draw_table_of_records(rows: Sequence[Row], settings: Settings) -> Iterator[str]:
    """The lines of a table with a line for each record."""
    exact = find_zone(settings.zone).format_exact_time if settings.zone else None

    def format_time(time: str | None) -> str:
        return _NOTHING if time is None else (time if exact is None else exact(time))[11:23]

    def list_ages_of_reads(key: str) -> list[str]:
        found = [next((each[key] for each in row["read_by"] if each[key] is not None), None) for row in rows]
        return [_NOTHING if age is None else format_latency(age) for age in found]

    columns = [
        Column("record", list(map(_format_partition_and_offset, rows)), paint="client", cut=_NAME_LEAST, left=True),
        Column("produced" if settings.zone else "produced UTC", [format_time(row["produced"]) for row in rows], drop=4),
        Column("by", [escape_text(row["produced_by"] or _NOTHING) for row in rows], drop=3, cut=_NAME_LEAST),
        *_draw_source_record_column(rows),
        Column("read after", list_ages_of_reads("age_ms"), right=True, drop=2),
        Column("committed after", list_ages_of_reads("commit_age_ms"), right=True, drop=5),
        Column(
            "read by",
            [", ".join(map(format_record_reader, row["read_by"])) or _NOTHING for row in rows],
            cut=_NAME_LEAST,
        ),
        Column(
            "key",
            [_NOTHING if row["key"] is None else escape_text(row["key"]) for row in rows],
            drop=6,
            cut=_NAME_LEAST,
        ),
    ]
    yield from draw_table(columns, settings.width, palette(settings.color), dense=True)


def _draw_source_record_column(rows: Sequence[Row]) -> Iterator[Column]:
    """A column of what records are downstream of, where some are."""
    sources = [row["downstream_of"] for row in rows]
    if any(sources):
        cells = [_NOTHING if each is None else escape_text(format_source_record(each)) for each in sources]
        yield Column("downstream of", cells, cut=_NAME_LEAST)


def _format_partition_and_offset(row: Row) -> str:
    offset = "?" if row["offset"] is None else row["offset"]
    return escape_text(f"{row['topic']}/{row['partition']}@{offset}")


def _draw_life_of_record(row: Row, settings: Settings) -> Iterator[str]:
    """The lines of one record: what it is, what happened to it, and what the capture does not show."""
    paint = palette(settings.color)
    zone = find_zone(settings.zone)
    exact = zone.format_exact_time if settings.zone else None
    yield from wrap_note(f"{_format_partition_and_offset(row)}  {_describe_record(row)}".rstrip(), settings.width)
    if row["downstream_of"] is not None:
        yield from wrap_note(_describe_source_record(row["downstream_of"], exact), settings.width)
    events = row["events"]
    times = [each["time"] if exact is None else exact(each["time"]) for each in events]
    days = len({time[:10] for time in times}) > 1
    columns = [
        Column(
            "time" if settings.zone else "time UTC",
            [time[:23].replace("T", " ") if days else time[11:23] for time in times],
        ),
        Column("age", [_format_age(each["age_ms"]) for each in events], right=True, drop=3),
        Column(
            "client",
            [escape_text(each["client_id"] or each["evidence"][0]["client"]) for each in events],
            cut=_NAME_LEAST,
            paint="client",
        ),
        Column(
            "node",
            [_NOTHING if each["node_id"] is None else str(each["node_id"]) for each in events],
            right=True,
            drop=2,
        ),
        Column("event", [escape_text(_TEXTS[each["event"]](each)) for each in events], wrap=True, cut=_EVENT_LEAST),
    ]
    yield from draw_table(columns, settings.width, paint, dense=True)
    if row["transaction"] is not None and row["transaction"]["outcome"] is None:
        name = escape_text(str(row["transaction"]["id"]))
        yield f"{paint.dim}in transaction {name}, whose end is not in the capture{paint.off}"
    if row["not_in_capture"]:
        note = "not in the capture: " + "; ".join(map(escape_text, row["not_in_capture"]))
        yield from (f"{paint.dim}{line}{paint.off}" for line in wrap_note(note, settings.width))


def _describe_source_record(source: Row, exact: Callable[[str], str] | None) -> str:
    """From which record this one follows, and by what that is known."""
    read = (source["read"] if exact is None else exact(source["read"]))[11:23]
    names = [each if each == "traceparent" else f"header {escape_text(each)}" for each in source["headers"]]
    record = _format_partition_and_offset(source)
    return f"downstream of {record}, which its writer had read at {read}: by {', '.join(names)}"


def _describe_record(row: Row) -> str:
    parts = []
    if row["key"] is not None:
        parts.append(f"key {escape_text(row['key'])}")
    if row["value_size"] is not None:
        parts.append(f"value of {format_size(row['value_size'])}")
    elif row["timestamp"] is not None:
        parts.append("no value (a tombstone)")
    if row["timestamp"] is not None:
        parts.append(f"created {row['timestamp'][11:23]}")
    return ", ".join(
        [*parts, *(f"{escape_text(each['key'])}={escape_text(str(each['value']))}" for each in row["headers"][:3])]
    )


def _format_age(age_ms: float | None) -> str:
    return "" if not age_ms else format_latency(age_ms)


def _describe_write(event: Row) -> str:
    parts = [f"produced in a batch of {count_of(event['records'], 'record')}"]
    if event["offset"] is not None:
        parts.append(f"acknowledged after {format_latency(event['took_ms'] or 0)}")
    elif event["error"] is not None:
        parts.append(f"refused: {event['error']}")
    if event["why"] is not None:
        parts.append(event["why"])
    return ", ".join(parts)


def _describe_read(event: Row) -> str:
    group = "" if event["group"] is None else f" by {event['group']}"
    generation = "" if event["generation"] is None else f", generation {event['generation']}"
    follower = " from a follower" if event["from_follower"] else ""
    why = "" if event["why"] is None else f": {event['why']}"
    verb = "dropped" if event["event"] == "dropped" else "read again" if event["again"] else "read"
    return f"{verb}{group}{generation}{follower}{why}"


def _describe_commit(event: Row) -> str:
    generation = "" if event["generation"] is None else f", generation {event['generation']}"
    transaction = "" if event["transaction"] is None else f", in transaction {event['transaction']}"
    return f"committed by {event['group']}{generation}: offset {event['offset']:,}{transaction}"


def _describe_acquisition(event: Row) -> str:
    why = "" if event["why"] is None else f": {event['why']}"
    return f"acquired by share group {event['group']}, delivery {event['deliveries']}{why}"


def _describe_acknowledgement(event: Row) -> str:
    error = "" if event["error"] is None else f", which was refused: {event['error']}"
    return f"{event['event']} for share group {event['group']}{error}"


_TEXTS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "produced": _describe_write,
    "replicated": lambda event: f"replicated to node {event['node_of_follower']}",
    **dict.fromkeys(("read", "dropped"), _describe_read),
    "committed": _describe_commit,
    "acquired": _describe_acquisition,
    **dict.fromkeys(("accepted", "released", "rejected", "renewed"), _describe_acknowledgement),
    "expired": lambda event: f"expired or deleted: the log begins at offset {event['offset']:,}",
    "absent": lambda event: f"not in the log any more: {event['why']}",
    "transaction_committed": lambda event: f"its transaction {event['transaction']} was committed",
    "transaction_aborted": lambda event: f"its transaction {event['transaction']} was aborted",
}
