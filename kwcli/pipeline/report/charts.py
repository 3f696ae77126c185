"""A report in, its charts out: plotly's own declarations as plain dicts, which the page hands to plotly.js.

Colours come in two sets, so that the page can follow the reader's: here they are numbers, the page has the sets. What
came from a capture is text in a declaration, in which plotly would obey a few HTML tags: those are escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from decoders.wire.units import format_latency
from kwcli.output.units import cut
from kwcli.pipeline.report.build_report import Report, series, times
from kwcli.pipeline.report.run_folds import BUSY, BY
from kwcli.terminal import clean

if TYPE_CHECKING:
    from decoders.analysis.fold import Row

# Bars of one chart, and how long their labels may be.
BARS: Final = 10
LABEL: Final = 22
# How long a name may be in a legend, and where the mouse is.
NAME: Final = 60
_BYTES: Final = {"tickformat": "~s", "ticksuffix": "B", "rangemode": "tozero", "nticks": 5}
_COUNT: Final = {"tickformat": "~s", "rangemode": "tozero", "nticks": 5}


class Chart(NamedTuple):
    """`section`: the section of the page that it heads; `legend`: a label for each colour, first colour first."""

    section: str
    title: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]
    legend: list[str]


def charts(report: Report) -> Iterator[Chart]:
    """All charts that there is something to draw of."""
    points = report["over_time"]
    if points:
        starts = times(report)
        drawn = [_latencies(points, starts), _counts(points, starts), _sizes(points, starts)]
        drawn += [found for name in BY if (found := _by(report, name, starts)) is not None]
        for chart in drawn:
            yield chart._replace(layout=chart.layout | {"xaxis": _time_axis(report)})
    for section, title, rows, label, parts, axis in (
        ("errors", "Exchanges with errors", report["errors"], _error, (("exchanges", "exchanges"),), _COUNT),
        (
            *("talkers", "Bytes by client", report["talkers"]["client"], _named("client")),
            *((("sent", "request_bytes"), ("got", "response_bytes")), _BYTES),
        ),
        (
            *("topics", "Bytes of records by topic", report["talkers"]["topic"], _named("topic")),
            *((("produced", "produced_bytes"), ("fetched", "fetched_bytes")), _BYTES),
        ),
        (
            *("connections", "Connections by client", (report["connections"] or {}).get("client"), _named("client")),
            *((("connections", "count"),), _COUNT),
        ),
    ):
        if rows:
            yield _bars(section, title, rows[:BARS], label, parts, axis)


def _latencies(points: list[Row], starts: list[str]) -> Chart:
    names = ("p50", "p90", "p99", "max")
    data = [_line(number, name, starts, _seconds(points, name, starts)) for number, name in enumerate(names)]
    return Chart("over-time", "Latency", data, {"yaxis": _seconds_axis(data)}, list(names))


def _counts(points: list[Row], starts: list[str]) -> Chart:
    errors = [value or 0 for value in series(points, "errors", starts)]
    well = [(value or 0) - bad for value, bad in zip(series(points, "count", starts), errors, strict=True)]
    data = [_columns(0, "without errors", starts, well), _columns(5, "with errors", starts, errors)]
    layout = {"yaxis": dict(_COUNT), "barmode": "stack", "bargap": 0}
    return Chart("over-time", "Exchanges", data, layout, ["without errors", "with errors"])


def _sizes(points: list[Row], starts: list[str]) -> Chart:
    sides = (("sent by clients", "request_bytes"), ("got by clients", "response_bytes"))
    data = [
        _columns(number, name, starts, series(points, key, starts), unit="B")
        for number, (name, key) in enumerate(sides)
    ]
    layout = {"yaxis": dict(_BYTES), "barmode": "stack", "bargap": 0}
    return Chart("over-time", "Bytes", data, layout, [name for name, _ in sides])


def _by(report: Report, name: str, starts: list[str]) -> Chart | None:
    """The 99th percentiles of the busiest."""
    rows = [row for row in report["latency"][name] or () if "over_time" in row and row["values"]]
    rows = sorted(rows, key=lambda row: row["count"], reverse=True)[:BUSY]
    if not rows:
        return None
    labels = [_text(row[name]) for row in rows]
    data = [
        _line(number, label, starts, _seconds(row["over_time"], "p99", starts))
        for number, (label, row) in enumerate(zip(labels, rows, strict=True))
    ]
    return Chart(f"latency-{name}", "p99 of the busiest", data, {"yaxis": _seconds_axis(data)}, labels)


def _seconds(points: list[Row], key: str, starts: list[str]) -> list[float | None]:
    """Milliseconds as seconds; a logarithmic axis has no place for 0 or less."""
    return [value / 1000 if value is not None and value > 0 else None for value in series(points, key, starts)]


def _time_axis(report: Report) -> dict[str, Any]:
    """Times of day as short as they can be; with the day where there are several."""
    bucket = report["bucket_s"]
    clock = "%H:%M:%S.%L" if bucket < 1 else "%H:%M:%S" if bucket < 60 else "%H:%M"
    if report["first"][:10] != report["last"][:10]:
        clock = "%b %d" if bucket >= 86_400 else f"{clock}\n%b %d"
    return {"type": "date", "tickformat": clock, "hoverformat": "%Y-%m-%d %H:%M:%S"}


def _seconds_axis(data: list[dict[str, Any]]) -> dict[str, Any]:
    """A logarithmic one: a mark for each power of ten in sight, with two more between them where those are few."""
    values = [value for trace in data for value in trace["y"] if value]
    if not values:
        return {"visible": False}
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    steps = (1, 2, 5) if high - low <= 2 else (1,)
    marks = [10.0**power * step for power in range(low, high + 1) for step in steps]
    return {
        "type": "log",
        "tickmode": "array",
        "tickvals": marks,
        "ticktext": [
            format_latency(round(mark * 1000, 9)).replace(".0ms", "ms").replace(".00s", "s") for mark in marks
        ],
    }


def _line(number: int, name: str, starts: list[str], values: Sequence[Any]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": _shown(name),
        "x": _zoneless(starts),
        "y": list(values),
        "connectgaps": False,
        "line": {"width": 2},
        "marker": {"size": 4},
        "hovertemplate": "%{y:.3~s}s",
        "meta": {"color": number},
    }


def _columns(number: int, name: str, starts: list[str], values: Sequence[Any], unit: str = "") -> dict[str, Any]:
    return {
        "type": "bar",
        "name": _shown(name),
        "x": _zoneless(starts),
        "y": list(values),
        "hovertemplate": f"%{{y:.4~s}}{unit}" if unit else "%{y:,}",
        "meta": {"color": number},
    }


def _bars(section: str, title: str, rows: list[Row], label: Any, parts: Any, axis: dict[str, Any]) -> Chart:
    """Bars that lie, the longest on top; rows of the same label stay apart."""
    places = list(range(len(rows)))
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": _shown(name),
            "x": [row[key] for row in rows],
            "y": places,
            "customdata": [_shown(label(row)) for row in rows],
            "hovertemplate": "%{customdata}: %{x:,}",
            "meta": {"color": number},
        }
        for number, (name, key) in enumerate(parts)
    ]
    layout = {
        "xaxis": dict(axis) | {"type": "linear"},
        "yaxis": {
            "autorange": "reversed",
            "tickmode": "array",
            "tickvals": places,
            "ticktext": [_shown(cut(label(row), LABEL)) for row in rows],
            "automargin": True,
        },
        "barmode": "stack",
        "bargap": 0.25,
        "hovermode": "closest",
        "height": 60 + 26 * len(rows),
    }
    return Chart(section, title, data, layout, [name for name, _ in parts] if len(parts) > 1 else [])


def _named(name: str) -> Any:
    return lambda row: _text(row[name])


def _error(row: Row) -> str:
    return f"{row['api']} {row['error']}"


def _text(value: Any) -> str:
    return "–" if value is None else cut(clean(str(value)), NAME)


def _shown(text: str) -> str:
    """Text that plotly takes as it is: it reads a few tags and the entities of HTML, and %{…} in templates."""
    return html.escape(text, quote=False)


def _zoneless(starts: list[str]) -> list[str]:
    """plotly has no time zones: the page says that these are UTC."""
    return [start.removesuffix("Z") for start in starts]
