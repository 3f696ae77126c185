"""How a run ends: each row plays a run; together the rows walk every transition of the table in how_runs_end.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from decoders.capture.read_capture import CaptureReader
from kwcli.capture_options import CaptureOptions
from kwcli.options import FilterOptions
from kwcli.output.output_settings import Settings
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.how_runs_end import TRANSITIONS, Event, RunEnds, RunPhase
from kwcli.reading.packet_sources import PacketSource, SegmentBatch
from kwcli.reading.run_coverage import PartialRun
from kwcli.reading.run_reading import ReadingOutcome, ReadingRun
from kwcli.reading.sinks.filter_sort_and_limit_rows import ReadingView
from kwcli.reading.sinks.fold_renderer import FoldRenderer
from kwcli.run_environment import Exit, Failure
from kwcli.sniff.write_matching_packets import MatchingPacketsWriter, show_and_copy_rows
from tests.captures.shipped import FOLDER
from tests.cli.worlds import world

# The beginning of a capture: 53 exchanges settle while it is read, 3 at its end.
TOUR = (FOLDER / "tour.pcapng").read_bytes()[:60_000]
SETTLED, OPEN = 53, 3
BROKEN_PIPE, STOPPED, REFUSED = BrokenPipeError(), KeyboardInterrupt(), Failure("the run cannot go on")


@dataclass
class Played:
    """A run to be played, and what is expected of it: its events, exit code, rows given to the answer, coverage."""

    events: Sequence[Event]
    code: Exit | BaseException
    rows: int | None = None
    partial: PartialRun | None = None
    raised: BaseException | None = None  # raised in this phase
    phase: str = ""
    problems: Sequence[str] = ()  # of inputs, known when they have been read
    late: bool = False  # an input is known to be broken when it is closed
    dropped: int | None = None
    unwritten: bool = False
    limit: int | None = None
    strict: bool = False


class PlayedSource(PacketSource):
    is_endless = False

    def __init__(self, played: Played) -> None:
        super().__init__()
        self.names, self.size, self.input_count = ["tour"], len(TOUR), 1
        self._played = played
        self._reader = CaptureReader()

    def read_batches(self) -> Iterator[SegmentBatch]:
        for at in range(0, len(TOUR), 1 << 14):
            if at and self._played.phase == "pulling" and self._played.raised is not None:
                raise self._played.raised
            piece = TOUR[at : at + (1 << 14)]
            self.taken += len(piece)
            yield SegmentBatch(self._reader.feed(piece), 0)
        self.problems += self._played.problems

    def packet_counts(self) -> Counter[str]:
        return Counter(self._reader.counts)

    def close(self) -> None:
        self.is_broken = self._played.late
        self.dropped = self._played.dropped
        self.packets_unwritten = self._played.unwritten


class PlayedAnswer(FoldRenderer):
    """An answer that counts its rows, and raises what is to be raised while it is given rows, or closed."""

    def __init__(self, played: Played) -> None:
        super().__init__([], "")
        self._played = played
        self.rows = self.closed = 0

    def write(self, rows: list[Any]) -> None:
        if self._played.phase in ("reading", "settling") and self._played.raised is not None:
            raise self._played.raised
        self.rows += len(rows)

    def close(self) -> None:
        self.closed += 1
        if self._played.phase == "closing" and self._played.raised is not None:
            raise self._played.raised


E, DONE = Event, Event.DONE
FIRST = 1 << 14  # bytes of the first piece
ROWS = {
    "to the end": Played([E.INPUT_ENDED, DONE, DONE, DONE], Exit.DONE, SETTLED + OPEN),
    "one of the inputs is broken": Played(
        [E.INPUT_BROKEN, E.INPUT_ENDED, DONE, E.INPUT_BROKEN, DONE, DONE],
        Exit.FAILURE,
        SETTLED + OPEN,
        problems=["tour: broken"],
    ),
    "an input is found broken at its end": Played(
        [E.INPUT_ENDED, DONE, E.INPUT_BROKEN, DONE, DONE], Exit.FAILURE, SETTLED + OPEN, late=True
    ),
    "nothing more can be read": Played(
        [E.INPUT_LOST, DONE, E.INPUT_BROKEN, DONE, DONE], Exit.FAILURE, raised=InputProblem("gone"), phase="pulling"
    ),
    "limit": Played([E.LIMIT_REACHED, DONE, DONE, DONE], Exit.DONE, 1, PartialRun("limit", FIRST, len(TOUR)), limit=1),
    "limit by what was open": Played(
        [E.INPUT_ENDED, E.LIMIT_REACHED, DONE, DONE, DONE],
        Exit.DONE,
        SETTLED + 1,
        PartialRun("limit", len(TOUR), len(TOUR)),
        limit=SETTLED + 1,
    ),
    "interrupted in the source": Played(
        [E.INTERRUPTED, DONE, DONE, DONE],
        Exit.INTERRUPTED,
        partial=PartialRun("interrupted", FIRST, len(TOUR)),
        raised=STOPPED,
        phase="pulling",
    ),
    "interrupted while rows are shown": Played(
        [E.INTERRUPTED, DONE, DONE, DONE],
        Exit.INTERRUPTED,
        0,
        PartialRun("interrupted", FIRST, len(TOUR)),
        raised=STOPPED,
        phase="reading",
    ),
    "interrupted with a broken input": Played(
        [E.INTERRUPTED, DONE, E.INPUT_BROKEN, DONE, DONE],
        Exit.INTERRUPTED,
        partial=PartialRun("interrupted", FIRST, len(TOUR)),
        raised=STOPPED,
        phase="pulling",
        late=True,
    ),
    "interrupted, settling": Played([E.INPUT_ENDED, E.INTERRUPTED], STOPPED, raised=STOPPED, phase="settling"),
    "interrupted, closing": Played([E.INPUT_ENDED, DONE, E.INTERRUPTED], STOPPED, raised=STOPPED, phase="closing"),
    "output closed, reading": Played([E.OUTPUT_CLOSED], BROKEN_PIPE, raised=BROKEN_PIPE, phase="reading"),
    "output closed, settling": Played(
        [E.INPUT_ENDED, E.OUTPUT_CLOSED], BROKEN_PIPE, raised=BROKEN_PIPE, phase="settling"
    ),
    "output closed, closing": Played(
        [E.INPUT_ENDED, DONE, E.OUTPUT_CLOSED], BROKEN_PIPE, raised=BROKEN_PIPE, phase="closing"
    ),
    "failed, reading": Played([E.FAILED], REFUSED, raised=REFUSED, phase="reading"),
    "failed, settling": Played([E.INPUT_ENDED, E.FAILED], REFUSED, raised=REFUSED, phase="settling"),
    "failed, closing": Played([E.INPUT_ENDED, DONE, E.FAILED], REFUSED, raised=REFUSED, phase="closing"),
    "traffic lost": Played(
        [E.INPUT_ENDED, DONE, E.TRAFFIC_LOST, DONE, DONE], Exit.LOSSY, SETTLED + OPEN, dropped=7, strict=True
    ),
    "traffic lost, and nobody asks": Played([E.INPUT_ENDED, DONE, DONE, DONE], Exit.DONE, SETTLED + OPEN, dropped=7),
    "packets not kept": Played(
        [E.INPUT_ENDED, DONE, E.PACKETS_UNWRITTEN, DONE, DONE], Exit.FAILURE, SETTLED + OPEN, unwritten=True
    ),
}
# What copying packets returns or raises (`kw sniff FILE -w OUT`) → the events after those of reading, the exit code.
COPYING: list[tuple[bool | BaseException, Sequence[Event], Exit | BaseException]] = [
    (True, [DONE], Exit.DONE),
    (False, [E.PACKETS_UNWRITTEN, DONE], Exit.FAILURE),
    (STOPPED, [E.INTERRUPTED], STOPPED),
    (BROKEN_PIPE, [E.OUTPUT_CLOSED], BROKEN_PIPE),
    (REFUSED, [E.FAILED], REFUSED),
]
READ = (E.INPUT_ENDED, DONE, DONE)


def play(row: Played) -> tuple[ReadingRun, PlayedAnswer, ReadingOutcome | BaseException]:
    answer = PlayedAnswer(row)
    run = ReadingRun(
        world(),
        Settings(),
        CaptureOptions(("tour",)),
        FilterOptions(limit=row.limit),
        view=ReadingView(lambda _key, _side: frozenset(), lambda _write: answer),
        sort="time" if row.phase == "settling" else None,
        strict=row.strict,
    )
    try:
        return run, answer, run.read_source(PlayedSource(row))
    except BaseException as raised:
        return run, answer, raised


@pytest.mark.parametrize("name", ROWS)
def test_a_run_ends_as_the_table_says(name: str) -> None:
    row = ROWS[name]
    run, answer, outcome = play(row)
    assert run.outcome.ends.events == row.events
    assert (run.outcome.ends.phase, answer.closed) == (RunPhase.ENDED, int(DONE in row.events))
    assert (outcome.exit_code() if isinstance(outcome, ReadingOutcome) else outcome) == row.code
    if row.rows is not None:
        assert answer.rows == row.rows
    if answer.closed:
        assert answer.coverage == run.outcome.coverage
        assert answer.coverage.partial == row.partial


@pytest.mark.parametrize(("copied", "events", "code"), COPYING)
def test_copying_packets_is_the_last_phase(
    copied: bool | BaseException,
    events: Sequence[Event],
    code: Exit | BaseException,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    noted: list[Event] = []
    note = RunEnds.note_event

    def copy(_writer: MatchingPacketsWriter, _captures: object) -> bool:
        if isinstance(copied, BaseException):
            raise copied
        return copied

    def keep(ends: RunEnds, event: Event) -> None:
        noted.append(event)
        note(ends, event)

    monkeypatch.setattr(MatchingPacketsWriter, "copy_kept_packets", copy)
    monkeypatch.setattr(RunEnds, "note_event", keep)
    capture = CaptureOptions((str(FOLDER / "tour.pcapng"),), write=str(tmp_path / "out.pcapng"))
    found: Exit | BaseException
    try:
        found = show_and_copy_rows(world(), Settings(), capture, FilterOptions(), sort=None, strict=False)
    except BaseException as raised:
        found = raised
    assert (noted, found) == ([*READ, *events], code)


def test_the_rows_walk_every_transition() -> None:
    walked = set()
    for events in (*(row.events for row in ROWS.values()), *((*READ, *after) for _, after, _ in COPYING)):
        ends = RunEnds()
        for event in events:
            walked.add((ends.phase, event))
            ends.note_event(event)
    assert walked == set(TRANSITIONS)


def test_what_the_table_does_not_have_cannot_happen() -> None:
    ends = RunEnds()
    for event in (E.INPUT_ENDED, DONE, DONE, DONE):
        ends.note_event(event)
    for event in Event:
        with pytest.raises(KeyError):
            ends.note_event(event)


def test_the_gravest_event_makes_the_exit_code() -> None:
    found = [play(ROWS[name])[2] for name in ("interrupted with a broken input", "packets not kept")]
    codes = [each.exit_code() for each in found if isinstance(each, ReadingOutcome)]
    assert codes == [Exit.INTERRUPTED, Exit.FAILURE]
