"""The plan of a run in, lines of text out: what the run would do, and why (`kw pipeline run --explain`)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from decoders.wire.format_and_escape_text import format_size
from kwcli.output.short_texts import count_of
from kwcli.pipeline.choose_engine import find_required_java
from kwcli.pipeline.plan_splits import choose_split_size
from kwcli.reading.sinks.closing_lines import format_time_span
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwcli.pipeline.captures_covered_by_run import CoveredCaptures
    from kwcli.pipeline.choose_engine import EngineChoice
    from kwcli.pipeline.plan_splits import SplitPlan
    from kwcli.pipeline.read.find_captures import SourceFile
    from kwcli.pipeline.read.split_and_file_range import FileRange
    from kwcli.pipeline.run_options import RunOptions

__all__ = ["format_run_explanation", "format_source_lines"]


def _describe_bodies(options: RunOptions) -> str:
    if not options.bodies:
        return ""
    return " with bodies and records" if options.records else " with bodies"


def format_run_explanation(
    options: RunOptions,
    covered: CoveredCaptures,
    plan: SplitPlan,
    engine_choice: EngineChoice,
    state: str,
    variables: Mapping[str, str],
) -> Iterator[str]:
    """The lines of `--explain`: sources, splits, selection, tables, engine, Java; `state` is what the folder covers."""
    files = covered.files
    yield f"sources  {count_of(len(files), 'capture')}, {format_size(sum(file.size for file in files))}"
    yield from format_source_lines(files, plan, engine_choice)
    yield f"splits   {_describe_splits(options, files, plan, engine_choice)}"
    yield f"select   {_describe_selection(options)}"
    yield f"tables   {', '.join(options.tables)}{_describe_bodies(options)}"
    yield f"out      {options.out}: {state}"
    master = f", on {engine_choice.master}" if engine_choice.master else ""
    yield f"engine   {engine_choice.engine}: {engine_choice.why}{master}"
    try:
        found = str(find_required_java(variables))
    except Failure as failure:
        found = failure.text
    yield f"java     {found}"


def format_source_lines(files: list[SourceFile], plan: SplitPlan, engine_choice: EngineChoice) -> Iterator[str]:
    """A line for each capture: its point, size, splits where the engine makes any, times."""
    pieces: defaultdict[int, list[FileRange]] = defaultdict(list)
    splits: Counter[int] = Counter()
    for split in plan.splits:
        for piece in split.pieces:
            pieces[piece.file].append(piece)
            splits[piece.file] += 1
    named = max((len(file.point) for file in files), default=0)
    wide = max((len(file.name) for file in files), default=0)
    for number, file in enumerate(files):
        point = f"{file.point or '–':{named}}  " if named else ""
        words = [f"{format_size(file.size):>7}"]
        if not splits[number]:
            words.append("nothing in it")
        elif engine_choice.has_splits:
            words.append(count_of(splits[number], "split"))
        words += _format_packet_times(pieces[number])
        yield f"  {point}{file.name:{wide}}  {'  '.join(words)}"


def _describe_splits(options: RunOptions, files: list[SourceFile], plan: SplitPlan, engine_choice: EngineChoice) -> str:
    merged = sum(split.merged for split in plan.splits)
    if not engine_choice.has_splits:
        side_by_side = ", those that overlap in time side by side" if merged else ""
        return f"none: one process reads each capture from end to end{side_by_side}"
    size = options.split_size or choose_split_size(sum(file.size for file in files))
    together = f", {merged:,} of them of captures that overlap in time" if merged else ""
    return f"{count_of(len(plan.splits), 'split')} of at most {format_size(size)}{together}"


def _format_packet_times(pieces: list[FileRange]) -> list[str]:
    """The times of the first and last packet; only the first where the last is unknown."""
    lows = [piece.low_ns for piece in pieces if piece.low_ns is not None]
    highs = [piece.high_ns for piece in pieces if piece.high_ns is not None]
    if not lows:
        return []
    if not highs:
        return [format_time_span(min(lows), min(lows)).partition("–")[0] + "–… UTC"]
    return [format_time_span(min(lows), max(highs))]


def _describe_selection(options: RunOptions) -> str:
    parts = [f"since {_format_time(options.since_ns)}"] if options.since_ns is not None else []
    if options.until_ns is not None:
        parts.append(f"until {_format_time(options.until_ns)}")
    if options.filter:
        parts.append(options.filter)
    if options.ports:
        parts.append(f"ports {','.join(map(str, sorted(set(options.ports))))}")
    return "; ".join(parts) or "everything"


def _format_time(time_ns: int) -> str:
    fraction = f".{time_ns % 10**9:09}".rstrip("0").rstrip(".")
    return format_time_span(time_ns, time_ns).partition("–")[0].replace(" ", "T") + fraction + "Z"
