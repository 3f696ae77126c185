"""Points over time in, charts as plain SVG out: nothing is loaded, nothing has to run.

A chart is a grid of three pieces: numbers at the left, the plot, times below. The plot is stretched to the width of the
page (its lines keep their width), numbers and times stand beside it at places in pixels and per cent: so no script has
to draw anything anew when the window changes. Each slice of time has a line of text, which the page's script shows for
the pointer and the arrow keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any, Final

from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import escape_text, format_latency, format_size
from kwcli.output.short_texts import cut
from kwcli.report.build_report import BY, Report, align_values_to_times, format_report_time, list_bucket_times

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row

__all__ = ["BUSY", "Chart", "draw_charts"]

# How many of the busiest have a line, and how long a name may be in a legend.
BUSY: Final = 6
NAME: Final = 60
# Of the plot: its height in pixels, its width in units of its own.
HEIGHT: Final = 190
WIDTH: Final = 1000
_LABELS: Final = 64
# Marks at the left side of a chart with a linear scale, about.
_MARKS: Final = 4
_TIME_MARKS: Final = (0, 25, 50, 75, 100)
Say = Callable[[float], str]


class Chart(NamedTuple):
    """One chart. `section`: the page's section that it heads; `html`: its markup; `said`: a line for each slice."""

    section: str
    title: str
    html: str
    said: list[str]


class _Series(NamedTuple):
    name: str
    values: list[Any]
    color: int


def draw_charts(report: Report) -> Iterator[Chart]:
    """All charts of a report for which there is something to draw."""
    points = report["over_time"]
    if len(points) < 2:
        return
    starts = list_bucket_times(report)
    names = ("p50", "p90", "p99", "max")
    latency = [_Series(name, _build_positive_series(points, name, starts), number) for number, name in enumerate(names)]
    yield _draw_chart(report, "over-time", "Latency", latency, starts, format_latency, _draw_lines_on_log_scale)
    errors = [value or 0 for value in align_values_to_times(points, "errors", starts)]
    well = [
        (value or 0) - bad for value, bad in zip(align_values_to_times(points, "count", starts), errors, strict=True)
    ]
    counts = [_Series("without errors", well, 0), _Series("with errors", errors, 5)]
    yield _draw_chart(report, "over-time", "Exchanges", counts, starts, _format_rounded_number, _draw_stacked_columns)
    sides = (("sent by clients", "request_bytes"), ("got by clients", "response_bytes"))
    sizes = [
        _Series(name, [value or 0 for value in align_values_to_times(points, key, starts)], number)
        for number, (name, key) in enumerate(sides)
    ]
    yield _draw_chart(report, "over-time", "Bytes", sizes, starts, _format_size, _draw_stacked_columns)
    for name in BY:
        rows = [row for row in (report["latency"] or {}).get(name) or () if "over_time" in row and row["values"]]
        rows = sorted(rows, key=lambda row: row["count"], reverse=True)[:BUSY]
        if rows:
            lines = [
                _Series(_format_series_name(row[name]), _build_positive_series(row["over_time"], "p99", starts), number)
                for number, row in enumerate(rows)
            ]
            yield _draw_chart(
                report, f"latency-{name}", "p99 of the busiest", lines, starts, format_latency, _draw_lines_on_log_scale
            )


def _format_rounded_number(value: float) -> str:
    return f"{round(value):,}"


def _format_size(value: float) -> str:
    return format_size(round(value))


def _build_positive_series(points: list[Row], key: str, starts: list[str]) -> list[float | None]:
    """The series of a value; None for 0 or less, which have no place on a logarithmic scale."""
    return [value if value is not None and value > 0 else None for value in align_values_to_times(points, key, starts)]


def _format_series_name(value: Any) -> str:
    return "–" if value is None else cut(escape_text(str(value)), NAME)


Draw = Callable[[Sequence[_Series]], tuple[list[tuple[float, float]], str]]


def _draw_chart(
    report: Report, section: str, title: str, drawn: Sequence[_Series], starts: list[str], say: Say, draw: Draw
) -> Chart:
    """The chart of some series; `draw` gives the marks (value, place from above) and the shapes of the plot."""
    marks, shapes = draw(drawn)
    said = [
        " · ".join(
            [
                _format_time_of_slice(start, report, 23),
                *(f"{its.name} {say(its.values[at])}" for its in drawn if its.values[at] is not None),
            ]
        )
        for at, start in enumerate(starts)
    ]
    lines = "".join(f'<line class="grid" x1="0" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>' for _, y in marks)
    numbers = "".join(f'<text x="{_LABELS - 8}" y="{y + 10:.1f}">{escape(say(value))}</text>' for value, y in marks)
    legend = "".join(f'<li class="c{its.color}">{escape(its.name)}</li>' for its in drawn)
    anchors = ("start", "middle", "middle", "middle", "end")
    last = len(starts) - 1
    # Times with the day in front need more room: the style sheet shows fewer of them.
    days = " days" if report["first"][:10] != report["last"][:10] else ""
    clocks = "".join(
        f'<text class="m{at}" x="{place}%" y="14" text-anchor="{anchor}">'
        f"{escape(_format_time_of_slice(starts[round(last * place / 100)], report))}</text>"
        for at, (place, anchor) in enumerate(zip(_TIME_MARKS, anchors, strict=True))
    )
    plot = (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" height="{HEIGHT}" '
        f'tabindex="0" role="img" aria-label="{escape(_describe_chart(title, drawn, report, say))}">{lines}{shapes}'
        f'<rect class="cursor" y="0" height="{HEIGHT}" width="{WIDTH / len(starts):.3f}" visibility="hidden"/></svg>'
    )
    html = (
        f'<figure class="chart"><figcaption>{escape(title)}</figcaption><ul class="legend">{legend}</ul>'
        f'<div class="frame"><svg class="numbers" width="{_LABELS}" height="{HEIGHT + 20}" aria-hidden="true">{numbers}'
        f'</svg>{plot}<svg class="clocks{days}" height="20" aria-hidden="true">{clocks}</svg></div>'
        '<p class="readout dim" aria-live="polite"></p></figure>'
    )
    return Chart(section, title, html, said)


def _describe_chart(title: str, drawn: Sequence[_Series], report: Report, say: Say) -> str:
    """The text about a chart for a reader who does not see it."""
    greatest = [
        f"{its.name} at most {say(max(value for value in its.values if value is not None))}"
        for its in drawn
        if any(value is not None for value in its.values)
    ]
    span = f"{format_report_time(report['first'])} to {format_report_time(report['last'])} UTC"
    return f"{title} over time, {span}: {', '.join(greatest)}. Arrow keys read it slice by slice."


def _format_time_of_slice(start: str, report: Report, size: int = 0) -> str:
    """The time of a slice, as short as it can be; with the day where there are several."""
    bucket = report["bucket_s"]
    digits = size or (23 if bucket < 0.5 else 19)
    several = report["first"][:10] != report["last"][:10]
    return format_report_time(start, digits)[5 if several else 11 :]


def _draw_lines_on_log_scale(drawn: Sequence[_Series]) -> tuple[list[tuple[float, float]], str]:
    """Lines on a logarithmic scale: a mark for each power of ten, with two more between where those are few."""
    values = [value for its in drawn for value in its.values if value is not None]
    if not values:
        return [], ""
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    high = max(high, low + 1)

    def place(value: float) -> float:
        return 6 + (HEIGHT - 12) * (1 - (log10(value) - low) / (high - low))

    steps = (1, 2, 5) if high - low <= 1 else (1,)
    marks = [(10.0**power * step, place(10.0**power * step)) for power in range(low, high + 1) for step in steps]
    step = WIDTH / len(drawn[0].values)
    shapes = "".join(
        f'<path class="line s{its.color}" d="{_draw_path(its.values, step, place, joined=True)}"/>'
        f'<path class="dot s{its.color}" d="{_draw_path(its.values, step, place, joined=False)}"/>'
        for its in reversed(drawn)
    )
    return [mark for mark in marks if mark[1] >= 0], shapes


def _draw_path(values: Sequence[float | None], step: float, place: Callable[[float], float], *, joined: bool) -> str:
    """A line through the values that have neighbours, or a dot at each of them."""
    parts, before = [], False
    for at, value in enumerate(values):
        if value is not None:
            where = f"{(at + 0.5) * step:.1f} {place(value):.1f}"
            parts.append(f"{'L' if before else 'M'}{where}" if joined else f"M{where}h0")
        before = value is not None
    return "".join(parts)


def _draw_stacked_columns(drawn: Sequence[_Series]) -> tuple[list[tuple[float, float]], str]:
    """Columns that stand on each other, on a linear scale."""
    totals = [sum(parts) for parts in zip(*(its.values for its in drawn), strict=True)]
    top = max(totals, default=0)
    if not top:
        return [], ""
    each = _round_up_to_1_2_or_5(top / _MARKS)
    top = each * ceil(top / each)

    def place(value: float) -> float:
        return 6 + (HEIGHT - 12) * (1 - value / top)

    step = WIDTH / len(totals)
    shapes, below = [], [0] * len(totals)
    for its in drawn:
        parts = []
        for at, value in enumerate(its.values):
            if value:
                y = place(below[at] + value)
                parts.append(
                    f"M{(at + 0.06) * step:.1f} {y:.1f}h{step * 0.88:.1f}V{place(below[at]):.1f}h{-step * 0.88:.1f}z"
                )
                below[at] += value
        shapes.append(f'<path class="f{its.color}" d="{"".join(parts)}"/>')
    marks = [(each * number, place(each * number)) for number in range(round(top / each) + 1)]
    return marks, "".join(shapes)


def _round_up_to_1_2_or_5(step: float) -> float:
    """1, 2 or 5 times a power of ten, not below `step`, and not below 1."""
    power = 10.0 ** floor(log10(max(step, 1)))
    return next(power * times for times in (1, 2, 5, 10) if power * times >= max(step, 1))
