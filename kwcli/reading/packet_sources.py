"""What a run reads, as one interface: segments of packets out, batch by batch, and at the end what is to be said of it.

| source | what it reads | ends |
| --- | --- | --- |
| `FileSource` | files, folders, patterns, standard input, by packet time; records of kw, tables | with its inputs |
| `FollowedSource` | a file that grows, and the files that its writer goes on with | never by itself |
| `LiveSource` | the packets of an interface | never by itself |

A source is pulled by one loop (run_reading.py), which also says why the reading ends (run_ends.py). A source knows
nothing of exchanges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from decoders.capture.read_capture import CaptureReader

if TYPE_CHECKING:
    from decoders.errors import DecodeError
    from decoders.tcp.chunks import Segment
    from kwcli.reading.capture_inputs import Captures
    from kwcli.reading.follow_captures import CaptureFollower
    from kwcli.reading.live_capture import LiveCapture
    from kwcli.run_environment import Environment

__all__ = ["FileSource", "FollowedSource", "LiveSource", "PacketSource", "PieceWriter"]


class PacketSource:
    """What all sources have. `names` are the names of the captures, by their numbers in packets (merge_captures.py).

    `problems` are messages about inputs that cannot be read, or not to their ends; `dropped` are the packets that the
    kernel has dropped, None where nobody counts them; `packets_unwritten`: packets that were to be kept were not.
    """

    is_endless = True
    has_files = True  # whether `names` are those of files
    greeting = ""  # said before the first batch
    dropped: int | None = None
    packets_unwritten = False
    is_broken = False  # an input had a problem, which was reported at once
    recorded: Captures | None = None  # the inputs that hold exchanges, as records of kw, and no packets

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.problems: list[str] = []

    @property
    def taken(self) -> int:
        """How many bytes of the inputs were read so far."""
        raise NotImplementedError

    @property
    def size(self) -> int | None:
        """How many bytes the inputs have; None where that is not known."""
        return None

    @property
    def count(self) -> int | None:
        """The number of inputs that could be opened; None for an endless source."""
        return None

    def read_batches(self) -> Iterator[tuple[list[Segment], int]]:
        """Segments as they come, and the time by the packets' clock in ns; 0: that of the segments.

        Raises InputProblem where nothing more can be read.
        """
        raise NotImplementedError

    def packet_counts(self) -> Counter[str]:
        """The counts of the readers so far."""
        raise NotImplementedError

    @property
    def is_read_whole(self) -> bool:
        """Whether what was not found so far is not there."""
        return True

    def cut_captures(self) -> Sequence[tuple[str, DecodeError]]:
        """The names of captures that end inside a packet or hold something else than packets, with the error."""
        return ()

    def last_remarks(self) -> list[str]:
        """What is to be said of the inputs, now that they have been read."""
        return []

    def past_faults(self) -> list[str]:
        """The faults of the captures that tables among the inputs were made from."""
        return []

    def counts_besides_packets(self) -> list[tuple[int, str]]:
        """How many lines and rows were read, with the noun for each."""
        return []

    def close(self) -> None:
        """Close all files and sockets."""
        raise NotImplementedError


class FileSource(PacketSource):
    """Inputs that end. Those among them that are records and no packets are read afterwards (`recorded`)."""

    is_endless = False

    def __init__(self, captures: Captures) -> None:
        super().__init__(captures.names)
        self.problems = captures.problems
        self.recorded = captures if captures.records else None
        self._captures = captures

    @property
    def taken(self) -> int:
        return self._captures.taken

    @property
    def size(self) -> int | None:
        return self._captures.size

    @property
    def count(self) -> int | None:
        return self._captures.count

    def read_batches(self) -> Iterator[tuple[list[Segment], int]]:
        for segments in self._captures:
            yield segments, 0

    def packet_counts(self) -> Counter[str]:
        return self._captures.counts()

    def cut_captures(self) -> Sequence[tuple[str, DecodeError]]:
        return list(self._captures.cut())

    def last_remarks(self) -> list[str]:
        return self._captures.lacking

    def past_faults(self) -> list[str]:
        return self._captures.faults

    def counts_besides_packets(self) -> list[tuple[int, str]]:
        return [(self._captures.lines, "line"), (self._captures.rows, "row")]

    def close(self) -> None:
        self._captures.close()


class FollowedSource(PacketSource):
    """A file that grows and its ring."""

    def __init__(self, follower: CaptureFollower) -> None:
        super().__init__(follower.names)
        self.greeting = follower.greeting
        self._follower = follower

    @property
    def taken(self) -> int:
        return self._follower.taken

    def read_batches(self) -> Iterator[tuple[list[Segment], int]]:
        return self._follower.stream()

    def packet_counts(self) -> Counter[str]:
        return self._follower.counts()

    @property
    def is_read_whole(self) -> bool:
        return self._follower.counts()["packets"] > 0

    def last_remarks(self) -> list[str]:
        unfinished = self._follower.unfinished
        return [] if unfinished is None else [unfinished]

    def close(self) -> None:
        self._follower.close()
        self.is_broken = self._follower.broken


class PieceWriter(Protocol):
    """Keeps the pieces of a live capture; `failed`: it could not."""

    failed: bool

    def write(self, data: bytes) -> None:
        """Keep a piece, of whole blocks; b"" as time passes."""

    def close(self) -> None:
        """Close the file."""


class LiveSource(PacketSource):
    """The packets of an interface; `kept` takes them as they come."""

    has_files = False

    def __init__(self, capture: LiveCapture, kept: PieceWriter | None, env: Environment) -> None:
        super().__init__([capture.interface])
        self.greeting = f"listening on {capture.interface}; Ctrl-C ends"
        self._capture = capture
        self._kept = kept
        self._env = env
        self._reader = CaptureReader()

    @property
    def taken(self) -> int:
        return self._capture.taken

    def read_batches(self) -> Iterator[tuple[list[Segment], int]]:
        for piece in self._capture.stream_pcapng():
            if self._kept is not None:
                self._kept.write(piece)
            yield self._reader.feed(piece), self._env.now_ns()

    def packet_counts(self) -> Counter[str]:
        return Counter(self._reader.counts)

    def close(self) -> None:
        """Close the sockets; the last block that is kept has the counts of the kernel."""
        self.dropped, block = self._capture.read_drop_statistics()
        self._capture.close()
        if self._kept is not None:
            self._kept.write(block)
            self._kept.close()
            self.packets_unwritten = self._kept.failed
