"""A report in, one page out that needs nothing else: style, script, charts and tables in a single HTML file.

A content security policy lets the page run its only script and apply its only style sheet, known by their hashes, and
load nothing from anywhere: a name that a client gave itself can do nothing here, even if it were not escaped. Each text
is made one line without control characters (`clean`) and escaped where it is put; the script reads JSON in which no
character means anything to HTML or to JavaScript, and makes text of elements of it, never markup.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any, Final

import orjson

from decoders.wire.format_and_escape_text import escape_text, format_latency, format_size
from kwcli import VERSION
from kwcli.output.short_texts import count_of, cut
from kwcli.report.build_report import Report, format_report_time, list_report_sentences
from kwcli.report.groups_as_html import format_group_articles
from kwcli.report.page_style_and_script import SCRIPT, STYLE
from kwcli.report.report_sections import (
    NOTHING,
    SECTIONS,
    ReportColumn,
    ReportSection,
    explain_finding,
    format_section_title,
    list_totals,
    select_first_rows,
)
from kwcli.report.svg_charts import Chart, draw_charts
from kwcli.report.version_matrix_as_html import format_version_matrix
from kwcli.stats.statistics_as_text import format_packets

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row

__all__ = ["NAME", "ROWS", "format_page"]

# Rows of a table, and how long a name may be in one.
ROWS: Final = 50
NAME: Final = 120
# Findings and bodies that are shown; characters of one body.
FINDINGS: Final = 100
BODIES: Final = 20
BODY: Final = 40_000
# Where a line of a name may end, and how much of it has to stay together without such a place.
_BREAKS: Final = re.compile(r"(?<=[_.,:;/@=-])|(?<=[a-z])(?=[A-Z])")
_PIECE: Final = 16
# Characters that mean something to HTML or end a line of JavaScript, and how JSON writes them.
_ESCAPED: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def format_page(report: Report) -> str:
    """The page as text, to be written as UTF-8."""
    drawn = list(draw_charts(report))
    policy = (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src {_format_csp_hash_of_script(STYLE)}; script-src {_format_csp_hash_of_script(SCRIPT)}"
    )
    data = {
        "charts": [chart.said for chart in drawn],
        "ladders": [_build_ladder_data(row) for row in report["ladders"] or ()],
    }
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="generator" content="kw report">',  # by which kw knows the page: see check_overwriting.py
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        '<link rel="icon" href="data:,">',
        f"<title>{escape(_format_page_title(report))}</title>",
        f"<style>{STYLE}</style>",
        "</head>",
        "<body>",
        *_format_page_body(report, drawn),
        f'<script type="application/json" id="data">{_dump_json_safe_in_html(data)}</script>',
        f"<script>{SCRIPT}</script>",
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _format_page_title(report: Report) -> str:
    if not report["first"]:
        return "Kafka traffic"
    return f"Kafka traffic, {format_report_time(report['first'], 16)} to {format_report_time(report['last'], 16)}"


def _format_csp_hash_of_script(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _dump_json_safe_in_html(value: Any) -> str:
    """JSON in which no character means anything to HTML or JavaScript."""
    return orjson.dumps(value).decode().translate(_ESCAPED)


def _escape_html(value: object) -> str:
    """Any value as text of an element."""
    return escape(escape_text(str(value)))


def _format_page_body(report: Report, drawn: list[Chart]) -> Iterator[str]:
    there = [(section, rows) for section in SECTIONS if (rows := section.find_rows(report))]
    nothing = [section.none for section in SECTIONS if section.find_rows(report) == []]
    yield '<a class="skip" href="#content">Skip to the content</a>'
    yield "<header>"
    yield "<h1>Kafka traffic</h1>"
    if report["first"]:
        first, last = (format_report_time(report[name], 23) for name in ("first", "last"))
        yield f'<p class="dim">{escape(first)} to {escape(last)} UTC</p>'
    yield from (f'<p class="bad">{escape(sentence)}</p>' for sentence in list_report_sentences(report))
    yield '<dl class="tiles">'
    yield from (f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in list_totals(report))
    yield "</dl>"
    if report["tables"]:
        absent = [name for name, rows in report["tables"].items() if rows is None]
        if absent:
            yield f'<p class="dim">Not there: the tables {escape(", ".join(absent))}.</p>'
    for each in report["left_out"]:
        yield f'<p class="bad">Not shown: {escape(each["what"])}: {escape(each["why"])}</p>'
    yield "</header>"
    yield '<nav aria-label="Sections"><ul>'
    if drawn:
        yield '<li><a href="#over-time">Over time</a></li>'
    for section, _ in there:
        yield f'<li><a href="#{section.name}">{escape(format_section_title(section, report))}</a></li>'
        yield from (
            f'<li><a href="#{name}">{title}</a></li>' for name, title in _find_parts_after_section(section, report)
        )
    yield "</ul></nav>"
    yield '<main id="content" tabindex="-1">'
    if drawn:
        yield '<section id="over-time" aria-labelledby="over-time-title"><h2 id="over-time-title">Over time</h2>'
        yield from _format_charts("over-time", drawn)
        yield f'<p class="dim">Times are UTC; one point is {_format_bucket_width(report["bucket_s"])}.</p></section>'
    for section, rows in there:
        yield from _format_section(section, rows, report, drawn)
        for name, _ in _find_parts_after_section(section, report):
            yield from format_version_matrix(report) if name == "versions" else _format_ladders(report["ladders"])
    if nothing:
        yield '<section id="nothing" aria-labelledby="nothing-title"><h2 id="nothing-title">Nothing to show</h2>'
        yield f'<p class="dim">{escape("; ".join(nothing))}.</p></section>'
    yield "</main>"
    yield f"<footer>kw {VERSION} · latencies: request's last byte to response's first, percentiles within 1 %</footer>"


def _find_parts_after_section(section: ReportSection, report: Report) -> Iterator[tuple[str, str]]:
    """The name and title of each part that follows a section and is not in SECTIONS."""
    if section.name == "clients":
        yield "versions", "Versions"
    if section.name == "slowest" and report["ladders"]:
        yield "ladders", "Connections step by step"


def _format_bucket_width(seconds: float) -> str:
    return f"{seconds:g} s" if seconds >= 1 and seconds == round(seconds) else format_latency(seconds * 1000)


def _format_charts(name: str, drawn: list[Chart]) -> Iterator[str]:
    its = [chart.html for chart in drawn if chart.section == name]
    if its:
        yield f'<div class="charts">{"".join(its)}</div>'


def _format_section(section: ReportSection, rows: list[Row], report: Report, drawn: list[Chart]) -> Iterator[str]:
    title = escape(format_section_title(section, report))
    yield f'<section id="{section.name}" aria-labelledby="{section.name}-title">'
    yield f'<h2 id="{section.name}-title">{title}</h2>'
    if section.found or "request" in rows[0]:
        yield from _format_findings(rows) if section.found else _format_example_bodies(rows[:BODIES])
        yield "</section>"
        return
    yield from _format_charts(section.name, drawn)
    shown = select_first_rows(rows, ROWS)
    columns = section.select_informative_columns(shown)
    yield f'<div class="table" role="region" tabindex="0" aria-labelledby="{section.name}-title"><table><thead><tr>'
    yield "".join(
        f'<th scope="col" class="{_choose_cell_class(column)}">{escape(column.title)}</th>' for column in columns
    )
    yield "</tr></thead><tbody>"
    for row in shown:
        yield f"<tr>{''.join(_format_cell(column, row) for column in columns)}</tr>"
    yield "</tbody></table></div>"
    if len(rows) > len(shown):
        yield f'<p class="dim">The first {len(shown)} of {len(rows):,}: -o json has all.</p>'
    yield from (f'<p class="dim">{escape(note[0].upper() + note[1:])}</p>' for note in section.select_notes_on(shown))
    if section.name == "groups":
        yield from format_group_articles(rows, report)
    yield "</section>"


def _format_cell(column: ReportColumn, row: Row) -> str:
    text = column.say(row)
    bad = " bad" if column.bad and text != NOTHING else ""
    if column.tag and text != NOTHING:
        return f'<td class="{_choose_cell_class(column)}"><span class="tag {escape(text)}">{escape(text)}</span></td>'
    if not column.cut:
        return f'<td class="{_choose_cell_class(column)}{bad}">{_escape_html(text)}</td>'
    short = cut(text, NAME)
    title = f' title="{_escape_html(text[:4000])}"' if short != text else ""
    pieces = "<wbr>".join(map(_escape_html, _split_name_at_breaks(short)))
    return f'<td class="{_choose_cell_class(column)}{bad}"{title}>{pieces}</td>'


def _split_name_at_breaks(name: str) -> list[str]:
    """The pieces of a name, between which a line may end."""
    return [word[at : at + _PIECE] for word in _BREAKS.split(name) for at in range(0, len(word), _PIECE)]


def _choose_cell_class(column: ReportColumn) -> str:
    kind = "n" if column.right else "name" if column.cut else "word"
    return f"{kind} k{column.drop_order}"


def _format_findings(rows: list[Row]) -> Iterator[str]:
    """The list of findings, worst first; a note is one line, which can be opened."""
    yield '<ul class="findings">'
    for row in rows[:FINDINGS]:
        times = f' <span class="dim">×{row["count"]:,}</span>' if row["count"] > 1 else ""
        severity = escape(row["severity"])
        head = f'<span class="tag {severity}">{severity}</span>{_escape_html(row["title"])}{times}'
        said = "".join(f"<dt>{escape(name)}</dt><dd>{_escape_html(text)}</dd>" for name, text in explain_finding(row))
        if row["severity"] == "note":
            yield f'<li class="note"><details><summary>{head}</summary><dl>{said}</dl></details></li>'
        else:
            yield f'<li class="{severity}"><h3>{head}</h3><dl>{said}</dl></li>'
    yield "</ul>"
    if len(rows) > FINDINGS:
        yield f'<p class="dim">And {len(rows) - FINDINGS:,} more: -o json has all.</p>'


def _format_example_bodies(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        name = "SASL token" if row["api"] is None else f"{row['api']} {row['api_version']}"
        who = cut(escape_text(row["client_id"] or row["client"]), NAME)
        facts = [f"from {row['client']}", f"correlation id {row['correlation_id']}"]
        facts += [f"packets {format_packets(row['packets'])}"] if row["packets"]["request"] else []
        yield (
            f"<details><summary><strong>{escape(format_latency(row['latency_ms']))}</strong> {escape(name)} "
            f'<span class="dim">{_escape_html(who)} → {_escape_html(row["broker"])}, '
            f"{escape(format_report_time(row['time'], 23))}</span>"
            f'</summary><p class="dim">{_escape_html(" · ".join(facts))}</p><div class="bodies">'
        )
        for side in ("request", "response"):
            size = row[f"{side}_size"]
            yield f"<div><h4>{side}{'' if size is None else f', {format_size(size)}'}"
            yield f"{', shortened' if side in row['cut'] else ''}</h4>"
            yield f'<pre tabindex="0">{_indent_json(row[side])}</pre></div>'
        yield "</div></details>"


def _indent_json(body: Any) -> str:
    text = orjson.dumps(body, option=orjson.OPT_INDENT_2).decode()
    lines = "\n".join(map(escape_text, text.split("\n")))
    return escape(lines[:BODY] + ("\n…" if len(lines) > BODY else ""))


def _format_ladders(ladders: list[Row]) -> Iterator[str]:
    """The section of ladders: one connection, chosen from a list; the script draws it."""
    worst = max(range(len(ladders)), key=lambda at: (ladders[at]["failed"] > 0, ladders[at]["failed"], -at))
    yield '<section id="ladders" aria-labelledby="ladders-title"><h2 id="ladders-title">Connections step by step</h2>'
    yield '<p class="ladder-pick"><label for="connection">Connection</label><br><select id="connection">'
    for at, row in enumerate(ladders):
        who = next((step["client_id"] for step in row["steps"] if step["client_id"]), None)
        failed = f", {row['failed']:,} failed" if row["failed"] else ""
        name = f"{row['connection']}: {cut(escape_text(who or ''), 40)} {row['client']} → {row['broker']}"
        chosen = " selected" if at == worst else ""
        label = f"{_escape_html(name)}, {count_of(row['count'], 'exchange')}{failed}"
        yield f'<option value="{at}"{chosen}>{label}</option>'
    yield "</select></p>"
    yield '<svg id="ladder" height="10" aria-hidden="true"></svg><ol id="ladder-steps" class="unseen"></ol>'
    yield (
        '<p class="dim">The connections in which most went wrong, then the busiest; of each the first exchanges, and '
        "those that failed. A filter (-f, --client, --since) makes a page of fewer.</p></section>"
    )


def _build_ladder_data(row: Row) -> Row:
    """The data of a ladder that the script draws: the texts of each step, to which it adds nothing."""
    steps = row["steps"]
    well = [at for at, step in enumerate(steps) if not _is_failed_step(step)]
    left_out = row["count"] - row["failed"] - len(well)
    said = f"… {count_of(left_out, 'more exchange')} went well …" if left_out > 0 else ""
    turn = well[-1] + 1 if well else 0  # all steps behind it have failed
    made = [
        [
            escape_text(step["time"][11:23]),
            escape_text(_format_api_version_and_topics(step)),
            escape_text(_describe_response(step)),
            2 if step["status"] == "unanswered" else int(_is_failed_step(step)),
            said if at == turn else "",
        ]
        for at, step in enumerate(steps)
    ]
    unseen = row["failed"] - (len(steps) - len(well))
    ends = [said if turn == len(steps) else "", f"… {unseen:,} more failed …" if unseen > 0 else ""]
    return {
        "client": escape_text(row["client"]),
        "broker": escape_text(row["broker"]),
        "steps": made,
        "more": " ".join(filter(None, ends)),
    }


def _is_failed_step(step: Row) -> bool:
    return bool(step["errors"]) or step["status"] in ("unanswered", "undecoded", "orphan_response")


def _format_api_version_and_topics(step: Row) -> str:
    name = "SASL token" if step["api"] is None else f"{step['api']} {step['api_version']}"
    about = f" {', '.join(cut(each, 40) for each in step['about'])}" if step["about"] else ""
    return f"{name}{about}" + ("" if step["request_size"] is None else f" · {format_size(step['request_size'])}")


def _describe_response(step: Row) -> str:
    if step["status"] == "no_response_expected":
        return ""
    if step["status"] == "unanswered":
        return "no answer"
    took = "" if step["latency_ms"] is None else format_latency(step["latency_ms"])
    size = "" if step["response_size"] is None else format_size(step["response_size"])
    undecoded = "undecoded" if step["status"] == "undecoded" else ""
    return " · ".join(filter(None, [took, size, *step["errors"], undecoded]))
