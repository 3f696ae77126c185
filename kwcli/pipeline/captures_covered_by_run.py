"""The captures asked for and the captures of the present tables in, all captures that a run covers out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoders.named_tuple import NamedTuple
from kwcli import VERSION
from kwcli.output.short_texts import count_of
from kwcli.pipeline.read.find_captures import find_captures
from kwcli.pipeline.store.tables_manifest import explain_missing_captures, find_captures_left_out
from kwcli.pipeline.tables.table_columns import TABLES_VERSION
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kwcli.pipeline.read.find_captures import FoundCaptures, SourceFile
    from kwcli.pipeline.read.split_and_file_range import Problem
    from kwcli.pipeline.run_options import RunOptions
    from kwcli.pipeline.store.tables_manifest import Manifest

__all__ = ["CoveredCaptures", "add_captures_covered_by_tables", "find_captures_asked_for"]


class CoveredCaptures(NamedTuple):
    """All captures of the tables to be, sorted by point and path; `problems` are of captures that could not be had.

    `new` counts the captures that are not in the present tables, or have changed since; `asked` those asked for now.
    """

    files: list[SourceFile]
    problems: list[Problem]
    notes: list[str]
    new: int
    asked: int

    def describe_action(self, manifest: Manifest | None, options: Mapping[str, Any], *, up_to_date: bool) -> str:
        """What the run does with the folder, in words."""
        if manifest is None:
            return "new"
        if up_to_date:
            damaged = manifest.facts.get("damaged", 0)
            which = f"{format_captures_asked_for(self)}{f', {damaged:,} damaged,' if damaged else ''}"
            return f"covers {which} already: nothing to do"
        count = count_of(len(manifest.sources), "capture")
        again = "it is read again" if len(self.files) == 1 else f"all {len(self.files):,} are read again"
        if dict(manifest.options) != dict(options):
            return f"covers {count} with other options: {again}"
        if self.new:
            which = "1 is new or has changed" if self.new == 1 else f"{self.new:,} are new or have changed"
            return f"covers {count}, {which}: {again}"
        if manifest.kw != VERSION or manifest.version != TABLES_VERSION:
            return f"covers {count}, written by another version of kw: {again}"
        return f"covers {count}, but its tables are not whole: {again}"


def format_captures_asked_for(covered: CoveredCaptures) -> str:
    these = "this capture" if covered.asked == 1 else f"these {covered.asked:,} captures"
    others = len(covered.files) - covered.asked
    return f"{these} and {count_of(others, 'other')}" if others else these


def find_captures_asked_for(options: RunOptions) -> FoundCaptures:
    """Find the captures asked for. Failure where there are none."""
    found = find_captures(options.sources, options.points)
    if not found.files:
        raise Failure(str(found.problems[0]) if found.problems else explain_no_captures(options, found.notes))
    return found


def add_captures_covered_by_tables(
    options: RunOptions, found: FoundCaptures, manifest: Manifest | None
) -> CoveredCaptures:
    """Add the captures that the tables cover already. Failure where one of these captures is missing now."""
    left = find_captures_left_out(manifest, found.files)
    again = find_captures(
        [source.path for source in left if not source.point],
        [(source.point, source.path) for source in left if source.point],
    )
    if again.problems or len(again.files) < len(left):
        there = {file.path for file in again.files}
        raise Failure(explain_missing_captures(options.out, [source for source in left if source.path not in there]))
    files = sorted(found.files + again.files, key=lambda file: (file.point, file.path))
    known = {(source.point, source.path, source.fingerprint) for source in manifest.sources} if manifest else set()
    new = sum((file.point, file.path, file.fingerprint) not in known for file in files)
    return CoveredCaptures(files, found.problems, found.notes, new, len(found.files))


def explain_no_captures(options: RunOptions, notes: list[str]) -> str:
    words = [*options.sources, *(place for _, place in options.points)]
    return notes[0] if notes else f"{words[0]}: no captures in it"
