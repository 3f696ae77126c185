"""The filters of the command line in, one `Filter` out: the short options are other words for the filter language."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from decoders.filters import Filter, FilterError, parse
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.names_in_any_spelling import find_api
from kwcli.reading.list_input_files import is_read_once
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.wire.parse_units import Moment
    from kwcli.run_environment import Environment

# What --errors selects: an error code, undecodable bytes, or a request that was unanswered when its connection ended.
# What the capture lacks (a snap length, a direction) is a fault of the capture and not of Kafka; error codes that the
# protocol expects are no errors.
_LEFT_ALONE = "(status == unanswered and closed in (fin, rst) and reason != one_direction)"
_UNREAD = "(undecoded and not undecoded in (snaplen, no_request))"
WENT_WRONG = f"(unexpected or {_UNREAD} or {_LEFT_ALONE})"
# `WENT_WRONG`, and the error codes that the protocol expects.
EVERY_ERROR = f"(error or {WENT_WRONG})"


# Short option → the comparison that the filter makes with its words.
_QUESTIONS: Final = {
    "--api": "api in",
    "--client-id": "client_id like",
    "--topic": "topic like",
    "--group": "group like",
    "--packet": "packet in",
    "--connection": "connection in",
}


def build_filter(
    expression: str | None,
    words: Mapping[str, Iterable[str]],
    *,
    slower_than: float | None = None,
    errors: str | None = None,
) -> Filter:
    """The filter for -f and the short options, all of which must hold; several words of one option are alternatives.

    `slower_than` is in milliseconds; `errors` is WENT_WRONG or EVERY_ERROR. Raises Failure (usage), which says what is
    wrong, and where.
    """
    parts = []
    for option, values in words.items():
        if option == "--client":
            parts += [f"({' or '.join(map(_build_client_expression, values))})"] if values else []
        elif texts := [
            quote_filter_text(text) for value in values for text in _EXPANDED.get(option, _list_single_word)(value)
        ]:
            part = f"{_QUESTIONS[option]} ({', '.join(texts)})"
            _parse_filter(part, option)
            parts.append(part)
    if slower_than is not None:
        parts.append(f"latency > {f'{slower_than:.9f}'.rstrip('0').rstrip('.')}ms")
    if errors is not None:
        parts.append(errors)
    if expression is not None and expression.strip():
        _parse_filter(expression, "-f")
        parts.append(f"({expression})")
    return parse(" and ".join(parts))


def _list_single_word(word: str) -> list[str]:
    return [word]


def _split_packet_words(word: str) -> list[str]:
    """The words for several packets of one file, which have commas between them: `kafka.pcap07:7-9,105`."""
    file, colon, numbers = word.rpartition(":")
    return [f"{file}{colon}{each}" for each in numbers.split(",")]


def filter_for_expected_errors(selection: Filter) -> Filter | None:
    """The filter for the errors that --errors leaves out and --errors all shows; None for a filter without --errors."""
    text = selection.text
    return parse(text.replace(WENT_WRONG, f"(error and not {WENT_WRONG})")) if WENT_WRONG in text else None


def _api_name_or_number(name: str) -> str:
    """The API's name for a filter; a number stays as it is, even one that kw does not know."""
    return name if name.isascii() and name.isdecimal() else find_api(name).name


# Short option → the words of the filter language for one of its words.
_EXPANDED: Final = {"--api": lambda word: [_api_name_or_number(word)], "--packet": _split_packet_words}


def join_filters(expression: str, selection: Filter) -> Filter:
    """The filter for which an expression of kw's own and another filter both hold."""
    return parse(" and ".join(text for text in (expression, selection.text) if text))


def _build_client_expression(name: str) -> str:
    """The filter expression for a client: by its address where the name is one, else by its id."""
    by_address = f"client == {quote_filter_text(name)}"
    try:
        parse(by_address)
    except FilterError:
        return f"client_id like {quote_filter_text(name)}"
    return by_address


def build_time_expression(
    since: Moment | None, until: Moment | None, files: Sequence[str], env: Environment, zone: str = ""
) -> str:
    """The filter expression `time >= … and time < …`. On standard input, a time of day means that time of any day.

    `zone`: the zone of times without one, as find_zone() takes it. No `files`: a live capture, which begins now.
    Raises Failure (usage).
    """
    parts = []
    moments = [since, until]
    for at, sign in enumerate((">=", "<")):
        moment = moments[at]
        if moment is not None and moment.since == "midnight" and not zone and any(map(is_read_once, files)):
            parts.append(f"time {sign} {timedelta(microseconds=moment.ns // 1000)}")
            moments[at] = None
    found = resolve_time_range(moments[0], moments[1], files, env, zone)
    parts += [
        f'time {sign} "{format_rfc3339(ns)}"' for sign, ns in zip((">=", "<"), found, strict=True) if ns is not None
    ]
    return " and ".join(parts)


def resolve_time_range(
    since: Moment | None, until: Moment | None, files: Sequence[str], env: Environment, zone: str = ""
) -> tuple[int | None, int | None]:
    """`since` and `until` in ns since 1970; captures are read for their first and last packet where that matters.

    No `files`: a live capture, which begins now. Raises Failure (usage).
    """
    span = (env.now_ns(), env.now_ns())
    if files and any(moment is not None and moment.since != "1970" for moment in (since, until)):
        for word in files:
            if is_read_once(word) or "://" in word:
                name = "standard input" if word == "-" else word
                text = f"kw cannot know when {name} begins and ends: give date and time, 2026-11-21T17:34:05Z"
                raise Failure(f"--since, --until: {text}", Exit.USAGE)
        from kwcli.reading.read_captures_by_time import find_time_span_of_captures

        found = find_time_span_of_captures(files, env)
        if found is None and all(map(os.path.isfile, files)):
            raise Failure(f"--since, --until: {files[0]} has no first and last time: give date and time", Exit.USAGE)
        span = found or (0, 0)  # problems of the files are reported when they are read
    from kwcli.output.short_texts import find_zone

    dated = [moment.ns for moment in (since, until) if moment is not None and moment.since == "1970"]
    whole = dated[0] if dated else span[0]
    offset = find_zone(zone).local_time(whole // 10**9).utcoffset()
    offset_ns = 0 if offset is None else round(offset.total_seconds()) * 10**9
    first = None if since is None else max(since.resolve_to_ns(*span, offset_ns), 0)
    last = None if until is None else max(until.resolve_to_ns(*span, offset_ns), 0)
    if first is not None and last is not None and first >= last:
        raise Failure("--since is not before --until: nothing is between them", Exit.USAGE)
    return first, last


def quote_filter_text(text: str) -> str:
    """A text as a string literal of the filter language."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _parse_filter(text: str, option: str) -> Filter:
    try:
        return parse(text)
    except FilterError as error:
        hint = did_you_mean(error.word, error.candidates) if error.word else ""
        if option != "-f":
            raise Failure(f"{error.text}{hint}", Exit.USAGE) from None
        from kwcli.other_tools_hints import FIELDS, is_tcpdump_filter

        if text.strip().lower() == "kafka":
            raise Failure("-f: kw shows only Kafka anyway: leave -f kafka out", Exit.USAGE) from None
        if is_tcpdump_filter(text):
            hint = f"; --bpf '{text}' filters a live capture, --port 9092 chooses ports"
        elif meant := FIELDS.get(error.word.lower(), FIELDS.get(error.word.lower().rpartition(".")[0])):
            hint = f" (did you mean {meant}?)"
        place = f"at column {error.column}: {_mark_column(text, error.column)}"
        raise Failure(f"-f: {error.text}{hint}, {place}", Exit.USAGE) from None


def _mark_column(text: str, column: int) -> str:
    """The part of an expression around a column (from 1), with a mark before the column."""
    at = column - 1
    before, after = text[max(0, at - 30) : at], text[at : at + 30]
    return f"{'…' if at > 30 else ''}{before}▸{after}{'…' if at + 30 < len(text) else ''}"
