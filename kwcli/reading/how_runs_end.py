"""How a run that reads captures ends: what happens in, the phase that the run goes on in out.

The problem. Inputs end, never end, break in the middle or cannot be opened at all. A person stops a run by Ctrl-C, a
supervisor by SIGTERM, `--limit` by a number, `| head` by closing the pipe. In each case what was decoded so far is to
be written once and whole, open exchanges are to be shown or not, and answer, closing line and exit code have to agree
on what happened.

The idea. One loop, `ReadingRun`, pulls and pushes. It pulls segments from a source (packet_sources.py), which knows
nothing of rows, has them decoded, and pushes the rows to a sink (sinks/filter_sort_and_limit_rows.py), which knows
nothing of sources. Neither of them ends the run. What they do is an event here, and the table TRANSITIONS says in which
phase the run goes on; whatever stands in no row of the table cannot happen.

                    input ended, input lost,
                    limit reached, interrupted
        ┌─────────┐                            ┌──────────┐      ┌─────────┐      ┌─────────┐      ┌───────┐
        │ reading │───────────────────────────►│ settling │─────►│ closing │─────►│ copying │─────►│ ended │
        └──┬───▲──┘                            └──────────┘ done └─────────┘ done └─────────┘ done └───────┘
           └───┘ input broken                        │                │                │               ▲
                                                     └────────────────┴────────────────┴───────────────┘
                       interrupted again; in every phase: output closed, failed

*Reading*: one of several inputs may break and the others are read on. *Settling*: exchanges that are still open are
shown where the inputs ended by themselves, and only then: after Ctrl-C or a limit an answer may still have been on
its way. Then rows that were kept to be sorted are shown, and those that workers have. *Closing*: the answer is written,
then messages and the closing line. *Copying*: `kw sniff FILES -w OUT` copies packets; all others have nothing to do.

What always holds: the first Ctrl-C ends the reading and nothing else, so that what was decoded is written; the second
one ends the run at once. SIGTERM is the same event (main.py). A closed output ends the run without a word. The exit
code is that of the gravest event (EXIT_CODES).

What is given up: an output that is closed while workers of --jobs write is noticed by the next write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Final

from kwcli.reading.run_coverage import PartialRun
from kwcli.run_environment import Exit

__all__ = ["EXIT_CODES", "TRANSITIONS", "Event", "RunEnds", "RunPhase"]


class RunPhase(Enum):
    """What a run is doing."""

    READING = "reading"
    SETTLING = "settling"
    CLOSING = "closing"
    COPYING = "copying"
    ENDED = "ended"


class Event(Enum):
    """What happens in a run and may end it, or the phase that it is in."""

    INPUT_ENDED = "input ended"  # all inputs were read to their ends
    INPUT_BROKEN = "input broken"  # one input, or the rest of one, cannot be read
    INPUT_LOST = "input lost"  # nothing more can be read
    LIMIT_REACHED = "limit reached"
    INTERRUPTED = "interrupted"  # by Ctrl-C or SIGTERM
    OUTPUT_CLOSED = "output closed"  # nobody reads standard output any more
    FAILED = "failed"  # the run cannot go on: a Failure, or a defect
    PACKETS_UNWRITTEN = "packets unwritten"  # those that -w was to keep
    TRAFFIC_LOST = "traffic lost"  # under --strict: traffic is missing, or could not be decoded
    DONE = "done"  # the phase has nothing more to do


TRANSITIONS: Final[Mapping[tuple[RunPhase, Event], RunPhase]] = {
    (RunPhase.READING, Event.INPUT_BROKEN): RunPhase.READING,
    (RunPhase.READING, Event.INPUT_ENDED): RunPhase.SETTLING,
    (RunPhase.READING, Event.INPUT_LOST): RunPhase.SETTLING,
    (RunPhase.READING, Event.LIMIT_REACHED): RunPhase.SETTLING,
    (RunPhase.READING, Event.INTERRUPTED): RunPhase.SETTLING,
    (RunPhase.SETTLING, Event.LIMIT_REACHED): RunPhase.SETTLING,  # by exchanges that were open
    (RunPhase.SETTLING, Event.DONE): RunPhase.CLOSING,
    (RunPhase.CLOSING, Event.INPUT_BROKEN): RunPhase.CLOSING,  # found out when the input was closed
    (RunPhase.CLOSING, Event.TRAFFIC_LOST): RunPhase.CLOSING,
    (RunPhase.CLOSING, Event.PACKETS_UNWRITTEN): RunPhase.CLOSING,  # of a live capture
    (RunPhase.CLOSING, Event.DONE): RunPhase.COPYING,
    (RunPhase.COPYING, Event.PACKETS_UNWRITTEN): RunPhase.COPYING,  # cut out of files
    (RunPhase.COPYING, Event.DONE): RunPhase.ENDED,
    **{(phase, Event.INTERRUPTED): RunPhase.ENDED for phase in (RunPhase.SETTLING, RunPhase.CLOSING, RunPhase.COPYING)},
    **{
        (phase, event): RunPhase.ENDED
        for phase in RunPhase
        if phase is not RunPhase.ENDED
        for event in (Event.OUTPUT_CLOSED, Event.FAILED)
    },
}
# The gravest event first. An event that is not here does not change the exit code, or raises (FAILED).
EXIT_CODES: Final[Mapping[Event, Exit]] = {
    Event.PACKETS_UNWRITTEN: Exit.FAILURE,
    Event.INTERRUPTED: Exit.INTERRUPTED,
    Event.INPUT_LOST: Exit.FAILURE,
    Event.INPUT_BROKEN: Exit.FAILURE,
    Event.TRAFFIC_LOST: Exit.LOSSY,
}


class RunEnds:
    """The phase that a run is in, and the events so far, in their order."""

    def __init__(self) -> None:
        self.phase = RunPhase.READING
        self.events: list[Event] = []
        self._reading_ended_by: Event | None = None

    def note_event(self, event: Event) -> None:
        """Go on as TRANSITIONS says. Raises KeyError where the event cannot happen in this phase."""
        before, self.phase = self.phase, TRANSITIONS[self.phase, event]
        self.events.append(event)
        if before is RunPhase.READING is not self.phase:
            self._reading_ended_by = event

    @contextmanager
    def note_errors_that_end_run(self) -> Iterator[None]:
        """Note what ends the run at once; it is raised on."""
        try:
            yield
        except KeyboardInterrupt:
            self._end_at_once(Event.INTERRUPTED)
            raise
        except BrokenPipeError:
            self._end_at_once(Event.OUTPUT_CLOSED)
            raise
        except Exception:
            self._end_at_once(Event.FAILED)
            raise

    def _end_at_once(self, event: Event) -> None:
        if self.phase is not RunPhase.ENDED:
            self.note_event(event)
            self.phase = (
                RunPhase.ENDED
            )  # also where the first Ctrl-C came after the reading, too late to be caught there

    @property
    def reached_end(self) -> bool:
        """Whether the reading has ended because there was no more to read: then open exchanges are shown."""
        return self._reading_ended_by in (Event.INPUT_ENDED, Event.INPUT_LOST)

    @property
    def reached_limit(self) -> bool:
        """Whether as many rows as wanted have been shown; the others are not."""
        return Event.LIMIT_REACHED in self.events

    def make_partial_run(self, read: int, size: int | None, *, is_endless: bool) -> PartialRun | None:
        """What was read (`read` of `size` bytes) where that is not all; Ctrl-C is how an endless input ends."""
        if self.reached_limit:
            return PartialRun("limit", read, size)
        if self._reading_ended_by is Event.INTERRUPTED and not is_endless:
            return PartialRun("interrupted", read, size)
        return None

    def exit_code(self) -> Exit:
        """The exit code of the run."""
        return next((code for event, code in EXIT_CODES.items() if event in self.events), Exit.DONE)
