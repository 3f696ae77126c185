"""Outcomes in; lines, a table or records of them, and the closing lines, out.

Text has a line for each request whose answer is different, with -v for every request; below it, the differences. NDJSON
and JSON have the record of the exchange with the other cluster, with a `comparison`, and a last record of kind
`replay`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import NAMES, api_name
from decoders.messages.exchange_json import SCHEMA, to_json_dict
from decoders.replaying.answer_comparison import Difference, format_error_code
from decoders.replaying.classify_apis_for_replay import classify_api
from decoders.schema.body_json_form import json_text
from decoders.wire.format_and_escape_text import escape_text, format_latency
from kwcli.output.short_texts import count_of, find_zone, palette
from kwcli.output.table import Column, draw_table
from kwcli.output.write_values_in_any_format import JsonWriter

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Write
    from kwcli.replay.replay_requests_in_time import ReplayCounts
    from kwcli.replay.replayed_client import ReplayOutcome

__all__ = ["ReplayOutput", "format_closing_lines"]

# How many differences a record lists, and how many the text.
DIFFERENCES_MAX: Final = 100
_LINES_MAX: Final = 5
_VALUE_MAX: Final = 120
_WORDS: Final = {
    "same": "same",
    "other_ids": "other ids",
    "different": "DIFFERENT",
    "refused": "REFUSED",
    "uncompared": "uncompared",
}
_NS: Final = 10**9


class ReplayOutput:
    """Shows outcomes as they come; `close` shows the rest."""

    def __init__(self, settings: Settings, write: Write, *, dry_run: bool) -> None:
        self._settings = settings
        self._write = write
        self._dry_run = dry_run
        self._zone = find_zone(settings.zone)
        self._paint = palette(settings.color)
        self._rows: list[list[str]] = []
        self._told: dict[int, str] = {}  # hash of the differences of an answer → where they were shown
        lines = settings.format == "ndjson"
        self._json = JsonWriter(write, lines=lines) if settings.format in ("ndjson", "json") else None

    def show_outcome(self, outcome: ReplayOutcome) -> None:
        """Show an outcome; a table is shown by `close`."""
        if self._json is not None:
            self._json.add(build_outcome_json(outcome))
        elif self._settings.format == "table":
            self._rows.append(self._format_cells(outcome))
        elif self._dry_run or self._settings.verbose or _is_shown_without_verbose(outcome):
            self._write(self._format_text(outcome).encode("utf-8", "backslashreplace"))

    def write_totals(self, counts: ReplayCounts) -> None:
        """Write the table, or the last record, after all outcomes."""
        if self._json is not None:
            if not self._dry_run:
                self._json.add(build_counts_json(counts))
            self._json.close()
        elif self._settings.format == "table":
            titles = ("time", "verdict", "recorded", "new", "client", "api", "what")
            columns = [
                Column(title, [row[place] for row in self._rows], drop=place, right=title in ("recorded", "new"))
                for place, title in enumerate(titles)
            ]
            lines = draw_table(columns, self._settings.width, self._paint, dense=True) if self._rows else []
            self._write("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))

    def _format_cells(self, outcome: ReplayOutcome) -> list[str]:
        exchange = outcome.request.exchange
        at = self._zone.local_time(exchange.time_ns // _NS)
        time = f"{at:%H:%M:%S}.{exchange.time_ns % _NS // 1_000_000:03d}"
        was = _format_latency_or_dash(exchange.latency_ms)
        now = _format_latency_or_dash(None if outcome.record is None else outcome.record["latency_ms"])
        version = f"{_format_api_name(outcome)} {exchange.api_version}"
        if outcome.record is not None and outcome.record["api_version"] != exchange.api_version:
            version += f" as {outcome.record['api_version']}"
        client = escape_text(exchange.client_id) if exchange.client_id else exchange.client
        return [
            time,
            self._format_verdict(outcome),
            was,
            now,
            client,
            version,
            escape_text(_describe_outcome(outcome)),
        ]

    def _format_verdict(self, outcome: ReplayOutcome) -> str:
        if outcome.problem is not None:
            return "not asked"
        if outcome.verdict is None:
            return "would ask"
        return _WORDS[outcome.verdict]

    def _format_text(self, outcome: ReplayOutcome) -> str:
        time, verdict, was, now, client, version, what = self._format_cells(outcome)
        unsent = outcome.problem is not None or self._dry_run
        took = f"{_classify_api_of_outcome(outcome):5}" if unsent else f"{was:>7} → {now:<7}"
        paint = self._paint
        bad = paint.bad if outcome.verdict in ("different", "refused") else paint.dim
        verdict, client = f"{bad}{verdict:10}{paint.off}", f"{paint.client}{client:16}{paint.off}"
        lines = [f"{time}  {verdict} {took}  {client} {version}{'  ' if what else ''}{what}".rstrip()]
        shown = [each for each in outcome.differences if each.kind != "ids" or self._settings.verbose > 1]
        return "".join(f"{line}\n" for line in [*lines, *self._difference_lines(f"{version} at {time}", shown)])

    def _difference_lines(self, where: str, shown: list[Difference]) -> Iterator[str]:
        """Lines of differences; equal differences of an earlier answer are only referred to."""
        texts = [format_difference(each) for each in shown]
        before = self._told.setdefault(hash(tuple(texts)), where) if len(texts) > 1 else where
        if before != where:
            yield f"    as {before}"
            return
        more = len(texts) - _LINES_MAX if self._settings.verbose < 2 else 0
        yield from (f"    {text}" for text in (texts[:_LINES_MAX] if more > 1 else texts))
        if more > 1:
            yield f"    … and {more:,} more (-vv)"


def _is_shown_without_verbose(outcome: ReplayOutcome) -> bool:
    """Whether an outcome is shown even without -v: the answer is different, or the recording lacks something."""
    lacking = outcome.problem is not None and outcome.problem.reason in ("redacted", "left_out")
    return lacking or outcome.verdict in ("different", "refused")


def _classify_api_of_outcome(outcome: ReplayOutcome) -> str:
    key = outcome.request.exchange.api_key
    return "never" if key is None else classify_api(key)


def _format_api_name(outcome: ReplayOutcome) -> str:
    key = outcome.request.exchange.api_key
    if key is None:
        return "SASL token" if outcome.request.exchange.is_sasl_token else "?"
    return api_name(key) if key in NAMES else f"UNKNOWN({key})"


def _describe_outcome(outcome: ReplayOutcome) -> str:
    """Why a request was not asked or not compared, or how many differences its answer has."""
    if outcome.problem is not None:
        return outcome.problem.text
    if outcome.text:
        return outcome.text
    found = [each for each in outcome.differences if each.kind != "ids"]
    return f"{count_of(len(found), 'difference')}" if found else ""


def _format_latency_or_dash(value: float | None) -> str:
    return "–" if value is None else format_latency(value)


def format_difference(difference: Difference) -> str:
    """A difference as text: `orders 1 error_code: no error → UNKNOWN_TOPIC_OR_PARTITION`."""
    name = difference.path.rpartition(".")[2] if difference.about else difference.path
    where = escape_text(f"{difference.about} {name}".strip())
    if difference.kind == "missing":
        return f"{escape_text(difference.about)}: missing ({_format_short_value(difference.recorded)})"
    if difference.kind == "extra":
        return f"{escape_text(difference.about)}: not in the recording ({_format_short_value(difference.new)})"
    if difference.kind == "error":
        return f"{where}: {format_error_code(difference.recorded)} → {format_error_code(difference.new)}"
    return f"{where}: {_format_short_value(difference.recorded)} → {_format_short_value(difference.new)}"


def _format_short_value(value: Any) -> str:
    if isinstance(value, dict):
        text = " ".join(f"{name} {_format_short_value(each)}" for name, each in value.items()) or "empty"
    elif isinstance(value, list):
        text = ", ".join(map(_format_short_value, value)) or "none"
    else:
        text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    text = escape_text(text)
    return text if len(text) <= _VALUE_MAX else f"{text[: _VALUE_MAX - 1]}…"


# Records.


def build_outcome_json(outcome: ReplayOutcome) -> dict[str, Any]:
    """The record of the exchange with the other cluster.

    A request that was not sent has no addresses in its record, and the number of the recorded connection.
    """
    exchange = outcome.request.exchange
    was = to_json_dict(exchange)
    record = outcome.record
    if record is None:
        nothing = dict.fromkeys(("latency_ms", "duration_ms", "client", "broker", "correlation_id", "response_size"))
        record = {**was, **nothing, "status": "not_sent", "reason": None, "errors": [], "response": None}
        record["packets"] = {"request": None, "response": None}
        for name in ("undecoded", "closed", "file", "trailing", "layout", "retransmitted"):
            record.pop(name, None)
    recorded = {
        name: was[name]
        for name in (
            *("time", "client", "broker", "connection", "api_version", "correlation_id", "latency_ms", "status"),
            *("errors", "packets"),
        )
    }
    differences = [_build_difference_json(each) for each in outcome.differences[:DIFFERENCES_MAX]]
    problem = outcome.problem
    comparison: dict[str, Any] = {
        "verdict": outcome.verdict,
        "class": _classify_api_of_outcome(outcome),
        "reason": None if problem is None else problem.reason,
        "text": (problem.text if problem is not None else outcome.text) or None,
        "recorded": recorded,
        "differences": differences,
    }
    if outcome.differences[DIFFERENCES_MAX:]:
        comparison["differences_cut"] = len(outcome.differences) - DIFFERENCES_MAX
    if outcome.shares > 1:
        comparison["shares"] = outcome.shares
    return {**record, "comparison": comparison}


def _build_difference_json(difference: Difference) -> dict[str, Any]:
    return {name: json_text(each) if isinstance(each, str) else each for name, each in difference._asdict().items()}


def build_counts_json(counts: ReplayCounts) -> dict[str, Any]:
    """The last record: the counts of a replay."""
    return {
        "kind": "replay",
        "schema": SCHEMA,
        "asked": counts.asked,
        "verdicts": dict(counts.verdicts),
        "not_asked": [
            {"reason": reason, "count": count, "text": json_text(counts.texts[reason])}
            for reason, count in counts.problems.most_common()
        ],
        "overtaken": counts.overtaken,
        "late_ms": round(counts.late_s * 1000, 3),
    }


# The closing lines.

_LATE_S: Final = 1.0
# Why requests were not asked, by reason: a few words behind their number. For other reasons: the text of the first.
_REASONS: Final = {
    "data": "change data (--changes data)",
    "never": "are never sent: logins, tokens, requests between brokers and controllers",
    "incomplete": "are not whole in the recording",
    "unknown_api": "are of APIs that kw does not know",
    "redacted": "have redacted values (record them with --reveal-secrets, or give the capture)",
    "left_out": "lack their records (write them with --records, or give the capture)",
}


def format_closing_lines(counts: ReplayCounts, *, dry_run: bool) -> list[str]:
    """`142 requests asked again: 60 same, 70 with other ids and offsets, 8 different, 4 refused`; those not asked."""
    if dry_run:
        lines = [f"{count_of(counts.asked, 'request')} would be asked again"]
    else:
        names = (
            ("same", "same"),
            ("other_ids", "with other ids and offsets"),
            ("different", "different"),
            ("refused", "refused"),
            ("uncompared", "not compared"),
        )
        parts = [f"{counts.verdicts[name]:,} {text}" for name, text in names if counts.verdicts[name]]
        lines = [f"{count_of(counts.asked, 'request')} asked again{': ' if parts else ''}{', '.join(parts)}"]
    for reason, count in counts.problems.most_common():
        text = counts.texts[reason]
        why = _REASONS.get(reason) or (f"for example: {text}" if count > 1 else text)
        lines.append(f"{count:,} not asked: {why}")
    if counts.overtaken:
        lines.append(
            f"{counts.overtaken:,} times a request was sent before an answer that its client awaited in the recording"
        )
    if counts.late_s >= _LATE_S:
        lines.append(f"up to {counts.late_s:.1f} s behind the recording: answers took longer than recorded")
    return lines
