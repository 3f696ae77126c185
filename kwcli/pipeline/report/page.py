"""A report in, one page out that needs nothing else: style, charts, plotly.js and tables in a single HTML file.

A content security policy lets the page run its two own scripts, known by their hashes, and load nothing from anywhere:
what a client of the capture calls itself can do nothing here, even if it were not escaped.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Final

import orjson
from plotly.offline import get_plotlyjs

from kwcli import VERSION
from kwcli.output.units import cut
from kwcli.pipeline.report.build_report import Report, moment
from kwcli.pipeline.report.charts import Chart, charts
from kwcli.pipeline.report.sections import NOTHING, SECTIONS, ReportColumn, Section, title_of, totals
from kwcli.pipeline.report.style import SCRIPT, STYLE

if TYPE_CHECKING:
    from decoders.analysis.fold import Row

# Rows of a table, and how long a name may be in one.
ROWS: Final = 50
NAME: Final = 120
# Where a line of a name may end, and how much of it has to stay together without such a place.
_BREAKS: Final = re.compile(r"(?<=[_.,:;/@=-])|(?<=[a-z])(?=[A-Z])")
_PIECE: Final = 16


def page(report: Report) -> str:
    """The page as text, to be written as UTF-8."""
    drawn = list(charts(report))
    library = get_plotlyjs()
    policy = (
        "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        f"script-src {_hash(library)} {_hash(SCRIPT)}"
    )
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<title>{escape(_title(report))}</title>",
        f"<style>{STYLE}</style>",
        "</head>",
        "<body>",
        *_body(report, drawn),
        f'<script type="application/json" id="charts">{_json(drawn)}</script>',
        f"<script>{library}</script>",
        f"<script>{SCRIPT}</script>",
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _title(report: Report) -> str:
    if not report["first"]:
        return "Kafka traffic"
    return f"Kafka traffic, {moment(report['first'], 16)} to {moment(report['last'], 16)}"


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _json(drawn: list[Chart]) -> str:
    """JSON in which no character means anything to HTML."""
    text = orjson.dumps([{"data": chart.data, "layout": chart.layout} for chart in drawn]).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _body(report: Report, drawn: list[Chart]) -> Iterator[str]:
    there = [(section, rows) for section in SECTIONS if (rows := section.rows(report)) is not None]
    yield "<header>"
    yield "<h1>Kafka traffic</h1>"
    if report["first"]:
        first, last = (moment(report[name], 23) for name in ("first", "last"))
        yield f'<p class="dim">{escape(first)} to {escape(last)} UTC</p>'
    yield '<dl class="tiles">'
    yield from (f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in totals(report))
    yield "</dl>"
    yield "<nav><ul>"
    if report["over_time"]:
        yield '<li><a href="#over-time">Over time</a></li>'
    yield from (f'<li><a href="#{s.name}">{escape(title_of(s, report))}</a></li>' for s, _ in there)
    yield "</ul></nav>"
    absent = [name for name, rows in report["tables"].items() if rows is None]
    if absent:
        yield f'<p class="dim">Not there: the tables {escape(", ".join(absent))}.</p>'
    for each in report["left_out"]:
        yield f'<p class="bad">Not shown: {escape(each["what"])}: {escape(each["why"])}</p>'
    yield "</header>"
    yield "<main>"
    if report["over_time"]:
        yield '<section id="over-time"><h2>Over time</h2>'
        yield from _charts("over-time", drawn)
        yield f'<p class="dim">Times are UTC; one point is {report["bucket_s"]:g} s.</p></section>'
    for section, rows in there:
        yield from _section(section, rows, report, drawn)
    yield "</main>"
    yield f"<footer>kw {VERSION} · latencies: request's last byte to response's first, percentiles within 1 %</footer>"


def _charts(name: str, drawn: list[Chart]) -> Iterator[str]:
    its = [(number, chart) for number, chart in enumerate(drawn) if chart.section == name]
    if not its:
        return
    yield '<div class="charts">'
    for number, chart in its:
        yield f"<div><h3>{escape(chart.title)}</h3>"
        if chart.legend:
            colors = [trace["meta"]["color"] for trace in chart.data]
            items = zip(colors, chart.legend, strict=True)
            yield f'<ul class="legend">{"".join(f"<li class=c{c}>{escape(label)}</li>" for c, label in items)}</ul>'
        yield f'<div class="chart" id="chart-{number}" role="img" aria-label="{escape(chart.title)}"></div></div>'
    yield "</div>"


def _section(section: Section, rows: list[Row], report: Report, drawn: list[Chart]) -> Iterator[str]:
    yield f'<section id="{section.name}"><h2>{escape(title_of(section, report))}</h2>'
    if not rows:
        yield f'<p class="dim">{escape(section.none[0].upper() + section.none[1:])}.</p></section>'
        return
    yield from _charts(section.name, drawn)
    shown = rows[:ROWS]
    columns = section.telling(shown)
    yield '<div class="table"><table><thead><tr>'
    yield "".join(f'<th scope="col" class="{_class(said)}">{escape(said.title)}</th>' for said in columns)
    yield "</tr></thead><tbody>"
    for row in shown:
        yield f"<tr>{''.join(_cell(said, row) for said in columns)}</tr>"
    yield "</tbody></table></div>"
    if len(rows) > len(shown):
        yield f'<p class="dim">The first {len(shown)} of {len(rows):,}; -o json has all.</p>'
    yield from (f'<p class="dim">{escape(note[0].upper() + note[1:])}</p>' for note in section.notes_on(shown))
    yield "</section>"


def _cell(said: ReportColumn, row: Row) -> str:
    text = said.say(row)
    bad = " bad" if said.bad and text != NOTHING else ""
    if not said.cut:
        return f'<td class="{_class(said)}{bad}">{escape(text)}</td>'
    short = cut(text, NAME)
    title = f' title="{escape(text)}"' if short != text else ""
    return f'<td class="{_class(said)}{bad}"{title}>{"<wbr>".join(map(escape, _pieces(short)))}</td>'


def _pieces(name: str) -> list[str]:
    """What of a name stays on one line."""
    return [word[at : at + _PIECE] for word in _BREAKS.split(name) for at in range(0, len(word), _PIECE)]


def _class(said: ReportColumn) -> str:
    kind = "n" if said.right else "name" if said.cut else "word"
    return f"{kind} k{said.keep}"
