"""One split of a capture's segments in, parts (`split_parts.py`) out, from which the whole capture's rows are stitched.

The problem. Several processes read a large capture, each from somewhere in the middle. The meaning of a segment depends
on all segments before it on its connection: which bytes are missing, which requests are in flight, which side is the
broker.

The idea. Each process decodes the segments that cannot depend on the past, and hands on the others undecoded:

```
split 1          split 2                     split 3
────────┬────────────────────────────┬──────────────────
 SYN …  │ … in step, nothing held …  │ … hole …            one connection
 rows   │ run of rows (a clean run)  │ segments            parts, by key and split
        └────────────┬───────────────┴──────► stitcher (stitch_rows.py): one key, its parts in order
                     agrees with the exact state there? its rows count : read the segments again
```

- A connection whose SYN is in the split is decoded here (`OpenedConnection`). If it is TLS and a secret was missing, it
  says which one: the secret may come later in the capture, or belong to a session that began in another split.
- A clean run (decode_with_unknown_past.py) begins where the past does not matter for the decoding of all that follows.
  It ends before its first segment that reassembly's fast path does not take.
- All other segments are handed on undecoded to a stitcher, also those of a TLS connection whose hellos are not in the
  split.

What always holds: any split of a capture gives the same rows as reading it whole. Rows are handed on in batches that
are believed or not as a whole; segments of the current batch are kept, or can be read again.

What is given up: work is done twice where a clean run does not fit the state before it. Parts may be large where no
clean run can begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Final, Protocol

from decoders.exchanges.body_reader import Needs
from decoders.exchanges.chunks_to_exchanges import Pairer
from decoders.exchanges.exchange import ConnectionInfo, Ended, Row, Settled
from decoders.exchanges.serialize_pairer_state import export_pairing, export_undecided
from decoders.frames.detect_kafka_connection import doubtful_until_ns
from decoders.limits import SEGMENT_COST
from decoders.splits.decode_with_unknown_past import CleanRun, state_needed_by_clean_run
from decoders.splits.split_parts import (
    END,
    FACT,
    ROWS,
    RUN,
    SEGMENTS,
    Part,
    SharedFacts,
    canonical_connection_key,
    pack_segments,
)
from decoders.tcp.connection_and_halves import MASK, NOT_TLS, Connection, Half, reverse_key
from decoders.tcp.find_connections_captured_twice import CopiesInSplit
from decoders.tcp.reassembly import RST, SYN, Reassembly, does_syn_replace_connection
from decoders.tcp.stream_chunks import Chunk, How, Segment
from decoders.tls.decrypt_chunks import Decryption, export_tls_connection, missing_secrets_of
from decoders.tls.key_log import KeyLog
from decoders.wire.state_serialization import pack

__all__ = ["PART_SIZE", "KeyTrack", "OpenedConnection", "Splitter", "WatchedReassembly"]

# Reassembly that calls a watcher before and after it takes an unusual segment.


class Watcher(Protocol):
    """The methods that Watched calls."""

    def flush(self) -> None:
        """Called when the chunks given so far have to be taken (`Watched.take_chunks`) before reassembly goes on."""

    def before_unusual_segment(self, half: Half | None, segment: Segment) -> None:
        """Called before a segment that the fast path does not take."""

    def after_unusual_segment(self, segment: Segment) -> None:
        """Called after a segment that the fast path did not take."""

    def before_connection_end(self, connection: Connection, packet: int) -> None:
        """Called when a connection is over at this packet, which may belong to another connection."""


class WatchedReassembly(Reassembly):
    """Reassembly of all TCP connections of a split, which calls a watcher around unusual segments."""

    def __init__(self, watcher: Watcher) -> None:
        super().__init__()
        self._watcher = watcher

    def take_chunks(self) -> list[Chunk]:
        """Take the chunks that the current feed has given so far; it does not give them again."""
        out = self._delivery.out[:]
        self._delivery.out.clear()
        return out

    def must_feed_one_by_one(self, segments: list[Segment]) -> bool:
        """Whether these segments must be fed one by one, so that `given` has all chunks."""
        return segments[-1][1] >= self._drowsy_ns

    def is_first_of_connection(self, half: Half | None, segment: Segment) -> bool:
        """Whether a segment is the SYN of a new connection."""
        if not segment[5] & SYN:
            return False
        first = segment[3] + 1 & MASK
        return (
            not self._connections.repeats_syn(segment[0], first, segment[1])
            if half is None
            else does_syn_replace_connection(half, first)
        )

    def is_dropped_segment(self, segment: Segment) -> bool:
        """Whether a segment that neither belongs to an open connection nor begins one is dropped."""
        return bool(segment[5] & (SYN | RST)) or self._connections.count_late_bytes(segment) is not None

    def _handle_segment_on_slow_path(self, half: Half | None, segment: Segment) -> None:
        if half is not None and half.connection.drowsy:
            self._watcher.flush()
        super()._handle_segment_on_slow_path(half, segment)

    def _handle_unusual_segment(self, half: Half | None, segment: Segment) -> None:
        self._watcher.before_unusual_segment(half, segment)
        super()._handle_unusual_segment(half, segment)
        self._watcher.after_unusual_segment(segment)

    def _close_connection(self, connection: Connection, how: How) -> None:
        self._watcher.before_connection_end(connection, self._delivery.packet)
        super()._close_connection(connection, how)


# The parts that a split hands on for one key, in order; segments are kept until there are enough for a part.


# About how many bytes of segments one part has.
PART_SIZE: Final = 256 << 10
# How many orphan responses wait for the first request of their clean run before they are handed on.
ORPHANS_MAX: Final = 1000
# A correlation id above all others.
_NONE: Final = 1 << 62


class OpenedConnection:
    """A connection whose SYN is in the split, so that its whole past is known and it is decoded here."""

    __slots__ = ("begun", "connection", "connection_info", "lack", "made", "numbers", "rows", "segment")

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.connection: Connection | None = None
        self.begun = False
        self.connection_info: ConnectionInfo | None = None  # of the latest RUN
        self.lack: list[Any] | None = None  # the TLS secrets that were missing, once the connection has ended
        self.numbers: list[int] = []  # of the connection, and of those that took its ports without a SYN
        self.rows: list[Row] = []
        self.made: list[Any] = []  # the projection of each row

    def add_row(self, row: Row, project: Callable[[Settled], Any]) -> None:
        """Take a row of the batch, and its projection; the end of a connection is kept as it is."""
        self.rows.append(row)
        self.made.append(row if isinstance(row, Ended) else project(row))

    def pack_run_part(self, if_known_before_ns: int) -> bytes:
        """The blob of the RUN part. Had the broker been known before `if_known_before_ns`, rows would be different."""
        goes_on, self.begun = self.begun, True  # begun already: a connection that took the ports without a SYN
        assert self.connection is not None
        first, second = self.connection.first, self.connection.second
        who: list[Any] = [first.source, second.source, self.connection.began_ns, None, None, None]
        if self.connection_info is not None:
            info = self.connection_info
            who = [info.client, info.broker, info.began_ns, info.tls, info.target, info.via_address]
        lack = self.lack or missing_secrets_of(self.connection)
        return pack([True, goes_on, self.segment, second.source, if_known_before_ns, who, lack])

    def pack_end_part(self, until_packet: int | None, watched: WatchedReassembly, pairer: Pairer) -> tuple[bytes, int]:
        """The blob of the END part, and the `late_ns` for a RUN part if the connection gave no row."""
        connection = self.connection
        assert connection is not None
        pairing = pairer.context.pairings.get(connection.number)
        undecided = pairer.context.undecided.get(connection.number)
        tls = NOT_TLS if connection.tls is NOT_TLS else export_tls_connection(connection.tls)
        state: list[Any] = [until_packet, watched.export_key(self.segment[0], connection), None, None, tls]
        late_ns = 0
        if pairing is not None:
            state[2], late_ns = export_pairing(pairing), pairing.connection_info.late_ns
        elif undecided is not None:
            state[3], late_ns = export_undecided(undecided), doubtful_until_ns(undecided)
        return pack(state), late_ns


class KeyTrack:
    """The parts of one key of a split. Without a clean run or a fresh connection, its segments are handed on."""

    __slots__ = ("clean_run", "countdown", "fresh", "key", "parts", "segments", "seq", "size", "tries")

    def __init__(self, key: bytes, parts: list[Part]) -> None:
        self.key = key
        self.parts = parts
        self.seq = 0
        self.segments: list[Segment] = []
        self.size = 0
        self.clean_run: CleanRun | None = None
        self.fresh: OpenedConnection | None = None
        self.tries = 1  # after how many segments to check again whether a clean run may begin
        self.countdown = 1

    def keep_segment(self, segment: Segment) -> int:
        """Keep a segment; returns the change in bytes kept, which may be negative."""
        self.segments.append(segment)
        size = len(segment[6]) + SEGMENT_COST
        self.size += size
        return size - self.emit_segments() if self.size >= PART_SIZE else size

    def emit_segments(self) -> int:
        """Hand on the segments kept; returns how many bytes they were."""
        size, self.size = self.size, 0
        if self.segments:
            self.emit_part(SEGMENTS, pack_segments(self.key, self.segments))
            self.segments = []
        return size

    def emit_part(self, part_kind: int, blob: bytes, rows: list[Any] | None = None) -> None:
        """Hand on the next part."""
        self.parts.append(Part(self.key, self.seq, part_kind, blob, rows or []))
        self.seq += 1

    def emit_rows(self, clean_run: CleanRun, believed_rows: list[Any]) -> int:
        """Hand on the believed rows of a clean run; returns the bytes of kept segments that were handed on before."""
        if not clean_run.begun and not believed_rows and clean_run.low is None and len(clean_run.orphans) < ORPHANS_MAX:
            return 0
        size = self.emit_begin_of_clean_run(clean_run)
        if believed_rows or clean_run.orphans:
            self.emit_part(ROWS, clean_run.pack_orphan_responses(), believed_rows)
        return size

    def emit_begin_of_clean_run(self, clean_run: CleanRun) -> int:
        """Hand on the RUN part of a clean run, once; returns the bytes of kept segments that were handed on before."""
        size = 0
        if not clean_run.begun:
            size = self.emit_segments()
            self.emit_part(RUN, clean_run.pack_run_part())
            if clean_run.low is None:
                clean_run.low = _NONE
        return size

    def emit_end_of_clean_run(self, clean_run: CleanRun, until_packet: int | None) -> int:
        """Hand on the END part of a clean run, unless it is empty; returns the bytes of kept segments handed on."""
        size = 0
        if clean_run.begun or not clean_run.is_empty:
            size = self.emit_begin_of_clean_run(clean_run)
            if clean_run.orphans:
                self.emit_part(ROWS, clean_run.pack_orphan_responses())
            self.emit_part(END, clean_run.pack_end_part(until_packet))
        return size

    def emit_opened_rows(self, opened: OpenedConnection) -> int:
        """Hand on the rows of a fresh connection; returns the bytes of kept segments that were handed on before."""
        size = self.emit_segments()
        pairs = zip(opened.rows, opened.made, strict=True)
        opened.rows, opened.made = [], []
        for number, group in groupby(pairs, key=lambda pair: pair[0].connection_info.number):
            its = list(group)
            if opened.connection_info is None or number != opened.connection_info.number:
                opened.connection_info = its[0][0].connection_info
                self.emit_part(RUN, opened.pack_run_part(opened.connection_info.late_ns))
            ended = [row.export() for row, _ in its if isinstance(row, Ended)]
            made = [each for row, each in its if not isinstance(row, Ended)]
            self.emit_part(ROWS, pack(ended) if ended else b"", made)
        return size

    def emit_end_of_opened(
        self, opened: OpenedConnection, until_packet: int | None, watched: WatchedReassembly, pairer: Pairer
    ) -> int:
        """Hand on the last rows and the END part of a fresh connection; returns the bytes of kept segments before."""
        size = self.emit_opened_rows(opened) if opened.rows else 0
        blob, late_ns = opened.pack_end_part(until_packet, watched, pairer)
        if not opened.begun:
            size += self.emit_segments()
            self.emit_part(RUN, opened.pack_run_part(late_ns))
        self.emit_part(END, blob)
        return size


# The most bytes of segments that wait for more segments of their key, all keys together.
WAITING_MAX: Final = 32 << 20
# How many segments a batch has: enough that checking all connections costs little, and no more.
BATCH_MIN: Final = 4096
BATCH_MAX: Final = 1 << 16
PER_CONNECTION: Final = 128
# The most bytes of segments in a batch, if they are kept until they are believed, and if they are not kept.
KEPT_SIZE: Final = 16 << 20
BATCH_SIZE: Final = 64 << 20
# The most segments between two checks whether a clean run may begin.
TRIES_MAX: Final = 64
_payload = itemgetter(6)


class SegmentSource(Protocol):
    """Where segments come from; it can give them again."""

    def mark_as_done(self) -> None:
        """Note that the segments given so far will not be asked for again."""

    def reread_since_mark(self) -> Iterable[list[Segment]]:
        """All segments given since the mark."""


class Splitter:
    """Makes parts from one split of one timeline. With `raw` all segments are handed on, and decoding gives facts only.

    Decoded rows are believed in batches of at least `batch` segments. The segments of the current batch are kept,
    unless `source` can give them again: kept segments slow a splitter down, since no cache is so large. For the same
    reason `project` is called with each row as soon as it settles, and may take bytes out of the row. Its result stands
    for the row in the parts, or is dropped if the row is not believed. `topic_names`: names by topic id that are known
    beforehand; stitchers have to be given the same.
    """

    def __init__(
        self,
        ports: Iterable[int] | None = None,
        needs: Needs | None = None,
        *,
        raw: bool = False,
        batch: int = BATCH_MIN,
        source: SegmentSource | None = None,
        project: Callable[[Settled], Any] | None = None,
        keys: KeyLog | None = None,
        topic_names: Iterable[tuple[str, str]] = (),
    ) -> None:
        self._raw = raw
        self._source = source
        self._project = project or _return_row
        self._batch_min = batch
        self._tracks: dict[bytes, KeyTrack] = {}  # under both keys of a connection
        self._parts: list[Part] = []
        self._size = 0  # of the segments that tracks keep
        self._facts = SharedFacts()
        self._plain = Reassembly()
        self._watched = WatchedReassembly(self)
        self._decryption = Decryption(keys)
        self._lacks: dict[int, list[Any]] = {}
        self._decryption.lacks = self._lacks
        self._pairer = Pairer(ports, needs, connections=True)
        self._pairer.context.topics.add_missing_names(topic_names)
        self._names_given = len(self._pairer.context.topics.names)
        self._pairer.context.vouching = []
        self._pairer.context.doubtful = None  # who knows the facts of all splits decides
        self._copies = self._pairer.context.copies = CopiesInSplit()
        self._clean: dict[KeyTrack, CleanRun] = {}
        self._routes: dict[int, CleanRun | OpenedConnection] = {}  # by number of the connection: the taker of its rows
        self._fresh: list[OpenedConnection] = []  # with rows
        self._over: list[OpenedConnection] = []  # that ended, maybe in the current batch
        self._late: list[OpenedConnection] = []  # that ended in the batch before: late segments of these have come
        self._batch: list[Segment] = []  # decoded, not believed yet; with a source, empty until it was asked for them
        self._batch_count = self._batch_size = 0

    def feed(self, segments: list[Segment]) -> list[Part]:
        """Take segments; returns the parts that are ready."""
        if segments:
            self._copies.began_ns = self._copies.began_ns or segments[0][1]
            self._facts.last = segments[-1][1:3]
        if self._raw:
            for segment in segments:
                self._size += self._track_of_key(segment[0]).keep_segment(segment)
            self._pairer.feed(self._decryption.feed(self._plain.feed(segments)))
            self._learn_shared_facts()
        else:
            self._decode_in_batches(segments)
        if self._size > WAITING_MAX:
            self._emit_all_segments()
        return self._take_parts()

    def end_batch(self) -> list[Part]:
        """End the current batch: returns the parts with all rows that are believed; the others never will be."""
        self._commit_batch()
        return self._take_parts()

    def finish(self) -> list[Part]:
        """Take the end of the split; returns the remaining parts, the FACT part last."""
        self._commit_batch()
        self._facts.sessions.add(self._decryption.sessions.export())
        reassembly = self._plain if self._raw else self._watched
        self._copies.add_undelivered_connections(reassembly.list_waiting_connections())
        self._facts.begun, self._facts.copies = self._copies.list_possible_copies_in_neighbours(), self._copies.found
        for track, clean_run in self._clean.items():
            self._size -= track.emit_end_of_clean_run(clean_run, None)
        for key, track in self._tracks.items():
            if track.fresh is not None and key == track.key:
                self._size -= track.emit_end_of_opened(track.fresh, None, self._watched, self._pairer)
        self._emit_all_segments()
        return [*self._take_parts(), Part(b"", 0, FACT, self._facts.pack_fact_part(), [])]

    def _take_parts(self) -> list[Part]:
        parts = self._parts[:]
        self._parts.clear()
        return parts

    def _emit_all_segments(self) -> None:
        for track in self._tracks.values():
            self._size -= track.emit_segments()

    def _track_of_key(self, key: bytes) -> KeyTrack:
        track = self._tracks.get(key)
        if track is None:
            its = canonical_connection_key(key)
            track = self._tracks[key] = self._tracks.setdefault(its, KeyTrack(its, self._parts))
        return track

    # Decoding.

    def _decode_in_batches(self, segments: list[Segment]) -> None:
        """Decode segments at once, while they are in the processor's caches; believe them in batches of some size."""
        at, end = 0, len(segments)
        while at < end:
            size = min(max(self._batch_min, PER_CONNECTION * len(self._routes)), BATCH_MAX)
            room = end if self._source else max(size - self._batch_count, 1)  # a mark is after all segments given
            some = segments[at : at + room]
            at += len(some)
            self._decode_segments(some)
            if self._batch_count >= size or self._batch_size >= (BATCH_SIZE if self._source else KEPT_SIZE):
                self._commit_batch()

    def _decode_segments(self, segments: list[Segment]) -> None:
        """Decode more segments of the batch."""
        if not self._batch_count:
            self._end_closed_connections(segments[0][2])
        if self._source is None or self._batch:
            self._batch += segments
        self._batch_count += len(segments)
        self._batch_size += sum(map(len, map(_payload, segments))) + SEGMENT_COST * len(segments)
        if self._watched.must_feed_one_by_one(segments):
            for segment in segments:
                self._pair_chunks(self._watched.feed([segment]))
        else:
            self._pair_chunks(self._watched.feed(segments))

    def _commit_batch(self) -> None:
        """End the batch: commit its clean runs, and hand on the rows of its fresh connections."""
        for track, clean_run in list(self._clean.items()):
            if clean_run.has_new_packets():
                self._commit_clean_run(track, clean_run)
            clean_run.since = None
        for fresh in self._fresh:
            if fresh.rows:
                self._size -= self._track_of_key(fresh.segment[0]).emit_opened_rows(fresh)
        self._fresh.clear()
        self._learn_shared_facts()
        self._batch, self._batch_count, self._batch_size = [], 0, 0
        if self._source is not None:
            self._source.mark_as_done()

    def _end_closed_connections(self, before_packet: int) -> None:
        """End fresh connections that were over before the last batch, before the segment with this packet number."""
        late, self._late, self._over = self._late, self._over, []
        for fresh in late:
            track = self._track_of_key(fresh.segment[0])
            if track.fresh is fresh and fresh.connection is not None and fresh.connection.over:
                self._end_opened_connection(track, fresh, before_packet)

    def _end_opened_connection(self, track: KeyTrack, opened: OpenedConnection, before_packet: int) -> None:
        """End a fresh connection before the segment with this packet number."""
        for number in opened.numbers:
            del self._routes[number]
        self._size -= track.emit_end_of_opened(opened, before_packet, self._watched, self._pairer)
        track.fresh = None

    def _learn_shared_facts(self) -> None:
        """Add the facts that this batch has shown."""
        context = self._pairer.context
        for endpoint, since_ns, client in context.vouching or ():
            self._facts.add_broker(endpoint, since_ns, client)
        context.vouching = []
        names = context.topics.names
        known = self._names_given + len(self._facts.topics)
        if len(names) > known:
            for identity, (name, _) in list(names.items())[known:]:
                self._facts.topics[identity.bytes] = name, self._facts.last[0]

    def _pair_chunks(self, chunks: list[Chunk]) -> None:
        """Decrypt and decode chunks."""
        decrypted = self._decryption.feed(chunks)
        for number, lack in self._lacks.items():
            target = self._routes.get(number)
            if isinstance(target, OpenedConnection):
                target.lack = target.lack or lack
        self._lacks.clear()
        self._assign_rows_to_connections(self._pairer.feed(decrypted))

    def _assign_rows_to_connections(self, settled: list[Settled]) -> None:
        """Give each row to the clean run or the fresh connection of its connection; drop the others."""
        routes, project = self._routes.get, self._project
        for row in settled:
            target = routes(row.connection_info.number)
            if target is not None:
                if isinstance(target, OpenedConnection) and not target.rows:
                    self._fresh.append(target)
                target.add_row(row, project)

    def _commit_clean_run(self, track: KeyTrack, clean_run: CleanRun) -> None:
        rows = clean_run.accept_batch_if_independent()
        if rows is None:
            self._roll_back_batch(track, clean_run, None)
            clean_run.connection.leave_fast_path()
        else:
            self._size -= track.emit_rows(clean_run, rows)

    def _drop_clean_run(self, track: KeyTrack, clean_run: CleanRun) -> None:
        track.clean_run = None
        del self._clean[track]
        del self._routes[clean_run.connection.number]

    def _end_clean_run(self, track: KeyTrack, clean_run: CleanRun, until_packet: int) -> None:
        """End a clean run before the segment with this packet number."""
        self.flush()
        rows = clean_run.accept_batch_if_independent()
        if rows is None:
            self._roll_back_batch(track, clean_run, until_packet)
            return
        self._drop_clean_run(track, clean_run)
        self._size -= track.emit_rows(clean_run, rows)
        self._size -= track.emit_end_of_clean_run(clean_run, until_packet)

    def _roll_back_batch(self, track: KeyTrack, clean_run: CleanRun, until_packet: int | None) -> None:
        """End a clean run before the current batch; hand on its segments in the batch up to a packet (None: all)."""
        self._drop_clean_run(track, clean_run)
        keys = (track.key, reverse_key(track.key))
        segments: list[Segment] = []
        if self._source is not None and not self._batch:
            self._batch = list(chain.from_iterable(self._source.reread_since_mark()))
        for segment in self._batch:
            if segment[2] == until_packet:
                break
            if segment[0] in keys:
                segments.append(segment)
                if segment[2] == clean_run.since:
                    segments.clear()
        self._size -= track.emit_end_of_clean_run(clean_run, segments[0][2] if segments else until_packet)
        for segment in segments:
            self._size += track.keep_segment(segment)

    # The methods of Watcher, which reassembly calls.

    def flush(self) -> None:
        """Decode the chunks that reassembly has given so far."""
        self._pair_chunks(self._watched.take_chunks())

    def before_unusual_segment(self, half: Half | None, segment: Segment) -> None:
        """Take an unusual segment: it ends a clean run, or begins a connection, or is handed on."""
        track = self._track_of_key(segment[0])
        begins = self._watched.is_first_of_connection(half, segment)
        if track.fresh is not None:
            if not begins and (half is not None or self._watched.is_dropped_segment(segment)):
                return
            self.flush()
            self._end_opened_connection(track, track.fresh, segment[2])
        elif track.clean_run is not None:
            self._end_clean_run(track, track.clean_run, segment[2])
        if begins:
            track.fresh = OpenedConnection(segment)
        else:
            self._size += track.keep_segment(segment)

    def after_unusual_segment(self, segment: Segment) -> None:
        """Begin a clean run after this segment, if one may begin."""
        half = self._watched.find_half(segment[0])
        if half is None:
            return
        track, connection = self._track_of_key(segment[0]), half.connection
        fresh = track.fresh
        if fresh is not None:
            if fresh.connection is not connection:  # the first, or one that took the ports without a SYN
                fresh.connection = connection
                fresh.numbers.append(connection.number)
                self._routes[connection.number] = fresh
        elif self._watched.waits_for_nothing(connection):
            track.countdown -= 1
            if track.countdown > 0 or not self._begin_clean_run_if_possible(track, connection, segment[2]):
                connection.leave_fast_path()

    def _begin_clean_run_if_possible(self, track: KeyTrack, connection: Connection, packet: int) -> bool:
        """Begin a clean run if the state allows it; returns whether it does."""
        self.flush()
        pairing = self._pairer.context.pairings.get(connection.number)
        agreed = None if pairing is None else state_needed_by_clean_run(connection, pairing)
        if pairing is None or agreed is None:
            track.countdown = track.tries = min(2 * track.tries, TRIES_MAX)
            return False
        track.countdown = track.tries = 1
        clean_run = track.clean_run = self._clean[track] = CleanRun(connection, pairing, agreed, packet)
        self._routes[connection.number] = clean_run
        return True

    def before_connection_end(self, connection: Connection, packet: int) -> None:
        """Note that a connection is over. If a clean run ends, its connection was silent: stitchers find that out."""
        target = self._routes.get(connection.number)
        if isinstance(target, CleanRun):
            self._end_clean_run(self._track_of_key(target.halves[0].key), target, packet)
        elif target is not None:
            self._over.append(target)


def _return_row(row: Settled) -> Settled:
    return row
