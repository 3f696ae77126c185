"""Exchanges in, statistics out when they end: the renderer of `kw stats`, and its text for programs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.dimension_and_metric_table import METRICS
from decoders.analysis.slowest_exchanges import Slowest
from decoders.analysis.statistics import Statistics
from decoders.exchanges.exchange import Exchange
from decoders.messages.exchange_json import SCHEMA
from decoders.named_tuple import NamedTuple
from decoders.schema.body_json_form import encode_text_for_cell, row_json
from decoders.wire.format_and_escape_text import escape_text
from kwcli.output.csv import format_counts, format_csv_lines
from kwcli.output.report_partial_input import (
    add_partial_to_rows,
    describe_full_index,
    format_partial_note,
    list_partial_sentences,
)
from kwcli.output.short_texts import find_zone, palette
from kwcli.output.table import Column, draw_table, format_markdown_table
from kwcli.output.write_values_in_any_format import open_value_writer
from kwcli.reading.sinks.filter_sort_and_limit_rows import ReadingView
from kwcli.reading.sinks.fold_renderer import FoldRenderer
from kwcli.stats import StatsOptions
from kwcli.stats.statistics_options import sort_rows

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.analysis.record_traces.record_ages import RecordAges
    from decoders.exchanges.exchange import Settled
    from decoders.schema.api_declaration import Side
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Write
    from kwcli.reading.run_coverage import PartialRun

# Whether an exchange is of the time that is asked for.
Within = Callable[["Exchange"], bool]
Report = Callable[[list[str]], None]
# Columns of a CSV when nothing was counted.
_NOTHING: Final = ("count", "rate", "errors")


def list_records(result: StatsResult) -> list[Row]:
    """The result as JSON objects: the kind `statistics`, then the kind `slowest`."""
    found = [{"kind": "statistics", "schema": SCHEMA, **row} for row in result.rows]
    found += [{"kind": "slowest", "schema": SCHEMA, **row} for row in result.slowest]
    return [row_json(row) for row in add_partial_to_rows(found, result.partial, as_text=False)]


def render_records(result: StatsResult, settings: Settings) -> str:
    """The result as records, one after the other: JSON, YAML, or the fields that were asked for."""
    parts: list[bytes] = []
    writer = open_value_writer(settings, parts.append)
    for row in list_records(result):
        writer.add(row)
    writer.close()
    return b"".join(parts).decode()


def format_csv(result: StatsResult, settings: Settings) -> str:
    """The result as CSV: a line for each group, a header line first."""
    head = list(result.rows[-1]) if result.rows else [*result.asked.by, *_NOTHING]  # the last may be of others
    head += ["partial"] * (result.partial is not None)
    rows = add_partial_to_rows(result.rows, result.partial, as_text=True)
    return format_csv_lines(
        [head, *([_format_csv_value(row.get(name)) for name in head] for row in rows)], safe=settings.csv_safe
    )


def format_table(result: StatsResult, settings: Settings) -> str:
    """The result as a table of all columns; the last columns are left out where the terminal has no room."""
    shown = _draw_table_lines(result.rows, set(result.asked.by), settings)
    flat = [{**row, "packets": _format_packets(row["packets"])} for row in result.slowest]
    if flat:
        shown += ["", *_draw_table_lines(flat, {"time", "client", "broker", "api", "client_id"}, settings)]
    return "".join(f"{line}\n" for line in shown)


def format_markdown(result: StatsResult, _settings: Settings) -> str:
    """The result as a table of Markdown, and a second one of the slowest exchanges."""
    shown = _make_markdown_lines(result.rows, set(result.asked.by))
    flat = [{**row, "packets": _format_packets(row["packets"])} for row in result.slowest]
    if flat:
        shown += ["", *_make_markdown_lines(flat, {"time", "client", "broker", "api", "client_id"})]
    return "".join(f"{line}\n" for line in shown)


def _make_markdown_lines(rows: list[Row], left: set[str]) -> list[str]:
    names = list(rows[-1]) if rows else ["count"]  # the last may be of others
    return format_markdown_table(
        names, [name not in left for name in names], ([_format_value(row.get(name)) for name in names] for row in rows)
    )


def _draw_table_lines(rows: list[Row], left: set[str], settings: Settings) -> list[str]:
    columns = [
        Column(name, [_format_value(row.get(name)) for row in rows], drop=order, right=name not in left)
        for order, name in enumerate(rows[-1] if rows else ())  # the last may be of others
    ]
    return [*draw_table(columns, settings.width, palette(settings.color), dense=True)]


def _format_packets(packets: dict[str, list[int] | None]) -> str:
    request, response = (
        "–" if span is None else f"{span[0]}-{span[1]}" for span in (packets["request"], packets["response"])
    )
    return f"{request} → {response}"


def _format_csv_value(value: Any) -> Any:
    if isinstance(value, str):
        return encode_text_for_cell(value)
    return format_counts(value) if isinstance(value, dict) else value


def _format_value(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    return escape_text(format_counts(value) or "–" if isinstance(value, dict) else str(value))


# Format → module under kwcli.stats, and the function in it.
FORMATS: Final = {
    "text": ("statistics_as_text", "format_text"),
    "table": ("render_statistics", "format_table"),
    "ndjson": ("render_statistics", "render_records"),
    "json": ("render_statistics", "render_records"),
    "yaml": ("render_statistics", "render_records"),
    "fields": ("render_statistics", "render_records"),
    "csv": ("render_statistics", "format_csv"),
    "md": ("render_statistics", "format_markdown"),
}


class StatsResult(NamedTuple):
    """The result of counting: rows in their order, the time slices of each, the slowest exchanges.

    `span`: the first and the last slice of all, and the width of one in ns. `more`: groups that `--top` has left out.
    `partial`: what was read of the inputs, where that is not all.
    """

    asked: StatsOptions
    rows: list[Row]
    slices: list[dict[int, int]]
    span: tuple[int, int, int]
    slowest: list[Row]
    more: int = 0
    partial: PartialRun | None = None


class Stats(FoldRenderer):
    """Counts exchanges, and writes the statistics at the end."""

    def __init__(self, asked: StatsOptions, settings: Settings, write: Write, within: Within, report: Report) -> None:
        self._asked = asked
        self._report = report
        self._within = within
        self._settings = settings
        self._write = write
        self._ages = _make_record_ages(asked, settings)
        self._statistics = make_statistics(asked, settings)
        self._slowest = Slowest(asked.slowest or 0)
        super().__init__(
            [self._ages or self._statistics, *([self._slowest] if asked.slowest else [])],
            "give fewer dimensions or a longer --bucket",
        )

    def make_empty_copy(self) -> Stats:
        """A renderer like this one that has seen nothing."""
        return Stats(self._asked, self._settings, self._write, self._within, self._report)

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Extend the time that rates refer to by these exchanges: rates are those of the whole capture.

        Ages learn from them who was in which group.
        """
        times = [row.time_ns for row in rows if row.kind == "exchange"]
        if times:
            (self._ages or self._statistics).extend_time(min(times), max(times))
        if self._ages is not None:
            for row in rows:
                if isinstance(row, Exchange) and self._within(row):
                    self._ages.learn(row)

    def _move_time_to_zone(self, row: Row) -> Row:
        """The row with its time in the zone that was asked for."""
        zone = find_zone(self._settings.zone)
        return (
            row
            if zone.utc or not isinstance(row.get("time"), str)
            else {**row, "time": zone.format_exact_time(row["time"])}
        )

    def close(self) -> None:
        """Write the statistics."""
        statistics = self._statistics if self._ages is None else self._ages.make_statistics()
        counted_rows = statistics.rows_of_groups()
        found = [item for item in counted_rows if "others" not in item[0]]
        found = sort_rows(found, self._asked.sort or "name", lambda item: dict(item[0]))
        more = max(len(found) - (self._asked.top or len(found)), 0)
        found = found[: len(found) - more] + [item for item in counted_rows if "others" in item[0]]
        module, name = FORMATS[self._settings.format]
        show = getattr(import_module(f"kwcli.stats.{module}"), name)
        result = StatsResult(
            self._asked,
            [self._move_time_to_zone(row) for row, _ in found],
            [group.slices for _, group in found],
            statistics.slice_span(),
            [self._move_time_to_zone(row) for row in self._slowest.rows()],
            more,
            self.coverage.partial,
        )
        said = list_partial_sentences(result.partial)
        if self._ages is not None:
            said += describe_full_index(self._ages.index.left_out)
        shown = show(result, self._settings) + format_partial_note(said, self._settings)
        self._write(shown.encode("utf-8", "backslashreplace"))
        self._report(said)


def _has_values_over_time(asked: StatsOptions, settings: Settings) -> bool:
    """Whether values over time are shown, and therefore kept."""
    return settings.format == "text" and "time" not in asked.by


def make_statistics(asked: StatsOptions, settings: Settings) -> Statistics:
    """The fold for these options, where they count exchanges."""
    over_time = _has_values_over_time(asked, settings)
    return Statistics(asked.by, asked.metric, bucket_ns=asked.bucket_ns, over_time=over_time, values=settings.values)


def _make_record_ages(asked: StatsOptions, settings: Settings) -> RecordAges | None:
    """The fold for these options where they count records; it is loaded only then."""
    if not METRICS[asked.metric].of_records:
        return None
    from decoders.analysis.record_traces.record_ages import RecordAges

    over_time = _has_values_over_time(asked, settings)
    return RecordAges(asked.by, asked.metric, bucket_ns=asked.bucket_ns, over_time=over_time)


def make_stats_view(asked: StatsOptions, settings: Settings, within: Within, report: Report) -> ReadingView:
    """The ReadingView by which `ReadingRun` counts exchanges instead of showing them.

    `within`: whether an exchange is of the time that is asked for; `report` gets what the statistics do not cover.
    """
    fold, slowest = _make_record_ages(asked, settings) or make_statistics(asked, settings), Slowest(asked.slowest or 0)

    def needs(api_key: int, side: Side) -> frozenset[str]:
        return fold.needs(api_key, side) | (slowest.needs(api_key, side) if asked.slowest else frozenset())

    needs_file_names, libraries = "file" in asked.by, "library" in asked.by
    return ReadingView(
        needs,
        lambda write: Stats(asked, settings, write, within, report),
        needs_file_names=needs_file_names,
        libraries=libraries,
    )
