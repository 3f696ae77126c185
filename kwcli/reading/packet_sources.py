"""What a run reads, as one interface: segments of packets out, batch by batch, and at the end what is to be said of it.

| source | what it reads | ends |
| --- | --- | --- |
| `Captures` | files, folders, patterns, standard input, by packet time; records of kw, tables | with its inputs |
| `CaptureFollower` | a file that grows, and the files that its writer goes on with | never by itself |
| `LiveCapture` | the packets of an interface | never by itself |
| `LivePlaces` | several pipes, commands, interfaces, as they come | when all of them have ended |

A source is pulled by one loop (run_reading.py), which also says why the reading ends (how_runs_end.py). A source knows
nothing of exchanges, but those that records of kw hold.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from decoders.errors import DecodeError
    from decoders.exchanges.exchange import Ended, Settled
    from decoders.tcp.stream_chunks import Segment

__all__ = ["PacketClock", "PacketSource", "SegmentBatch"]

BUSY_S: Final = 0.05
IDLE_S: Final = 0.2
# Without bytes for as long as this, looks are rarer.
_IDLE_AFTER_S: Final = 2.0
# A writer may hold packets back for as long as this (tcpdump without -U).
_BUFFERED_S: Final = 30.0


class SegmentBatch(NamedTuple):
    """Segments as they come, and the time by the packets' clock in ns; 0: that of the segments."""

    segments: list[Segment]
    now_ns: int


class PacketSource:
    """What all sources have; the defaults are those of one without files.

    `names` are the names of the captures, by their numbers in packets (merge_captures.py), `points` those of the places
    in rows, by the same numbers, where there are several; `taken` the bytes read so
    far, `size` those of all inputs (None: unknown), `input_count` how many inputs could be opened (None: endless).
    `problems` are messages about inputs that cannot be read, or not to their ends; `faults` are those of captures that
    tables among the inputs were made from.
    """

    is_endless = True
    is_broken = False  # an input had a problem, which was reported at once
    has_files = True  # whether `names` are those of files
    greeting = ""  # said before the first batch
    dropped: int | None = None  # packets that the kernel has dropped; None where nobody counts them
    packets_unwritten = False  # packets that were to be kept were not
    size: int | None = None
    input_count: int | None = None
    taken = 0
    points: Sequence[str] = ()
    records: Sequence[str] = ()  # names of the inputs that hold exchanges and no packets
    request_logs: Sequence[str] = ()  # those among them that are a broker's request log

    def __init__(self) -> None:
        self.names: list[str] = []
        self.problems: list[str] = []

    def read_batches(self) -> Iterator[SegmentBatch]:
        """Batches of segments as they come. Raises InputProblem where nothing more can be read."""
        raise NotImplementedError

    def release_rows(self, rows: list[Settled]) -> list[Settled]:
        """The rows that may be shown now: where several points see one packet, with the times of one of them."""
        return rows

    def finish_rows(self, rows: list[Settled]) -> list[Settled]:
        """The last rows, behind those that wait."""
        return rows

    def read_recorded_rows(self) -> Iterator[tuple[str, list[Settled]]]:
        """Names of inputs that hold records, each with some of its exchanges and skipped byte runs, input by input."""
        return iter(())

    def read_connection_ends(self) -> Iterator[Ended]:
        """How the connections in tables ended."""
        return iter(())

    def packet_counts(self) -> Counter[str]:
        """The counts of the readers so far."""
        raise NotImplementedError

    @property
    def is_read_whole(self) -> bool:
        """Whether what was not found so far is not there."""
        return True

    def cut_captures(self) -> Iterator[tuple[str, DecodeError]]:
        """The names of captures that end inside a packet or hold something else than packets, with the error."""
        return iter(())

    @property
    def faults(self) -> list[str]:
        """The faults of the captures that tables were made from."""
        return []

    def closing_remarks(self) -> list[str]:
        """What is to be said of the inputs, now that they have been read."""
        return []

    def counts_besides_packets(self) -> list[tuple[int, str]]:
        """How many lines and rows were read, with the noun for each."""
        return []

    def close(self) -> None:
        """Close all files and sockets."""


class PacketClock:
    """The time by the clock of the packets: that of the latest one, plus the time since it was read.

    It stands still for a while, because a writer holds packets back until its buffer is full (tcpdump without -U).
    """

    def __init__(self) -> None:
        self._latest_ns = 0
        self._came = time.monotonic()

    def note_segments(self, segments: list[Segment]) -> None:
        """Note that bytes came, with these segments in them."""
        self._came = time.monotonic()
        if segments:
            self._latest_ns = segments[-1][1]

    def now_ns(self) -> int:
        """The time in nanoseconds since 1970; 0 before the first segment."""
        passed = time.monotonic() - self._came - _BUFFERED_S
        return self._latest_ns + max(int(passed * 1e9), 0) if self._latest_ns else 0

    def pause_s(self) -> float:
        """The time until the next look, in seconds."""
        return BUSY_S if time.monotonic() - self._came < _IDLE_AFTER_S else IDLE_S
