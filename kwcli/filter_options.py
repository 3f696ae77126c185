"""The filters of the command line in, one `Filter` out: the short options are other words for the filter language."""

from __future__ import annotations

from collections.abc import Iterable

from decoders.filters import Filter, FilterError, parse
from kwcli.env import Exit, Failure
from kwcli.spelling import did_you_mean, find_api

# What --errors means: an error code, something undecodable, or a request that the end of its connection left alone.
# What the capture lacks (a snap length, a direction) went wrong with the capture and not with Kafka; codes that the
# protocol means so are no errors.
_LEFT_ALONE = "(status == unanswered and closed in (fin, rst) and reason != one_direction)"
_UNREAD = "(undecoded and not undecoded in (snaplen, no_request))"
WENT_WRONG = f"(unexpected or {_UNREAD} or {_LEFT_ALONE})"
# The same with those codes.
EVERY_ERROR = f"(error or {WENT_WRONG})"


def select(
    expression: str | None = None,
    *,
    apis: Iterable[str] = (),
    client_ids: Iterable[str] = (),
    topics: Iterable[str] = (),
    errors: bool = False,
    errors_all: bool = False,
    slower_than: float | None = None,
) -> Filter:
    """What -f and the short options ask for, all of which must hold; several values of one option are alternatives.

    `slower_than` is in milliseconds. Failure (usage) says what is wrong, and where.
    """
    parts = []
    for option, field, sign, values in (
        ("--api", "api", "in", [_api(name) for name in apis]),
        ("--client-id", "client_id", "like", client_ids),
        ("--topic", "topic", "like", topics),
    ):
        if texts := [_quoted(value) for value in values]:
            part = f"{field} {sign} ({', '.join(texts)})"
            _parsed(part, option)
            parts.append(part)
    if slower_than is not None:
        parts.append(f"latency > {f'{slower_than:.9f}'.rstrip('0').rstrip('.')}ms")
    if errors or errors_all:
        parts.append(EVERY_ERROR if errors_all else WENT_WRONG)
    if expression is not None and expression.strip():
        _parsed(expression, "-f")
        parts.append(f"({expression})")
    return parse(" and ".join(parts))


def without_expected(selection: Filter) -> Filter | None:
    """What --errors of a filter leaves out and --errors all shows in its place; None where it says no such thing."""
    text = selection.text
    return parse(text.replace(WENT_WRONG, f"(error and not {WENT_WRONG})")) if WENT_WRONG in text else None


def _api(name: str) -> str:
    """A number may be one that kw does not know."""
    return name if name.isascii() and name.isdecimal() else find_api(name).name


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _parsed(text: str, option: str) -> Filter:
    try:
        return parse(text)
    except FilterError as error:
        hint = did_you_mean(error.word, error.candidates) if error.word else ""
        if option != "-f":
            raise Failure(f"{error.text}{hint}", Exit.USAGE) from None
        place = f"at column {error.column}: {_marked(text, error.column)}"
        raise Failure(f"-f: {error.text}{hint}, {place}", Exit.USAGE) from None


def _marked(text: str, column: int) -> str:
    """The expression with a mark before the place, cut to what is around it."""
    at = column - 1
    before, after = text[max(0, at - 30) : at], text[at : at + 30]
    return f"{'…' if at > 30 else ''}{before}▸{after}{'…' if at + 30 < len(text) else ''}"
