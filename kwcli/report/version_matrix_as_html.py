"""A report in, the table of clients by APIs out: which versions each client speaks, and which the target turns away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Final

from decoders.wire.format_and_escape_text import escape_text
from kwcli.analyses.render_answer import format_value_on_one_line
from kwcli.output.short_texts import cut, format_number_ranges

if TYPE_CHECKING:
    from kwcli.report.build_report import Report

__all__ = ["format_version_matrix"]

CLIENTS: Final = 60
_NAME: Final = 60


def format_version_matrix(report: Report) -> Iterator[str]:
    """The HTML of the page's section `versions`; nothing where no client is known."""
    clients = [row for row in report["clients"] or () if "others" not in row]
    if not clients:
        return
    shown = clients[:CLIENTS]
    apis = [name for name, _ in Counter(api for row in shown for api in row["apis"]).most_common()]
    audit = report["audit"] or {"clients": (), "target": ""}
    old = {
        (row["client_id"], format_value_on_one_line(row["client_software"]), each["api"])
        for row in audit["clients"]
        if row["verdict"] == "breaks"
        for each in row["apis"]
    }
    yield '<section id="versions" aria-labelledby="versions-title">'
    yield '<h2 id="versions-title">Versions that clients speak</h2>'
    yield '<div class="table" role="region" tabindex="0" aria-labelledby="versions-title"><table class="matrix">'
    heads = "".join(
        f'<th scope="col">{"<wbr>".join(escape(part) for part in _split_api_name(name))}</th>' for name in apis
    )
    yield f'<thead><tr><th scope="col">client</th>{heads}</tr></thead><tbody>'
    for row in shown:
        name = row["client_id"] or format_value_on_one_line(row["addresses"])
        software = format_value_on_one_line(row["client_software"])
        more = f'<br><span class="dim">{escape(cut(escape_text(software), _NAME))}</span>' if software else ""
        cells = []
        for api in apis:
            versions = row["apis"].get(api)
            bad = ' class="old"' if (name, software, api) in old else ""
            cells.append(f"<td{bad}>{format_number_ranges(versions) if versions else ''}</td>")
        yield f'<tr><th scope="row">{escape(cut(escape_text(name), _NAME))}{more}</th>{"".join(cells)}</tr>'
    yield "</tbody></table></div>"
    if len(clients) > len(shown):
        yield f'<p class="dim">The first {len(shown)} of {len(clients):,} clients: -o json has all.</p>'
    if old:
        yield f'<p class="dim">In red: what Kafka {escape(str(audit["target"]))} turns away.</p>'
    yield "</section>"


def _split_api_name(name: str) -> list[str]:
    """The words of an API's name, between which a line may end."""
    parts: list[str] = []
    for char in name:
        if not parts or (char.isupper() and not parts[-1][-1].isupper()):
            parts.append(char)
        else:
            parts[-1] += char
    return parts
