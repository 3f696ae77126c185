"""Findings in, their paragraphs and their counts as text out: as `kw doctor`, `kw audit`, `kw browse` show them.

No analysis is loaded for it: findings are rows, as `kw doctor -o ndjson` has them.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.finding_kinds import SEVERITIES
from decoders.wire.format_and_escape_text import escape_text
from kwcli.output.short_texts import count_of, find_zone, palette

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from kwcli.output.output_settings import Settings

__all__ = ["LINES_MAX", "format_finding_counts", "format_findings", "format_findings_in_brief"]

SIGNS: Final = {"error": "✗", "warning": "!", "note": "·"}
_MARGIN: Final = " " * 3
_WIDTH_LEAST: Final = 20
# The most lines of findings without -v: what a terminal shows at once.
LINES_MAX: Final = 24
# So many causes are explained, if the lines suffice, even if others then have no line.
_WHOLE_LEAST: Final = 3
_NAMED: Final = 3
# What lasts where nothing shows its end: a broker that came back is another kind.
_LASTING: Final = frozenset({"broker-gone", "broker-down"})

# What is so for a while: how many answers said it is not how often it was.
_STATES: Final = _LASTING | {"broker-back", "partition-offline", "under-replicated"}


def format_finding_counts(rows: Iterable[Row]) -> str:
    """How many findings there are by severity: `2 errors, 1 warning, 3 notes`; `nothing found`."""
    counts = Counter(row["severity"] for row in rows)
    parts = [count_of(counts[severity], severity) for severity in SEVERITIES if counts[severity]]
    return ", ".join(parts) or "nothing found"


def format_findings_in_brief(rows: Sequence[Row], settings: Settings) -> str:
    """A paragraph for each cause, in LINES_MAX lines in all; with `-v` one for each finding, in any number of lines."""
    return format_findings(rows, settings, LINES_MAX)


def format_findings(rows: Sequence[Row], settings: Settings, lines_max: float = inf) -> str:
    """A paragraph for each cause, in `lines_max` lines in all; with `-v` one for each finding, in any number of lines.

    Findings that another one brought are named below it. All notes of the same error are one line.
    """
    if settings.verbose:
        return "".join(f"{line}\n" for row in rows for line in _format_finding_paragraph(row, settings, brief=False))
    causes = _join_similar_notes(row for row in rows if "cause" not in row)
    brief = [_format_finding_paragraph(row, settings, brief=True) for row in causes]
    lines: list[str] = []
    for number, row in enumerate(causes):
        whole = brief[number] if row["severity"] == "note" else _format_finding_paragraph(row, settings, brief=False)
        effects = _format_consequences(row, settings)
        needed = sum(map(len, brief[number + 1 :]))
        left = lines_max - len(lines) - 1
        if len(whole) + len(effects) + (0 if number < _WHOLE_LEAST else needed) <= left + (not needed):
            lines += whole + effects
        elif len(brief[number]) <= left:
            lines += brief[number]
        else:
            lines.append(f"{_MARGIN}and {format_finding_counts(causes[number:])} more; -v explains each")
            break
    return "".join(f"{line}\n" for line in lines)


def _format_finding_paragraph(row: Row, settings: Settings, *, brief: bool) -> list[str]:
    """The lines of a finding; `brief`: those of its title alone."""
    colors = palette(settings.color)
    sign, paint = SIGNS[row["severity"]], colors.bad if row["severity"] == "error" else colors.name
    head = _add_count_to_title(escape_text(row["title"]), row)
    if row["severity"] != "note" and (times := _describe_times_of_finding(row, settings, brief=brief)):
        head += f", {times}"
    first, *rest = _wrap_text(head, settings)
    lines = [f"{paint}{sign}{colors.off}  {first}", *(_MARGIN + each for each in rest)]
    if brief:
        return lines
    for text in _list_finding_details(row, settings):
        lines += [f"{_MARGIN}{colors.dim}{each}{colors.off}" for each in _wrap_text(text, settings)]
    if "command" in row:  # in one line, so that it can be copied
        lines.append(f"{_MARGIN}{colors.dim}see: {row['command']}{colors.off}")
    return lines


def _add_count_to_title(title: str, row: Row) -> str:
    """The title with how often it was: behind the error that is counted, else at its end; once alone."""
    count, error = row["count"], row.get("error")
    if (
        count <= 1
        or row["id"] in _STATES
        or re.search(rf"(?<![\w,.]){count:,} (?:times|connections)\b(?! a second)", title)
    ):
        return title
    counted = f"{error} ({row['api']})" if row.get("api") else f"{error}"
    before, found, behind = title.partition(counted) if error else (title, "", "")
    return f"{before}{found} ×{count:,}{behind}"


def _describe_times_of_finding(row: Row, settings: Settings, *, brief: bool = False) -> str:
    """When it began and was seen last: `since 17:34:05, last 17:34:09`; a beginning that the title has is left out.

    `brief`: only when it began.
    """
    if not row["first"]:
        return ""
    first, last = (_format_time_of_day(row[key], settings) for key in ("first", "last"))
    said = row["severity"] != "note" and first in row["title"]
    parts = [] if said else [f"since {first}"]
    if row["last"] != row["first"] and not brief:
        parts.append("to the end of the capture" if row["id"] in _LASTING else f"last {last}")
    return ", ".join(parts)


def _format_consequences(row: Row, settings: Settings) -> list[str]:
    """The lines that name what a finding brought."""
    titles = [escape_text(each["title"]) for each in row.get("consequences", ())]
    if not titles:
        return []
    more = f"; and {len(titles) - _NAMED:,} more" if len(titles) > _NAMED else ""
    colors = palette(settings.color)
    text = f"so: {'; '.join(titles[:_NAMED])}{more}"
    return [f"{_MARGIN}{colors.dim}{each}{colors.off}" for each in _wrap_text(text, settings)]


def _join_similar_notes(rows: Iterable[Row]) -> list[Row]:
    """The rows, with notes that differ by subject alone as one: `topic a, topic b and 3 more: ERROR (Fetch)`."""
    found: dict[object, tuple[Row, list[str], str]] = {}
    for number, row in enumerate(rows):
        subject, error, rest = row["title"].partition(f": {row.get('error')}")
        same = (row["id"], error + rest) if error and row["severity"] == "note" else number
        if same in found:
            whole, subjects, _ = found[same]
            whole["count"] += row["count"]
            subjects.append(subject)
        else:
            found[same] = ({**row}, [subject], error + rest)
    for whole, subjects, rest in found.values():
        more = len(subjects) - _NAMED
        if more > 0:
            subjects[_NAMED:] = [f"{subjects[_NAMED]}"] if more == 1 else [f"{more:,} more"]
        if len(subjects) > 1:
            whole["title"] = f"{', '.join(subjects[:-1])} and {subjects[-1]}{rest}"
    return [row for row, _, _ in found.values()]


def _wrap_text(text: str, settings: Settings) -> list[str]:
    if not settings.width:
        return [text]
    width = max(settings.width, _WIDTH_LEAST) - len(_MARGIN)
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=True) or [""]


def _list_finding_details(row: Row, settings: Settings) -> list[str]:
    """The texts below a finding's title: clients, reasons and times, meaning, remedy, evidence."""
    found = []
    who = [escape_text(name) for name in row.get("clients", ())]
    # A client that the title names is not repeated.
    if who and not (len(who) == 1 and who[0] in escape_text(row["title"])):
        more = f" and {len(who) - _NAMED:,} more" if len(who) > _NAMED else ""
        found.append(f"clients: {', '.join(who[:_NAMED])}{more}")
    if row.get("reasons"):
        found.append("reasons: " + "; ".join(map(escape_text, row["reasons"][:_NAMED])))
    if row["severity"] == "note" and (times := _describe_times_of_finding(row, settings)):
        found.append(times)
    if row.get("went_on"):
        found.append(f"over by now: {_describe_end(row)}")
    found = [", ".join(found)] if found else []
    found += [f"means: {row['meaning']}"] if row["meaning"] else []
    found += [f"do: {row['remedy']}"] if row["remedy"] else []
    if "command" in row:
        return found
    return found + [f"see: {each}" for each in [_format_packets_of_evidence(row["evidence"])] if each]


def _describe_end(row: Row) -> str:
    """Words for how an error ended, as far as it is known: of most APIs not each partition is followed."""
    if row["id"] == "offset-out-of-range":
        return "later the same client read on without it, at this or another offset"
    if row.get("partitions") and row.get("api") not in ("Fetch", "Produce"):
        return "it did not come again, and later the same client succeeded with such a request for the topic"
    return "later the same client succeeded with the same request"


def _format_time_of_day(text: str, settings: Settings) -> str:
    """The time of day of an RFC 3339 time, in the zone of the output."""
    from datetime import datetime

    zone = find_zone(settings.zone)
    try:
        moment = datetime.fromisoformat(text[:26].rstrip("Z") + "+00:00")
        return zone.local_time(int(moment.timestamp())).strftime("%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return text


def _format_packets_of_evidence(evidence: Sequence[dict[str, Any]]) -> str:
    """Where to look: `packets 17–21, 53`; without packets, `correlation id 7 of connection 3`, or both addresses."""
    parts = []
    for each in evidence[:_NAMED]:
        if each["packets"] is None:
            where = f"connection {each['connection']}"
            number = each["correlation_id"]
            ends = f"{where} ({each['client']} → {each['broker']})"
            parts.append(ends if number is None else f"correlation id {number} of {where}")
        else:
            first, last = each["packets"]
            of = f" of {each['file']}" if each["file"] else ""
            parts.append((f"{first}–{last}" if last != first else f"{first}") + of)
    text = ", ".join(parts)
    if not evidence or evidence[0]["packets"] is None:
        return text
    return f"packet{'s' if len(parts) > 1 or '–' in text else ''} {text}"
