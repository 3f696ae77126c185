"""A report in, text for people out: a summary, marks over time, then one table a section."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.time_slices import Join, add_amounts
from decoders.wire.format_and_escape_text import format_latency, format_size
from kwcli.analyses.format_findings import format_findings
from kwcli.output.short_texts import Palette, cell_width, count_of, palette
from kwcli.output.table import Column, draw_table
from kwcli.report.build_report import (
    Report,
    find_bucket_bounds,
    format_report_time,
    list_report_sentences,
    read_values_by_bucket,
)
from kwcli.report.report_sections import (
    NOTHING,
    SECTIONS,
    ReportSection,
    format_percent,
    format_section_title,
    select_first_rows,
)
from kwcli.stats.statistics_as_text import SPARK_LEAST, SPARK_MOST, draw_sparkline, format_rate, wrap_note

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from kwcli.output.output_settings import Settings

# Rows of a table without -v.
ROWS: Final = 10
_LABEL: Final = 10


def format_text(report: Report, settings: Settings) -> str:
    """The whole report as text; of long tables the first rows, with -v all rows."""
    paint = palette(settings.color)
    out = [*_format_header_lines(report, settings, paint)]
    notes: dict[str, None] = {}
    for section in SECTIONS:
        rows = section.find_rows(report)
        if rows is None:
            continue
        title = format_section_title(section, report)
        if not rows:
            out += ["", f"{paint.api}{title}{paint.off}", f"{paint.dim}  {section.none}{paint.off}"]
            continue
        if section.found:
            out += ["", f"{paint.api}{title}{paint.off}", *format_findings(rows, settings).splitlines()]
            continue
        shown = rows if settings.verbose else select_first_rows(rows, ROWS)
        more = f"  {paint.dim}{len(shown)} of {len(rows):,} (-v shows all){paint.off}" if len(rows) > len(shown) else ""
        out += ["", f"{paint.api}{title}{paint.off}{more}"]
        width = None if settings.verbose else settings.width
        out += [*draw_table(_build_columns(section, shown, report), width, paint, dense=True)]
        notes |= dict.fromkeys(section.select_notes_on(shown))
    out += [
        line
        for note in [*notes, *_format_notes_of_rows_left_out(report)]
        for line in ("", *_format_note_lines(note, settings.width, paint))
    ]
    return "".join(f"{line}\n" for line in out)


def _format_header_lines(report: Report, settings: Settings, paint: Palette) -> Iterator[str]:
    summary = report["summary"]
    tables = report["tables"] or {}
    for sentence in list_report_sentences(report):
        yield from (f"{paint.bad}{line}{paint.off}" for line in wrap_note(sentence, settings.width))
    if summary["count"] is not None:
        yield from _join_parts_on_lines_that_fit(_format_summary_facts(report, summary), settings.width)
        points = report["over_time"]
        if len(points) > 1:
            yield ""
            yield from _format_lines_over_time(report, points, settings, paint)
    absent = [name for name, rows in tables.items() if rows is None]
    if absent:
        yield ""
        yield from _format_note_lines(f"not there: the tables {', '.join(absent)}", settings.width, paint)


def _join_parts_on_lines_that_fit(parts: Iterable[str], width: int | None) -> list[str]:
    """The parts in lines that fit, dots between those on one line."""
    out: list[str] = []
    for part in parts:
        if out and (width is None or cell_width(out[-1]) + cell_width(part) + 3 <= width):
            out[-1] += f" · {part}"
        else:
            out.append(part)
    return out


def _format_summary_facts(report: Report, summary: Row) -> Iterator[str]:
    yield count_of(summary["count"], "exchange")
    if not summary["count"]:
        return
    if report["first"]:
        yield f"{format_report_time(report['first'])} to {format_report_time(report['last'])}"
    yield format_rate(summary["rate"])
    for name in ("client", "broker", "topic"):
        if summary[f"{name}s"] is not None:
            yield count_of(summary[f"{name}s"], name)
    if summary["connections"] is not None:
        others = f" ({summary['not_kafka']:,} not Kafka)" if summary["not_kafka"] else ""
        yield count_of(summary["connections"], "connection") + others
    yield f"{format_size(summary['request_bytes'] or 0)} sent, {format_size(summary['response_bytes'] or 0)} got"
    if summary["p99"] is not None:
        yield ", ".join(f"{name} {format_latency(summary[name])}" for name in ("p50", "p99", "max"))
    for name, noun in (("errors", "with errors"), ("unanswered", "unanswered"), ("undecoded", "undecoded")):
        if summary[name]:
            yield f"{summary[name]:,} {noun} ({format_percent(summary[name] / summary['count'])})"
    for name, noun in (("waited", "waited by design"), ("throttled", "throttled")):
        if summary[name]:
            yield f"{summary[name]:,} {noun}"


def _format_lines_over_time(report: Report, points: list[Row], settings: Settings, paint: Palette) -> Iterator[str]:
    """A line of marks for each of the quantities that are kept over time, and its greatest value."""
    first, last = find_bucket_bounds(report)
    room = SPARK_MOST if settings.width is None else max(settings.width - 2 * _LABEL, SPARK_LEAST)
    width = min(room, 2 * SPARK_MOST)

    def line(name: str, key: str, join: Join, say: Any, scale: int = 1) -> str:
        found = read_values_by_bucket(points, key, report, scale)
        marks = draw_sparkline(found, first, last, width, join)
        most = say(max(found.values(), default=0) / scale)
        return f"{paint.dim}{name:<{_LABEL}}{paint.off}{paint.name}{marks}{paint.off}  {most}"

    yield line("p99", "p99", max, format_latency, 10**6)
    yield line("exchanges", "count", add_amounts, lambda value: f"{round(value):,}")
    if any(row["errors"] for row in points):
        yield line("errors", "errors", add_amounts, lambda value: f"{round(value):,}")
    yield f"{paint.dim}{'':<{_LABEL}}{_format_axis_line(report, width, last - first + 1)}{paint.off}"


def _format_axis_line(report: Report, width: int, buckets: int) -> str:
    """The line below the marks: the first time at the left, and the last time at the right where it has room."""
    per = -(-buckets // width)
    marks = -(-buckets // per)
    first, last = (report[name][11:19] for name in ("first", "last"))
    room = marks - cell_width(first) - cell_width(last)
    return f"{first}{' ' * room}{last}" if room > 0 else first


def _build_columns(section: ReportSection, rows: list[Row], report: Report) -> list[Column]:
    found = []
    for column in section.select_informative_columns(rows):
        shown = [column.say(row) for row in rows]
        colour = "bad" if column.bad else "client" if column.title == "client" else ""
        found.append(Column(column.title, shown, column.drop_order, column.right, colour, cut=column.cut))
    if section.over_time and report["bucket_s"] and any("over_time" in row for row in rows):
        first, last = find_bucket_bounds(report)
        if last > first:
            marks = [read_values_by_bucket(row.get("over_time", []), "p99", report, 10**6) for row in rows]
            found.append(
                Column(
                    "p99 over time",
                    [NOTHING for _ in rows],
                    drop=6,
                    paint="name",
                    grow=lambda width: [draw_sparkline(each, first, last, width, max) for each in marks],
                    least=max(SPARK_LEAST, len("p99 over time")),
                    most=SPARK_MOST,
                )
            )
    return found


def _format_notes_of_rows_left_out(report: Report) -> Iterator[str]:
    for each in report["left_out"]:
        yield f"not shown: {each['what']}: {each['why']}"


def _format_note_lines(note: str, width: int | None, paint: Palette) -> list[str]:
    return [f"{paint.dim}{line}{paint.off}" for line in wrap_note(note, width)]
