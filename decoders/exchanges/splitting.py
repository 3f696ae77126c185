"""One split of a capture's segments in, parts (`parts.py`) out, of which stitchers make the whole capture's rows.

The problem. A large capture is read by several processes, each from somewhere in the middle. What a segment means
depends on all that came before it on its connection: which bytes are missing, which requests are in flight, who is the
broker.

The idea. Each process decodes what cannot depend on the past, and hands on the rest as it is:

```
split 1          split 2                     split 3
────────┬────────────────────────────┬──────────────────
 SYN …  │ … in step, nothing held …  │ … hole …            one connection
 rows   │ run of rows (a stretch)    │ segments            parts, by key and split
        └────────────┬───────────────┴──────► stitcher (stitching.py): one key, its parts in order
                     agrees with the exact state there? rows count : read the segments again
```

- A connection whose SYN is in the split is decoded here (tracks.OpenedConnection).
- A stretch (stretch.py) begins where two states that differ in their past agree about all that comes. It ends before
  the first segment of it that reassembly's fast path does not take.
- Of all else the segments themselves are handed on, for a stitcher to take.

What always holds: any split of a capture gives the same rows as reading it whole. Rows are handed on in batches that
are believed or not as a whole; segments of the batch at hand are kept, or can be read again.

What is given up: work is done twice where a stretch does not fit what was before it. Parts may be large where a key
never comes to rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from operator import itemgetter
from typing import Any, Final, Protocol

from decoders.exchanges.exchange import Settled
from decoders.exchanges.needs import Needs
from decoders.exchanges.parts import FACT, Facts, Part, canonical
from decoders.exchanges.stage import Pairer
from decoders.exchanges.stretch import Stretch, core
from decoders.exchanges.tracks import OpenedConnection, Track
from decoders.exchanges.watching import Watched
from decoders.limits import SEGMENT_COST
from decoders.streams.chunks import Segment
from decoders.streams.connections import turned
from decoders.streams.flow import Flow, TcpConnection
from decoders.streams.reassembly import Reassembly

__all__ = ["Splitter"]

# Bytes of segments that wait for more of their key, all keys together.
WAITING_MAX: Final = 32 << 20
# Segments believed in one go: many enough for a look at all connections to cost little, and no more.
BATCH_MIN: Final = 4096
BATCH_MAX: Final = 1 << 16
PER_CONNECTION: Final = 128
# Bytes of segments, as they are counted, where they are kept until they are believed, and where they are not.
KEPT_SIZE: Final = 16 << 20
BATCH_SIZE: Final = 64 << 20
# Segments between two looks whether a stretch may begin.
TRIES_MAX: Final = 64
_payload = itemgetter(6)


class Source(Protocol):
    """Where segments come from, and may come from once more."""

    def mark(self) -> None:
        """What was given so far will not be asked for again."""

    def again(self) -> Iterable[list[Segment]]:
        """All segments given since the mark."""


class Splitter:
    """One split of one timeline. With `raw` all segments are handed on, and only facts come of what is decoded.

    What is decoded is believed in batches of at least `batch` segments. Those of the batch at hand are kept, unless
    `source` has them: kept, they are what slows a splitter down, since no cache is so large. For the same reason
    `project` is called with each row as soon as it settles: what it gives stands for the row in the parts, or for
    nothing, if the row is not to be believed; the row may be robbed of its bytes.
    """

    def __init__(
        self,
        ports: Iterable[int] | None = None,
        needs: Needs | None = None,
        *,
        raw: bool = False,
        batch: int = BATCH_MIN,
        source: Source | None = None,
        project: Callable[[Settled], Any] | None = None,
    ) -> None:
        self._raw = raw
        self._source = source
        self._project = project or _itself
        self._batch_min = batch
        self._tracks: dict[bytes, Track] = {}  # by both keys
        self._parts: list[Part] = []
        self._size = 0  # of the segments that tracks keep
        self._facts = Facts()
        self._plain = Reassembly()
        self._watched = Watched(self)
        self._pairer = Pairer(ports, needs, connections=True)
        self._pairer.context.vouching = []
        self._clean: dict[Track, Stretch] = {}
        self._routes: dict[int, Stretch | OpenedConnection] = {}  # by number of the connection, whose rows count
        self._fresh: list[OpenedConnection] = []  # with rows
        self._over: list[OpenedConnection] = []  # in the batch at hand, maybe
        self._late: list[OpenedConnection] = []  # in the one before: what comes late of them has come
        self._batch: list[Segment] = []  # decoded, and not believed yet; with a source only when it was asked for them
        self._batch_count = self._batch_size = 0

    def feed(self, segments: list[Segment]) -> list[Part]:
        """The parts that are ready."""
        if segments:
            self._facts.last = segments[-1][1:3]
        if self._raw:
            for segment in segments:
                self._size += self._track(segment[0]).add(segment)
            self._pairer.feed(self._plain.feed(segments))
            self._learn()
        else:
            self._work(segments)
        if self._size > WAITING_MAX:
            self._hand_all_on()
        return self._given()

    def believe(self) -> list[Part]:
        """Hand on now all rows that were projected and are to be believed; the others never will be."""
        self._believe()
        return self._given()

    def finish(self) -> list[Part]:
        """The rest."""
        self._believe()
        for track, stretch in self._clean.items():
            self._size -= track.end(stretch, None)
        for key, track in self._tracks.items():
            if track.fresh is not None and key == track.key:
                self._size -= track.end_fresh(track.fresh, None, self._watched, self._pairer)
        self._hand_all_on()
        return [*self._given(), Part(b"", 0, FACT, self._facts.pack(), [])]

    def _given(self) -> list[Part]:
        parts = self._parts[:]
        self._parts.clear()
        return parts

    def _hand_all_on(self) -> None:
        for track in self._tracks.values():
            self._size -= track.hand_on()

    def _track(self, key: bytes) -> Track:
        track = self._tracks.get(key)
        if track is None:
            its = canonical(key)
            track = self._tracks[key] = self._tracks.setdefault(its, Track(its, self._parts))
        return track

    # What is decoded here.

    def _work(self, segments: list[Segment]) -> None:
        """Decode what has come at once, while it is in the processor's caches; believe it in batches of some size."""
        at, end = 0, len(segments)
        while at < end:
            size = min(max(self._batch_min, PER_CONNECTION * len(self._routes)), BATCH_MAX)
            room = end if self._source else max(size - self._batch_count, 1)  # a mark is behind all that was given
            some = segments[at : at + room]
            at += len(some)
            self._decode(some)
            if self._batch_count >= size or self._batch_size >= (BATCH_SIZE if self._source else KEPT_SIZE):
                self._believe()

    def _decode(self, segments: list[Segment]) -> None:
        """More of the batch."""
        if not self._batch_count:
            self._leave_fresh(segments[0][2])
        if self._source is None or self._batch:
            self._batch += segments
        self._batch_count += len(segments)
        self._batch_size += sum(map(len, map(_payload, segments))) + SEGMENT_COST * len(segments)
        if self._watched.is_long(segments):
            for segment in segments:
                self._take(self._pairer.feed(self._watched.feed([segment])))
        else:
            self._take(self._pairer.feed(self._watched.feed(segments)))

    def _believe(self) -> None:
        """The batch is whole: believe what can be believed of it."""
        for track, stretch in list(self._clean.items()):
            if stretch.moved():
                self._commit(track, stretch)
            stretch.since = None
        for fresh in self._fresh:
            if fresh.rows:
                self._size -= self._track(fresh.segment[0]).hand_fresh(fresh)
        self._fresh.clear()
        self._learn()
        self._batch, self._batch_count, self._batch_size = [], 0, 0
        if self._source is not None:
            self._source.mark()

    def _leave_fresh(self, packet: int) -> None:
        """End fresh connections that were over before the last batch, before the segment with this packet number."""
        late, self._late, self._over = self._late, self._over, []
        for fresh in late:
            track = self._track(fresh.segment[0])
            if track.fresh is fresh and fresh.connection is not None and fresh.connection.over:
                self._end_fresh(track, fresh, packet)

    def _end_fresh(self, track: Track, fresh: OpenedConnection, packet: int) -> None:
        """End a fresh connection before the segment with this packet number."""
        for number in fresh.numbers:
            del self._routes[number]
        self._size -= track.end_fresh(fresh, packet, self._watched, self._pairer)
        track.fresh = None

    def _learn(self) -> None:
        """What this batch has shown that others may use."""
        context = self._pairer.context
        for endpoint, since_ns, client in context.vouching or ():
            self._facts.vouch(endpoint, since_ns, client)
        context.vouching = []
        names = context.topics.names
        if len(names) > len(self._facts.topics):
            for identity, (name, _) in list(names.items())[len(self._facts.topics) :]:
                self._facts.topics[identity.bytes] = name, self._facts.last[0]

    def _take(self, settled: list[Settled]) -> None:
        """Keep the rows that count."""
        routes, project = self._routes.get, self._project
        for row in settled:
            target = routes(row.ends.number)
            if target is not None:
                if isinstance(target, OpenedConnection) and not target.rows:
                    self._fresh.append(target)
                target.take(row, project)

    def _commit(self, track: Track, stretch: Stretch) -> None:
        rows = stretch.commit()
        if rows is None:
            self._roll_back(track, stretch, None)
            stretch.connection.park()
        else:
            self._size -= track.hand_rows(stretch, rows)

    def _leave(self, track: Track, stretch: Stretch) -> None:
        track.stretch = None
        del self._clean[track]
        del self._routes[stretch.connection.number]

    def _end(self, track: Track, stretch: Stretch, until: int) -> None:
        """End a stretch before the segment with this packet number."""
        self.flush()
        rows = stretch.commit()
        if rows is None:
            self._roll_back(track, stretch, until)
            return
        self._leave(track, stretch)
        self._size -= track.hand_rows(stretch, rows)
        self._size -= track.end(stretch, until)

    def _roll_back(self, track: Track, stretch: Stretch, until: int | None) -> None:
        """End a stretch before the batch at hand, and hand on what came of it in this up to a packet, or all."""
        self._leave(track, stretch)
        keys = (track.key, turned(track.key))
        segments: list[Segment] = []
        if self._source is not None and not self._batch:
            self._batch = list(chain.from_iterable(self._source.again()))
        for segment in self._batch:
            if segment[2] == until:
                break
            if segment[0] in keys:
                segments.append(segment)
                if segment[2] == stretch.since:
                    segments.clear()
        self._size -= track.end(stretch, segments[0][2] if segments else until)
        for segment in segments:
            self._size += track.add(segment)

    # What reassembly asks and tells.

    def flush(self) -> None:
        """Take what was given so far."""
        self._take(self._pairer.feed(self._watched.given()))

    def before(self, flow: Flow | None, segment: Segment) -> None:
        """A segment comes that ends a stretch, or begins a connection, or is to be handed on."""
        track = self._track(segment[0])
        begins = self._watched.begins(flow, segment)
        if track.fresh is not None:
            if not begins and (flow is not None or self._watched.is_nothing(segment)):
                return
            self.flush()
            self._end_fresh(track, track.fresh, segment[2])
        elif track.stretch is not None:
            self._end(track, track.stretch, segment[2])
        if begins:
            track.fresh = OpenedConnection(segment)
        else:
            self._size += track.add(segment)

    def after(self, segment: Segment) -> None:
        """See whether a stretch may begin behind it."""
        flow = self._watched.flow(segment[0])
        if flow is None:
            return
        track, connection = self._track(segment[0]), flow.connection
        fresh = track.fresh
        if fresh is not None:
            if fresh.connection is not connection:  # the first, or one that took the ports without a SYN
                fresh.connection = connection
                fresh.numbers.append(connection.number)
                self._routes[connection.number] = fresh
        elif self._watched.settled(connection):
            track.countdown -= 1
            if track.countdown > 0 or not self._begin(track, connection, segment[2]):
                connection.park()

    def _begin(self, track: Track, connection: TcpConnection, packet: int) -> bool:
        """Begin a stretch, if it may."""
        self.flush()
        pairing = self._pairer.context.pairings.get(connection.number)
        agreed = None if pairing is None else core(connection, pairing)
        if pairing is None or agreed is None:
            track.countdown = track.tries = min(2 * track.tries, TRIES_MAX)
            return False
        track.countdown = track.tries = 1
        stretch = track.stretch = self._clean[track] = Stretch(connection, pairing, agreed, packet)
        self._routes[connection.number] = stretch
        return True

    def closing(self, connection: TcpConnection, packet: int) -> None:
        """A connection is over. Where that ends a stretch, it has said nothing for long: a stitcher finds that out."""
        target = self._routes.get(connection.number)
        if isinstance(target, Stretch):
            self._end(self._track(target.flows[0].key), target, packet)
        elif target is not None:
            self._over.append(target)


def _itself(row: Settled) -> Settled:
    return row
