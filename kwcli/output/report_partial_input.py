"""What an answer covers of its inputs in, the sentences and the values that say so out: the same in every answer.

An answer made of a part of its inputs says so beside its verdict: text, tables and Markdown in a sentence on standard
output, CSV in a column `partial` and on standard error, JSON and YAML in `partial` of each row and on standard error.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from decoders.wire.format_and_escape_text import format_size
from kwcli.output.short_texts import count_of, palette

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings
    from kwcli.reading.run_coverage import PartialRun, RunCoverage
    from kwcli.run_environment import Environment

__all__ = [
    "add_partial_to_rows",
    "describe_full_index",
    "describe_judged_part",
    "describe_partial_run",
    "format_partial_as_cell",
    "format_partial_note",
    "list_partial_sentences",
    "make_partial_record",
    "report_sentences",
]

# The formats that have a sentence for people on standard output.
_SAID_IN_OUTPUT: Final = frozenset({"text", "table", "md"})
_HOW: Final = {"interrupted": "interrupted", "limit": "ended by --limit"}


def format_partial_as_cell(partial: PartialRun) -> str:
    """`interrupted at 3 % (70.0MB of 2.1GB)`; without a size of the inputs `interrupted after 70.0MB`."""
    how, read, size = _HOW[partial.why], partial.read, partial.of
    if size is None:
        return f"{how} after {format_size(read)}"
    if read >= size:
        return how
    share = read / size * 100
    percent = "less than 1" if 0 < share < 1 else str(int(share))
    return f"{how} at {percent} % ({format_size(read)} of {format_size(size)})"


def describe_partial_run(partial: PartialRun) -> str:
    """`interrupted at 3 % (70.0MB of 2.1GB); the rest is not read`."""
    read_all = partial.of is not None and partial.read >= partial.of
    return f"{format_partial_as_cell(partial)}; the rest is not {'counted' if read_all else 'read'}"


def list_partial_sentences(partial: PartialRun | None) -> list[str]:
    """What an answer says of the part of the inputs that it was made of; empty where that is all of them."""
    return [] if partial is None else [describe_partial_run(partial)]


def describe_full_index(left_out: Mapping[str, int]) -> list[str]:
    """What an answer about records says where there was no room for so many of these nouns."""
    parts = [count_of(count, noun) for noun, count in sorted(left_out.items(), key=lambda each: -each[1]) if count]
    if not parts:
        return []
    what = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    verb = "is" if sum(left_out.values()) == 1 else "are"
    return [f"{what} {verb} beyond what kw keeps, and left out: ask for less, by --topic, --since or --until"]


def describe_judged_part(coverage: RunCoverage) -> str:
    """`judged by 17 of 472 exchanges`, where filters or a limit have left some out; else empty."""
    limited = coverage.partial is not None and coverage.partial.why == "limit"
    if coverage.matched >= coverage.exchanges or not (coverage.filtered or limited):
        return ""
    noun = "exchange" if coverage.exchanges == 1 else "exchanges"
    return f"judged by {coverage.matched:,} of {coverage.exchanges:,} {noun}"


def make_partial_record(partial: PartialRun) -> dict[str, Any]:
    """`{"why": "interrupted", "read": 70000000, "of": 2060000000}`: `partial` of a row of JSON."""
    return partial._asdict()


def add_partial_to_rows(
    rows: Iterable[Mapping[str, Any]], partial: PartialRun | None, *, as_text: bool
) -> Iterator[dict[str, Any]]:
    """The rows, each with `partial` as its last value where the run was partial: an object, or text for a cell."""
    if partial is None:
        yield from map(dict, rows)
        return
    said = format_partial_as_cell(partial) if as_text else make_partial_record(partial)
    for row in rows:
        yield {**row, "partial": said}


def format_partial_note(sentences: Iterable[str], settings: Settings) -> str:
    """The sentences as lines for standard output, as text and tables have them at the end; empty without any."""
    said = list(filter(None, sentences))
    if not said or settings.format not in _SAID_IN_OUTPUT:
        return ""
    colors = palette(settings.color)
    lines = [line for each in said for line in (textwrap.wrap(each, settings.width) if settings.width else [each])]
    return "".join(f"{colors.bad}{line}{colors.off}\n" for line in lines)


def report_sentences(env: Environment, settings: Settings, sentences: Iterable[str]) -> None:
    """Print the sentences on standard error, for formats that have no place for them; --quiet does not hide them."""
    if settings.format not in _SAID_IN_OUTPUT:
        for sentence in sentences:
            env.report(f"kw: {sentence}")
