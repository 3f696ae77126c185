"""Splits of captures: read one after the other they give every segment of the whole, once and in its place."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from decoders.capture.merge import merged
from decoders.capture.numbering import before
from decoders.capture.reader import CaptureReader
from decoders.streams.chunks import Segment
from kwcli.env import Environment
from kwcli.inputs import InputProblem, open_source
from kwcli.pipeline.sources import find
from kwcli.pipeline.splits import Plan, Problem, plan, segments
from tests.captures.shipped import CLEAN, FOLDER, NEGATIVE

Result = tuple[list[Segment], Counter[str], list[str]]


def whole(paths: Sequence[Path]) -> Result:
    """What `kw sniff` reads of these files."""
    counts: Counter[str] = Counter()
    problems: list[str] = []
    feeds = []
    for number, path in enumerate(paths):
        reader = CaptureReader(before=before(number))
        feed: list[list[Segment]] = []
        source = open_source(str(path), Environment.of_process())
        try:
            feed += [reader.feed(piece) for piece in source.pieces()]
            reader.finish()
        except InputProblem as problem:
            problems.append(problem.text)
        source.close()
        feeds.append(feed)
        counts.update(reader.counts)
        if reader.problem is not None:
            problems.append(str(Problem(str(path), reader.problem.offset, reader.problem.text)))
    return [segment for batch in merged(feeds) for segment in batch], +counts, sorted(problems)


def split(made: Plan) -> Result:
    """What the splits of a plan give, one after the other."""
    out: list[Segment] = []
    counts: Counter[str] = Counter()
    problems = [str(problem) for problem in made.problems]
    for one in pickle.loads(pickle.dumps(made.splits)):
        reading = segments(one)
        for batch in reading:
            out += batch
        counts.update(reading.counts)
        problems += map(str, reading.problems)
    return out, +counts, sorted(problems)


def planned(paths: Sequence[Path], split_size: int, lead_size: int = 1 << 20) -> Plan:
    found = find(map(str, paths))
    assert not found.problems
    assert not found.notes
    return plan(found.files, split_size, lead_size=lead_size)


@pytest.mark.parametrize("size", [3000, 40_000, 1 << 28])
@pytest.mark.parametrize("name", CLEAN + NEGATIVE)
def test_shipped_captures(name: str, size: int) -> None:
    path = FOLDER / name
    made = planned([path], size, 20_000)
    assert split(made) == whole([path])
    if path.suffix in (".gz", ".zst") or size > path.stat().st_size:
        assert len(made.splits) == 1
    else:
        assert len(made.splits) > 1
    assert all(len(pickle.dumps(one)) < 4000 for one in made.splits)
