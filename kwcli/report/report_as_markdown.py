"""A report in, Markdown out: a heading and a table for each section, in which no cell is anything but text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kwcli.output.table import escape_markdown, format_markdown_table
from kwcli.report.build_report import Report, format_report_time, list_report_sentences
from kwcli.report.report_sections import SECTIONS, explain_finding, format_section_title, list_totals, select_first_rows

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings

__all__ = ["format_markdown"]

# Rows of a table without -v.
ROWS: Final = 50


def format_markdown(report: Report, settings: Settings) -> str:
    """The whole report as Markdown; of long tables the first rows, with -v all rows."""
    out = ["# Kafka traffic", ""]
    if report["first"]:
        out += [f"{format_report_time(report['first'], 23)} to {format_report_time(report['last'], 23)} UTC", ""]
    out += [line for said in list_report_sentences(report) for line in (f"**{escape_markdown(said)}**", "")]
    out += [f"- {escape_markdown(name)}: {escape_markdown(value)}" for name, value in list_totals(report)]
    for each in report["left_out"]:
        out += ["", f"Not shown: {escape_markdown(each['what'])}: {escape_markdown(each['why'])}"]
    for section in SECTIONS:
        rows = section.find_rows(report)
        if rows is None:
            continue
        out += ["", f"## {escape_markdown(format_section_title(section, report))}", ""]
        if not rows:
            out.append(f"{escape_markdown(section.none)}.")
            continue
        shown = rows if settings.verbose else select_first_rows(rows, ROWS)
        if section.found:
            for row in shown:
                times = f" ×{row['count']:,}" if row["count"] > 1 else ""
                out.append(f"- **{escape_markdown(row['severity'])}** {escape_markdown(row['title'])}{times}")
                out += [
                    f"    - {escape_markdown(name)}: {escape_markdown(text)}" for name, text in explain_finding(row)
                ]
        else:
            columns = section.columns if settings.verbose else section.select_informative_columns(shown)
            out += format_markdown_table(
                [column.title for column in columns],
                [column.right for column in columns],
                ([column.say(row) for column in columns] for row in shown),
            )
        if len(rows) > len(shown):
            out += ["", f"The first {len(shown)} of {len(rows):,}: -v shows all."]
    return "".join(f"{line}\n" for line in out)
