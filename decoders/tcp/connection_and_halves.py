"""A TCP connection and its two halves, a direction each: how much each sent, how far it came, what waits behind a hole.

Sequence numbers are kept *long*: the 32 bits of the wire with the number of wrap-arounds above them, so that they
compare and subtract as plain numbers. A half's `place` is the long number of the next byte it will give.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from decoders.errors import Malformed
from decoders.limits import IDLE_NS, SEGMENT_COST
from decoders.tcp.connection_prefix import ConnectionPrefix
from decoders.wire.state_serialization import add_fields_to_older_state, state_fields

__all__ = [
    "ENDS",
    "FAR",
    "MASK",
    "PATIENCE",
    "PATIENCE_NS",
    "PLAIN",
    "RESETS",
    "SURE",
    "UNSEEN",
    "WAITING",
    "Connection",
    "Entry",
    "Half",
    "find_deadlock",
    "format_endpoints",
    "reverse_key",
    "sequence_difference",
]

MASK: Final = 0xFFFF_FFFF
# Values of `Half.next` that no sequence number has.
UNSEEN: Final = 1 << 32  # nothing is known of this half; above every acknowledgement
WAITING: Final = -1  # this connection takes the slow path: something is missing; below every acknowledgement
# Captures swap packets that went through different queues: rarely by more than a handful, never for seconds.
PATIENCE: Final = 32
PATIENCE_NS: Final = 3 * 10**9
# Segments after which a half without SYN begins, acknowledged or not; the same for a stray run of segments.
SURE: Final = 3
# A step beyond this is no hole and no retransmission: windows are smaller (RFC 7323 allows 1 GiB, nobody has it).
FAR: Final = 1 << 28
# Held segments are nearer to `place` than this: while the beginning is a guess, they are within FAR of it on both
# sides, and the beginning may turn out to be up to FAR before the first one. Beyond 2**31 numbers would not compare.
REACH: Final = 1 << 30

# Before all times.
EVER: Final = -1 << 80

# Packets of the capture, or time without any, after which a connection without SYN began with what was seen.
MET: Final = 16
MET_NS: Final = 10**8
# What a segment that waits does beside carrying bytes.
PLAIN: Final = 0
ENDS: Final = 1  # FIN
RESETS: Final = 2  # RST

# A segment that waits: long numbers of its first byte and of the byte behind it, time, packet number, raw
# acknowledgement number (-1: none), the bytes captured, PLAIN or (then without bytes) ENDS or RESETS.
Entry = tuple[int, int, int, int, int, bytes, int]
# How far the peer has acknowledged, where the last held segment ends, packets of the peer, packets of the connection,
# packet number, time: all at one moment.
PatienceMark = tuple[int, int, int, int, int, int]


# `Half.shut` of a side whose window never was 0.
OPEN: Final = (0, 0)


class Half:
    """One direction of a connection; `peer` is the other one. Later stages hang their own state on `state`.

    The counters are kept by reassembly as segments pass: `packets` with this sender, `last_ns` the time of the latest
    one, `gaps` and `missing` the number of gaps and their bytes, `again` the segments sent a second time. `shut` is the
    time of the latest segment whose window was 0, and for how long (ns) it was 0 at least; `quiet_ns` is how long this
    side had sent nothing when it reset the connection, 0 where it did not, or where a FIN came before. The attributes
    behind these are reassembly's own, and mean nothing where bytes do not come from a capture (proxy, client).
    """

    __slots__ = (
        *("again", "connection", "gaps", "last_ns", "missing", "packets", "peer", "quiet_ns", "shut", "source"),
        *("state", "acked", "ended", "far", "first", "heard", "held", "held_size", "jumps", "key", "mark", "next"),
        *("place", "sent", "started", "sure", "syn"),
    )
    __deletable__ = ("connection", "peer")  # for compiled code: by `drop_references`

    def __init__(self, connection: Connection, source: str) -> None:
        self.connection = connection
        self.source = source  # host:port of the sender
        self.peer: Half = self
        self.state: object = None
        self.packets = 0
        self.last_ns = 0
        self.gaps = 0
        self.missing = 0
        self.again = 0
        self.shut = OPEN
        self.quiet_ns = 0

        self.key = b""
        # The raw sequence number that may take the fast path, or UNSEEN or WAITING. While it is a raw number it is
        # the low half of `place`, which is brought up to date by `sync_with_fast_path`.
        self.next = UNSEEN
        self.place = 0  # 0: not even guessed; a guess until `started`
        self.first = 0
        self.jumps: tuple[tuple[int, int], ...] = ()  # before which byte of the stream `first` was another number
        self.started = False  # `first` and `place` are sure
        self.syn = False  # by its SYN
        self.ended = False  # the FIN was reached
        self.acked = 0  # highest number the peer has acknowledged, 0: none known
        self.heard = 0  # what the peer acknowledged first, as long as the start is not sure
        self.sent = 0  # number of the first segment if that was one without bytes
        # Few halves ever hold much for long, and an empty list has 56 bytes: a half without segments has none.
        self.held: Sequence[Entry] = ()  # ascending, not overlapping, all behind `place`
        self.held_size = 0
        self.far: Sequence[Entry] = ()
        self.mark: PatienceMark = (0, 0, 0, 0, 0, 0)
        self.sure = 0  # bytes missing before this number come no more

    @property
    def target(self) -> str:
        """host:port of the other side, until the connection is untied."""
        return self.peer.source

    def sync_with_fast_path(self) -> None:
        """Bring `place` to where the fast path has come."""
        if 0 <= self.next <= MASK:
            self.place = self.place & ~MASK | self.next

    def extend_sequence_number(self, number: int) -> int:
        """A raw sequence or acknowledgement number as the long one nearest to `place`."""
        if not self.place:
            self.place = UNSEEN | number
        return self.place + sequence_difference(number, self.place)

    @property
    def size(self) -> int:
        """Bytes of the stream so far, those of gaps included; 0 where nobody counts them."""
        self.sync_with_fast_path()
        return max(self.place - self.first - self.ended, 0) if self.started else 0

    def sequence_number(self, at: int) -> int:
        """The raw sequence number of byte `at` of the stream; at a jump, the number behind the jump."""
        first = next((first for size, first in self.jumps if at < size), self.first)
        return first + at & MASK

    def begin_stream(self, place: int) -> None:
        """Set the number at which the stream begins, which is sure from now on."""
        self.place = self.first = place
        self.started = True

    def intern_equal_numbers(self) -> None:
        """Use one object for equal numbers, to save memory: connections are many, and most are silent for long."""
        if self.acked == self.place:
            self.acked = self.place
        if self.heard == self.first:
            self.heard = self.first
        elif self.heard == self.acked:
            self.heard = self.acked

    def restart_stream(self, place: int) -> None:
        """Let the stream go on at a number that has nothing to do with the numbers before."""
        size = self.size
        self.begin_stream(place)
        self.first = place - size
        self.acked = self.sure = 0

    def distance_before_start(self, first: int) -> int:
        """How far before the beginning, as far as that is known, a raw number lies; 0 when nothing is known."""
        begun = self.first if self.started else self.held[0][0] if self.held else self.place
        return -sequence_difference(first, begun) if begun else 0

    def keep_stray_segment(self, entry: tuple[int, int, int, int, bytes, int]) -> list[Entry]:
        """Keep a segment far from the stream: number, time, packet, acknowledgement, bytes, size on the wire.

        Gives the run of SURE segments, each the continuation of the one before, of which it is the last, or nothing.
        """
        start, time_ns, packet, ack, data, size = entry
        if self.far and sequence_difference(start, self.far[-1][1]) == 0:
            start = self.far[-1][1]
        else:
            self.far = ()
        run = [*self.far, (start, start + size, time_ns, packet, ack, data, PLAIN)]
        self.far = run if len(run) < SURE else ()
        return [] if self.far else run

    def is_start_certain(self) -> bool:
        """Whether nothing comes before the first held segment of a half whose SYN is not in the capture."""
        if not self.connection.known:
            return False
        start = self.held[0][0]
        if self.peer.syn:  # the SYN of this half is late, or lost
            return self.sure >= start
        if self.heard:
            return self.heard + 1 >= start or self.sure >= start
        return 0 < self.sent <= start or len(self.held) >= SURE

    def note_reset_or_zero_window(self, time_ns: int, *, resets: bool) -> None:
        """Note that this side resets the connection, or has a window of 0; to be called before `last_ns` is moved."""
        if resets:
            over = not self.last_ns or self.ended or self.peer.ended
            self.quiet_ns = 0 if over else max(time_ns - self.last_ns, 0)
            return
        since_ns, shut_ns = self.shut
        # Any segment in between would have told another window.
        still = since_ns and since_ns == self.last_ns
        self.shut = (time_ns, shut_ns + max(time_ns - since_ns, 0) if still else shut_ns)

    def advance_patience(self, time_ns: int, packet: int) -> None:
        """Let patience run: `sure` follows what was known PATIENCE packets of the connection ago, or a while ago."""
        if self.packets + self.peer.packets - self.mark[3] >= PATIENCE or self._is_patience_over(
            time_ns, packet, idle=False
        ):
            self.end_patience(time_ns, packet)

    @property
    def time_and_packet_of_mark(self) -> tuple[int, int]:
        """Time and packet number of the mark."""
        return self.mark[5], self.mark[4]

    def _is_patience_over(self, time_ns: int, packet: int, *, idle: bool) -> bool:
        """Whether the mark is PATIENCE_NS old, if PATIENCE packets of the capture came since or it is `idle`.

        A pause between two packets alone proves nothing, for packets that change places do so across it.
        """
        _, _, _, _, since_packet, since_ns = self.mark
        return time_ns - since_ns >= PATIENCE_NS and (idle or abs(packet - since_packet) >= PATIENCE)

    def _find_sure_number(self) -> int:
        """What is sure once patience with what the mark holds has ended."""
        acked, top, heard, *_ = self.mark
        # A peer that is not heard at all will not acknowledge either.
        return max(self.sure, acked, top if heard == self.peer.packets else 0)

    def has_patience_ended(self, time_ns: int, packet: int, at: tuple[int, int], *, idle: bool) -> bool:
        """Whether patience has ended by now and that changes something; `at`: the connection's latest packet."""
        return self._is_patience_over(time_ns, packet, idle=idle) and self.may_patience_end(at)

    def may_patience_end(self, at: tuple[int, int]) -> bool:
        """Whether the end of patience changes something; `at`: the connection's latest packet."""
        return self.time_and_packet_of_mark != at or self._find_sure_number() > self.sure

    def end_patience(self, time_ns: int, packet: int) -> None:
        """End patience with what the mark holds, and set the mark to what is known at this time."""
        self.sure = self._find_sure_number()
        self.set_patience_mark(time_ns, packet)

    def set_patience_mark(self, time_ns: int, packet: int) -> None:
        """Set the mark to what is known at this time."""
        top = self.held[-1][1] if self.held else 0
        self.mark = (self.acked, top, self.peer.packets, self.packets + self.peer.packets, packet, time_ns)

    def hold_segment(self, entry: Entry) -> None:
        """Keep those bytes of a segment that are not held already: the first copy of a byte wins."""
        start, end, time_ns, packet, ack, data, role = entry
        held = self.held if isinstance(self.held, list) else []
        self.held = held
        if held and held[-1][6]:  # the end of the stream is known: the FIN, where a RST follows one
            end = min(end, held[-2][0] if len(held) > 1 and held[-2][6] else held[-1][0])
        if role:
            if not held or (held[-1][1] <= start and held[-1][6] < role):
                held.append(entry)
                self.held_size += SEGMENT_COST
            return
        index = len(held)
        if held and held[-1][1] > start:
            index = bisect_right(held, start, key=_end_of_entry)
        at = start
        while at < end:
            stop = min(end, held[index][0]) if index < len(held) else end
            if stop > at:
                piece = data[at - start : stop - start]
                held.insert(index, (at, stop, time_ns, packet, ack, piece, PLAIN))
                self.held_size += len(piece) + SEGMENT_COST
                index += 1
            at = stop
            if index < len(held):
                at = max(at, held[index][1])
                index += 1

    def take_first_held_segment(self) -> Entry:
        """Remove and give the first segment held."""
        assert isinstance(self.held, list)
        entry: Entry = self.held.pop(0)
        self.held = self.held or ()
        return entry

    def end_of_held_bytes(self) -> int:
        """The number behind all that is held: a FIN takes one, as it does when it is given."""
        if not self.held:
            return self.place
        _, end, _, _, _, _, role = self.held[-1]
        return end + (role == ENDS)

    def next_deliverable_segment(self) -> Entry | None:
        """The segment that can be given next, if there is one."""
        if not self.held:
            return None
        entry = self.held[0]
        if not self.started:
            if not self.is_start_certain():
                return None
            # Bytes between a first segment without bytes and this one are missing; one byte only: it was a keep-alive.
            self.begin_stream(self.sent if self.sent and 1 < entry[0] - self.sent < FAR else entry[0])
        if entry[0] > self.place or (entry[4] >= 0 and self.peer.lacks_bytes_before(entry[4])):
            return None
        return entry

    def hole_end(self) -> int:
        """Where the hole at `place` ends, as far as known; 0 when nothing is missing."""
        if not self.started:
            return 0
        end = self.held[0][0] if self.held else self.acked
        # One number further may be a FIN that is not in the capture.
        return end if end > self.place + (not self.held) else 0

    def lacks_bytes_before(self, number: int) -> bool:
        """Whether the sender of acknowledgement `number` has bytes of this half that are not given yet."""
        if self.started:
            return 1 < sequence_difference(number, self.place) < FAR
        return bool(self.held) and 0 < sequence_difference(number, self.held[0][0]) < FAR

    def export(self) -> object:
        """The state as built-in values."""
        self.sync_with_fast_path()
        return [
            *(self.key, self.source, self.packets, self.last_ns, self.gaps, self.missing, self.again),
            *(self.next, self.place, self.first, self.started, self.syn, self.ended, self.acked, self.heard, self.sent),
            *([*self.held], [*self.far], self.mark, self.sure, self.shut, self.quiet_ns),
        ]

    def resume(self, state: object) -> None:
        """Restore the state that `export` gave. Raises DecodeError when it is something else."""
        key, _, self.packets, self.last_ns, self.gaps, self.missing, self.again, *rest = state_fields(
            state,
            bytes,
            str,
            *[int] * 5,
            *[int] * 3,
            bool,
            bool,
            bool,
            int,
            int,
            int,
            list,
            list,
            tuple,
            int,
            tuple,
            int,
        )
        self.key = key
        self.next, self.place, self.first, self.started, self.syn, self.ended, self.acked, *rest = rest
        self.heard, self.sent, held, far, mark, self.sure, shut, self.quiet_ns = rest
        since_ns, shut_ns = state_fields(shut, int, int)
        self.shut = (since_ns, shut_ns) if since_ns else OPEN
        self.held = [_read_entry(entry) for entry in held] or ()
        self.far = [_read_entry(entry) for entry in far]
        acked, top, heard, packets, packet, time_ns = state_fields(mark, *[int] * 6)
        self.mark = (acked, top, heard, packets, packet, time_ns)
        self.held_size = sum(len(entry[5]) + SEGMENT_COST for entry in self.held)
        if len(key) not in (12, 36) or not self._is_state_consistent():
            raise Malformed("a saved half of a connection that cannot be one")

    def _is_state_consistent(self) -> bool:
        """Whether a restored state is one that segments lead to, as far as the code relies on that.

        Segments lead to no other (tests/tcp/test_handing_over.py): the check is for bytes that another program made.
        """
        if self.next not in (UNSEEN, WAITING, self.place & MASK):
            return False
        at = self.place if self.started else 0
        for start, end, _, _, _, data, role in self.held:
            if not at <= start <= end or len(data) > end - start or role not in (PLAIN, ENDS, RESETS):
                return False
            if end - start >= FAR or (end > start) == bool(role) or start - self.place >= REACH:
                return False
            at = end
        return True


# The value of `Connection.tls` for a connection that is not TLS.
NOT_TLS: Final = False


class Connection:
    """One TCP connection as captured. `number` counts from 1 in order of appearance.

    `opened` says whether the capture has its handshake; the initiator (sender of the SYN) is then `first`, else `first`
    is the side whose segment came first. Neither changes once a chunk was given: a stage reads them when it has the
    chunk, which is later than the next segments where many are read at a time. `began_ns` is the time of its first
    packet: with the two addresses (`first.source`, `first.target`) that is its identity. `tls` is what
    tls/decrypt_chunks.py keeps, `prefix` what it found before the connection's own bytes.
    """

    __slots__ = (
        *("began_ns", "first", "number", "opened", "prefix", "second", "tls"),
        *("at_ns", "at_packet", "began_packet", "drowsy", "known", "over", "reset"),
    )

    def __init__(self, number: int, first: str, second: str, began_ns: int, *, opened: bool) -> None:
        self.number = number
        self.began_ns = began_ns
        self.opened = opened
        self.tls: Any = None  # the state of its TLS (tls/decrypt_chunks.py), or NOT_TLS
        self.prefix: ConnectionPrefix | None = None
        self.first = Half(self, first)
        self.second = Half(self, second)
        self.first.peer = self.second
        self.second.peer = self.first

        self.over = False
        self.reset: Half | None = None  # who sent a RST
        self.began_packet = 0
        self.at_ns, self.at_packet = began_ns, 0  # of its latest packet that took the slow path
        self.drowsy = False  # on the slow path only since it may have been silent for too long
        self.known = False  # long enough for segments from before the first one to have come

    def drop_references(self) -> None:
        """Drop the references between connection and halves, once the Close has been taken: no more chunks come.

        The references are cycles. A process that looks for cycles seldom, as kw does, would hold every connection that
        lasted long enough to grow old, to the end.
        """
        self.tls = None
        for half in (self.first, self.second):
            half.state = None
            if hasattr(half, "peer"):
                del half.peer, half.connection

    @property
    def last_time_and_packet(self) -> tuple[int, int]:
        """Time and number of the connection's latest packet that took the slow path."""
        return self.at_ns, self.at_packet

    @property
    def last_ns(self) -> int:
        """Time of the connection's latest packet."""
        return max(self.first.last_ns, self.second.last_ns)

    @property
    def held_size(self) -> int:
        """The size of what both halves hold."""
        return self.first.held_size + self.second.held_size

    @property
    def has_ended(self) -> bool:
        """Whether the FIN of both sides was reached."""
        return self.first.ended and self.second.ended

    def decide_if_known_long_enough(self, time_ns: int, packet: int, *, idle: bool) -> None:
        """Decide whether the connection is known long enough for a beginning without SYN to be believed."""
        if abs(packet - self.began_packet) >= MET or (idle and time_ns - self.began_ns >= MET_NS):
            self.known = True
            self.began_packet = 0  # nobody asks again

    def oldest_expired_mark(self, time_ns: int, packet: int, *, idle: bool) -> tuple[int, int] | None:
        """The oldest mark with which patience has ended by now; None where that changes nothing."""
        halves = (self.first, self.second)
        return min(
            (
                half.time_and_packet_of_mark
                for half in halves
                if half.has_patience_ended(time_ns, packet, self.last_time_and_packet, idle=idle)
            ),
            default=None,
        )

    def end_patience(self, time_ns: int, packet: int, since: tuple[int, int], *, idle: bool) -> None:
        """End patience with what the marks of that time hold.

        What is known now was known since the connection's latest packet, so many looks come to the same as one.
        """
        halves = (self.first, self.second)
        for half in [
            half for half in halves if half.has_patience_ended(time_ns, packet, self.last_time_and_packet, idle=idle)
        ]:
            if half.time_and_packet_of_mark == since:
                half.end_patience(*self.last_time_and_packet)

    def due_ns(self, reset: tuple[int, int] | None) -> int:
        """The time before which time alone does nothing to the connection; `reset`: time and packet of a RST."""
        if not self.known:
            return EVER  # it waits for packets of others
        due = [self.last_ns + IDLE_NS + 1]
        due += [
            half.time_and_packet_of_mark[0] + PATIENCE_NS
            for half in (self.first, self.second)
            if half.may_patience_end(self.last_time_and_packet)
        ]
        if reset is not None:
            due.append(reset[0] + PATIENCE_NS)
        return min(due)

    def earliest_due_ns(self, reset: tuple[int, int] | None) -> int:
        """A time that is not later than `due_ns`, and cheap to work out."""
        if not self.known:
            return EVER
        first, second = self.first, self.second
        since_ns = min(first.mark[5], second.mark[5])
        if reset is not None and reset[0] < since_ns:
            since_ns = reset[0]
        return min(since_ns + PATIENCE_NS, max(first.last_ns, second.last_ns) + IDLE_NS)

    def leave_fast_path(self) -> None:
        """Send the next segment down the slow path."""
        for half in (self.first, self.second):
            half.sync_with_fast_path()
            half.next = WAITING

    def mark_perhaps_silent(self) -> None:
        """Send the next segment down the slow path, where it is seen if the connection was silent for too long."""
        if self.first.next != WAITING:
            self.leave_fast_path()
            self.drowsy = True

    def clear_perhaps_silent(self) -> None:
        """End `mark_perhaps_silent`: decide between fast and slow path again."""
        self.drowsy = False
        self.choose_fast_or_slow_path()

    def choose_fast_or_slow_path(self) -> bool:
        """Decide between fast and slow path for what follows; True when something is held, or missing."""
        first, second = self.first, self.second
        waits = bool(first.held or second.held or first.hole_end() or second.hole_end())
        for half in (first, second):
            half.next = WAITING if waits or self.reset else half.place & MASK if half.started else UNSEEN
            if not waits and half.acked is not half.place:
                half.intern_equal_numbers()
        return waits

    def export(self) -> object:
        """The state as built-in values."""
        reset = 0 if self.reset is None else 1 if self.reset is self.first else 2
        prefix = None if self.prefix is None else self.prefix.export()
        facts = [self.number, self.began_ns, self.opened, self.began_packet, self.known, self.drowsy, reset, prefix]
        return [*facts, self.last_time_and_packet, self.first.export(), self.second.export()]

    @classmethod
    def make_resumed(cls, state: object) -> Connection:
        """The connection from its `export`. Raises DecodeError when it is something else."""
        state = add_fields_to_older_state(state, 10, 7, None)
        number, began_ns, opened, began_packet, known, drowsy, reset, prefix, at, first, second = state_fields(
            state, int, int, bool, int, bool, bool, int, list | None, tuple, list, list
        )
        texts = [row[1] if len(row) > 1 else None for row in (first, second)]
        if not isinstance(texts[0], str) or not isinstance(texts[1], str):
            raise Malformed("a saved connection without addresses")
        connection = cls(number, texts[0], texts[1], began_ns, opened=opened)
        connection.began_packet, connection.known, connection.drowsy = began_packet, known, drowsy
        connection.at_ns, connection.at_packet = state_fields(at, int, int)
        connection.reset = {1: connection.first, 2: connection.second}.get(reset)
        connection.prefix = None if prefix is None else ConnectionPrefix.make_resumed(prefix)
        connection.first.resume(first)
        connection.second.resume(second)
        return connection


def _end_of_entry(entry: Entry) -> int:
    return entry[1]


def tls_facts_of(connection: Connection) -> Any:
    """The facts of a TLS connection (tls/tls_facts.py); None for other connections, and while that is not known."""
    return getattr(connection.tls, "facts", None)


def sequence_difference(number: int, place: int) -> int:
    """How far the raw `number` is ahead of the long or raw `place`, negative when it is behind."""
    return ((number - place + 0x8000_0000) & MASK) - 0x8000_0000


def find_deadlock(first: Half, second: Half) -> tuple[Entry | None, Entry | None]:
    """The next segments of two halves of which each waits for bytes that the other one holds (no real TCP does)."""
    if not (first.held and second.held):
        return None, None
    entry, other = first.held[0], second.held[0]
    if first.started and second.started and entry[0] <= first.place and other[0] <= second.place:
        return entry, other
    return None, None


def _read_entry(value: object) -> Entry:
    start, end, time_ns, packet, ack, data, role = state_fields(value, int, int, int, int, int, bytes, int)
    return start, end, time_ns, packet, ack, data, role


def format_endpoints(key: bytes) -> tuple[str, str]:
    """Source and target of a key as text: `10.0.0.1:9092`, `[::1]:9092`."""
    size = (len(key) - 4) // 2
    return _format_endpoint(key[:size], key[-4:-2]), _format_endpoint(key[size:-4], key[-2:])


@lru_cache(1024)  # one text for all connections of a broker
def _format_endpoint(address: bytes, port: bytes) -> str:
    return f"{_format_address(address)}:{int.from_bytes(port, 'big')}"


def _format_address(data: bytes) -> str:
    if len(data) == 4:
        return ".".join(map(str, data))
    from ipaddress import IPv6Address  # only where there is one: it costs start-up time

    return f"[{IPv6Address(data)}]"


def reverse_key(key: bytes) -> bytes:
    """The key of the other half."""
    size = (len(key) - 4) // 2
    return key[size:-4] + key[:size] + key[-2:] + key[-4:-2]
