"""Traffic of the proxy in, messages to the log's process out: the data path's side, which never waits.

The problem. Decoding takes ten times as long as passing bytes on, and one loop serves all clients.

The idea. Another process decodes. The data path puts pieces of traffic into a bounded queue and sends what the socket
takes at once:

```
relay ──▶ LogQueue (≤ HELD_MOST bytes) ──▶ socket pair ──▶ log's process (log_process.py) ──▶ rows, capture file
relay ◀── Reports: bytes worked off; errors in answers, for metrics; whole records, for the control interface ◀──
```

The log's process says how many bytes it has worked off. If it ends by a defect, another one is started, a few times
and after longer and longer pauses. All that the old one had not worked off is left out and counted; messages that come
meanwhile wait in the queue. The new process is told of the connections that are open, each with a gap.

What always holds: the relay never waits for the log unless `--log-overflow block` says so, and bytes left out are
counted by connection and direction, so that the log shows a gap instead of guessing.
"""

from __future__ import annotations

import json
import socket
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal

import orjson

from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.wire.format_and_escape_text import escape_text, format_size
from kwcli.proxy.log.log_protocol import CLIENT, COUNTS, HEAD, SERVER, SIZE, TIMES, MessageKind, Parser

if TYPE_CHECKING:
    import asyncio
    import socket

    from decoders.exchanges.exchange import Exchange
    from decoders.messages.build_body_json import Options

__all__ = ["CLIENT", "HELD_MOST", "SERVER", "LogQueue", "Overflow", "Reporter", "Reports", "now_ns"]

_EPOCH_NS: Final = time.time_ns() - time.perf_counter_ns()


def now_ns() -> int:
    """Wall-clock time in ns, which runs as evenly as a monotonic clock."""
    return _EPOCH_NS + time.perf_counter_ns()


READ: Final = 64 << 10
# Longer than any line: each API with some errors.
LINE_MOST: Final = 1 << 20

# A longer record is sent without its bodies; how many records wait at most, the oldest are dropped.
RECORD_MOST: Final = 256 << 10
RECORDS_MOST: Final = 256

# API, error's name, how many more.
Errors = list[tuple[str, str, int]]


class Reporter:
    """The log's end of reports to the data path: how many of its bytes are worked off, and what `add` is given.

    `options`: how to write whole records, None: report only errors.
    """

    def __init__(self, sock: socket.socket, options: Options | None = None) -> None:
        self._sock = sock
        self._options = options
        self._found: Counter[tuple[str, str]] = Counter()
        self._records: deque[bytes] = deque(maxlen=RECORDS_MOST)
        self._unsent = b""

    def add_exchange(self, exchange: Exchange) -> None:
        """Note the errors of an exchange, and its record where records are wanted."""
        for _, code in exchange.unexpected:
            self._found[exchange.api or "other", error_name(code)] += 1
        if self._options is not None:
            self._records.append(_format_record_line(exchange, self._options))

    def send_reports(self, taken: int = 0) -> None:
        """Send what was noted since, and that `taken` bytes are worked off, as far as the socket takes it at once."""
        if taken and not self._unsent:
            self._unsent = b"+%d\n" % taken
        if self._found and len(self._unsent) < RECORD_MOST:
            rows = [(api, error, count) for (api, error), count in self._found.items()]
            self._unsent += json.dumps(rows).encode() + b"\n"
            self._found.clear()
        if self._records and len(self._unsent) < RECORD_MOST:
            self._unsent += b"".join(self._records)
            self._records.clear()
        try:
            while self._unsent:
                self._unsent = self._unsent[self._sock.send(self._unsent, socket.MSG_DONTWAIT) :]
        except OSError:
            return  # sent later, or nobody reads any more


def _format_record_line(exchange: Exchange, options: Options) -> bytes:
    """The record of an exchange as a line of JSON, without bodies where it is too long."""
    from decoders.messages.exchange_json import to_json_dict  # here, since the data path loads this module too

    record = to_json_dict(exchange, options)
    line = orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
    if len(line) > RECORD_MOST:
        line = orjson.dumps(record | {"request": None, "response": None}, option=orjson.OPT_APPEND_NEWLINE)
    return line


class Reports:
    """The data path's end of the log's reports: `told` gets errors, `record` the JSON of each exchange.

    `taken` gets how many bytes are worked off, `ended` is called when the log has closed its end.
    """

    def __init__(
        self,
        sock: socket.socket,
        told: Callable[[Errors], None],
        record: Callable[[bytes], None] | None = None,
        *,
        taken: Callable[[int], None] = lambda _: None,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._sock = sock
        self._told = told
        self._record = record
        self._taken = taken
        self._ended = ended
        self._loop: asyncio.AbstractEventLoop | None = None
        self._line = b""

    def attach(self, loop: asyncio.AbstractEventLoop, sock: socket.socket | None = None) -> None:
        """Read reports from now on, in this event loop; from another socket, where one is given."""
        self._loop = loop
        if sock is not None:
            self._sock, self._line = sock, b""
        loop.add_reader(self._sock.fileno(), self._read_available_reports)

    def detach(self) -> None:
        """Stop reading reports; to be called before the socket is closed."""
        loop, self._loop = self._loop, None
        if loop is not None and not loop.is_closed() and self._sock.fileno() >= 0:
            loop.remove_reader(self._sock.fileno())

    def _read_available_reports(self) -> None:
        try:
            data = self._sock.recv(READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data or len(self._line) > LINE_MOST:
            self.detach()
            self._ended()
            return
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            if line[:1] == b"+":
                self._taken(int(line))
            elif line[:1] != b"{":
                self._told([(api, error, count) for api, error, count in json.loads(line)])
            elif self._record is not None:
                self._record(line)


# Messages are gathered and sent in one piece a little later. Messages that the socket does not take are queued up to a
# bound; beyond it bytes are left out and counted (`drop`: the log gets a gap of known size and goes on), or reading is
# paused (`block`). Once bytes were left out, all others are too until half of the bound is free: few long gaps rather
# than many short ones.


Overflow = Literal["drop", "block"]
# The bound of bytes that are queued for a slow log: a burst of a second or so.
HELD_MOST: Final = 12 << 20
# Messages are sent together after this time (s), or when they have this many bytes.
GATHER_S: Final = 0.002
GATHER: Final = 64 << 10
# This many waiting bytes are joined to one piece: as objects of their own small messages would take twice their size.
PIECE: Final = 256 << 10


# After so many seconds without a log its process is started again; one that has lived for LIVED_S begins anew with the
# first pause. A defect in every row costs a start of a process (0.2 s of CPU time) each of these times, and no more.
RESTARTS_S: Final = (0.2, 1.0, 5.0, 20.0, 60.0)
LIVED_S: Final = 60.0


def _ignore_argument(_: object) -> None:
    """Ignore the argument."""


class Restarts(NamedTuple):
    """How another process of the log is started: `plan` gives its first message by the number of connections so far,
    `start` the socket to it, None where the last process has ended as it should.
    """

    plan: Callable[[int], bytes]
    start: Callable[[], socket.socket | None]
    pauses_s: tuple[float, ...] = RESTARTS_S


class KnownConnection(NamedTuple):
    """An open connection, as another process of the log is told of it."""

    client: str
    listener: str
    upstream: str
    time_ns: int
    dialled: str = ""  # our address of the connection to the broker
    head: str = ""  # the PROXY head that the client's bytes came behind, in hex
    sent_head: str = ""  # that of the connection to the broker


class LogQueue:
    """The log as the data path sees it. All times are in ns since 1970; `side` is CLIENT or SERVER, who sent the bytes.

    `pause(True)` asks the owner to stop reading from connections (`block` only), `pause(False)` to read on; `say` takes
    a line for the user. Without `attach` nothing is sent before `flush`.
    """

    def __init__(
        self,
        sock: socket.socket,
        *,
        overflow: Overflow = "drop",
        most: int = HELD_MOST,
        pause: Callable[[bool], None] = _ignore_argument,
        say: Callable[[str], None] = _ignore_argument,
        restarts: Restarts | None = None,
    ) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._most = most
        self._drops = overflow == "drop"
        self.pause = pause
        self.say = say
        self._loop: asyncio.AbstractEventLoop | None = None
        self._parts: list[bytes] = []
        self._pieces: deque[bytes] = deque()  # older than `_parts`
        self._unsent = memoryview(b"")  # the oldest, being sent
        self._queued = 0  # bytes of all three
        self._packed = 0  # bytes of the last two
        self._due: asyncio.TimerHandle | None = None
        self._filtered = False
        self._over = False  # the bound was passed, and half of it is not free again yet
        self._gaps: dict[tuple[int, int], int] = {}  # connection and kind of gap → bytes left out
        self._unseen: set[int] = set()  # connections that the log was not told of
        self._late: list[bytes] = []  # messages that must arrive, but found no room
        self.alive = True
        self._restarts = restarts
        self._restarting: asyncio.TimerHandle | None = None  # there is no process now
        self._failures = 0  # since a process has lived long enough
        self._begun_s = time.monotonic()
        self._known: dict[int, KnownConnection] = {}  # open connections
        self._count = 0  # of connections that the log was told of
        self._sent: deque[tuple[int, bytes]] = deque()  # pieces not worked off yet, and where each ends
        self._sent_size = self._taken_size = 0  # bytes that were given to the process, and that it has worked off
        self.restarted = 0
        # What the log sends back.
        self.reports = Reports(sock, _ignore_argument, taken=self._forget_taken_pieces, ended=self._restart_process)
        self.events = False  # whether the log wants TLS and EVENT messages
        self.dropped_bytes = 0
        self.dropped_exchanges = 0
        self.dropped_connections = 0

    @property
    def queued_size(self) -> int:
        """Bytes that wait for the log."""
        return self._queued

    @property
    def dropped(self) -> tuple[int, int, int]:
        """Bytes, answers and connections that were left out so far."""
        return self.dropped_bytes, self.dropped_exchanges, self.dropped_connections

    def send_reports_to(self, told: Callable[[Errors], None], record: Callable[[bytes], None] | None = None) -> None:
        """Have `told` called with errors in answers, and `record` with exchanges, where the log's plan reports them.

        To be called before `attach`.
        """
        self.reports = Reports(self._sock, told, record, taken=self._forget_taken_pieces, ended=self._restart_process)

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let the event loop send messages and read reports from now on."""
        self._loop = loop
        self.reports.attach(loop)
        self._flush_soon()

    # -- messages of the data path -------------------------------------------------------------------------------------

    def log_connection_opened(
        self, connection: int, client: str, listener: str, upstream: str, time_ns: int, head: bytes = b""
    ) -> None:
        """Log that a client has connected; addresses are host:port. Else nothing of the connection is logged.

        `client` is who sends the bytes, which came behind the PROXY head `head`; `upstream` is empty where no broker is
        behind.
        """
        if not self._has_room():
            self._unseen.add(connection)
            self.dropped_connections += 1
            return
        self._known[connection] = KnownConnection(client, listener, upstream, time_ns, head=head.hex())
        self._count += 1
        said = [client, listener, upstream, *([False, head.hex()] if head else [])]
        self._queue_message(MessageKind.OPENED, connection, time_ns, json.dumps(said).encode())

    def log_client_bytes(self, connection: int, side: int, time_ns: int, data: bytes) -> None:
        """Log bytes as the client sent them (CLIENT) or gets them (SERVER), without TLS. They must not change later."""
        size = len(data)
        if self._over or self._gaps or self._queued + size > self._most:
            self._queue_when_full(side, connection, time_ns, data)  # the kind of a chunk is its side
            return
        self._parts += (HEAD.pack(side, connection, time_ns, size), data)
        self._queued += size + HEAD.size
        if self._due is None or self._queued > GATHER:
            self._flush_soon()

    def log_broker_bytes(self, connection: int, side: int, time_ns: int, data: bytes) -> None:
        """Log bytes as the broker gets them (CLIENT) or has sent them (SERVER), for a file with both sides."""
        self._queue_when_full(MessageKind.RAW + side, connection, time_ns, data)

    def log_upstream_latency(self, connection: int, correlation_id: int, sent_ns: int, first_ns: int) -> None:
        """Log when a request's last byte left for the broker and its answer's first byte came; before that answer."""
        if self._over and (self._drops or not self.alive):
            self.dropped_exchanges += 1
            return
        times = TIMES.pack(correlation_id, sent_ns, first_ns)
        self._parts += (HEAD.pack(MessageKind.UPSTREAM, connection, first_ns, TIMES.size), times)
        self._queued += HEAD.size + TIMES.size
        if self._due is None:
            self._flush_soon()

    def log_broker_connection(
        self, connection: int, local: str, upstream: str, time_ns: int, head: bytes = b""
    ) -> None:
        """Log the addresses of the connection to the broker, once it is open; must come before `log_broker_bytes`.

        `head` is the PROXY head that was sent first.
        """
        if connection not in self._unseen and self._has_room():
            if connection in self._known:
                known = self._known[connection]
                self._known[connection] = known._replace(upstream=upstream, dialled=local, sent_head=head.hex())
            said = [local, upstream, *([head.hex()] if head else [])]
            self._queue_message(MessageKind.DIALLED, connection, time_ns, json.dumps(said).encode())

    def log_decision(self, connection: int, said: dict[str, object], time_ns: int) -> None:
        """Log a decision about an exchange that is not settled yet: its correlation `id`, and `fault` or `refused`."""
        if connection not in self._unseen and self._has_room():
            self._queue_message(MessageKind.DECISION, connection, time_ns, json.dumps(said).encode())

    def log_tls(self, connection: int, version: str, cipher: str, time_ns: int) -> None:
        """Log the TLS version and cipher of a client."""
        if self.events and connection not in self._unseen and self._has_room():
            self._queue_message(MessageKind.TLS, connection, time_ns, json.dumps([version, cipher]).encode())

    def log_event(self, connection: int, text: str, time_ns: int) -> None:
        """Log a message for people, about a connection or (0) about none."""
        if self.events and connection not in self._unseen and self._has_room():
            self._queue_message(MessageKind.EVENT, connection, time_ns, escape_text(text).encode())

    def log_listeners(self, bootstrap: str, listeners: list[dict[str, object]], time_ns: int) -> None:
        """Log where clients find which node, for programs."""
        if self.events and self._has_room():
            said = {"bootstrap": bootstrap, "listeners": listeners}
            self._queue_message(MessageKind.LISTENERS, 0, time_ns, json.dumps(said).encode())

    def log_connection_closed(self, connection: int, how: str, time_ns: int, reason: str = "") -> None:
        """Log that a connection is over: `how` is `fin` or `rst`, `reason` why."""
        if connection in self._unseen:
            self._unseen.discard(connection)
            return
        for kind in (MessageKind.GAP, MessageKind.GAP_SERVER, MessageKind.RAW_GAP, MessageKind.RAW_GAP_SERVER):
            self._queue_gap(connection, kind, time_ns)
        self._known.pop(connection, None)
        told = f"{how}\n{escape_text(reason)}" if reason else how
        self._queue_required_message(MessageKind.CLOSED, connection, time_ns, told.encode())

    def queue_packed(self, message: bytes) -> None:
        """Queue a message that is packed already (log_protocol.py)."""
        self._parts.append(message)
        self._queued += len(message)

    # -- sending -------------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Send what the socket takes now."""
        self._due = None
        if not self.alive or self._restarting is not None:
            return
        while True:
            if not self._unsent:
                if not self._pieces:
                    if not self._parts:
                        break
                    self._join_parts()
                piece = self._pieces.popleft()
                self._unsent = memoryview(piece)
                self._sent_size += len(piece)
                if self._restarts is not None and self._loop is not None:
                    self._sent.append((self._sent_size, piece))
            try:
                sent = self._sock.send(self._unsent)
            except BlockingIOError:
                break
            except OSError:
                self._restart_process()
                return
            self._queued -= sent
            self._packed -= sent
            self._unsent = self._unsent[sent:]
        self._watch_writable(bool(self._unsent))
        if self._queued < self._most // 2:
            self._end_overflow()

    def _join_parts(self) -> None:
        """Join the messages that came to one piece."""
        self._pieces.append(b"".join(self._parts))
        self._parts = []
        self._packed = self._queued

    def finish(self, timeout: float = 30.0) -> bool:
        """Send the rest and close; waits at most `timeout` (s). False when the log did not take everything."""
        self._watch_writable(False)
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if self._restarting is not None:
            self._restarting.cancel()
            self._start_new_process()
        self._loop = None
        if not self.alive:
            return False
        try:
            self._sock.settimeout(timeout)
            self._over = False
            rest = [bytes(self._unsent), *self._pieces, *self._parts, *self._late]
            self._drop_waiting_messages()
            self._sock.sendall(b"".join([*rest, self._pack_dropped_counts()]))
        except OSError:
            return False
        finally:
            self.close()
        return True

    def close(self) -> None:
        """Close without waiting; messages that were not sent are lost."""
        self.alive = False
        self.reports.detach()
        if self._restarting is not None:
            self._restarting.cancel()
            self._restarting = None
        self._over = True  # so that nothing is taken any more
        self._watch_writable(False)
        if self._due is not None:
            self._due.cancel()
            self._due = None
        with suppress(OSError):
            self._sock.close()

    def _drop_waiting_messages(self) -> None:
        """Drop all messages that wait."""
        self._parts, self._late, self._unsent, self._queued, self._packed = [], [], memoryview(b""), 0, 0
        self._pieces.clear()
        self._sent.clear()

    def _flush_soon(self) -> None:
        """Have `flush` called: soon, or at once when enough bytes wait."""
        if self._queued - self._packed > PIECE:
            self._join_parts()
        if self._loop is None or self._filtered or not self.alive:
            return
        if self._due is None:
            self._due = self._loop.call_later(GATHER_S, self.flush)
        elif self._queued > GATHER:
            self._due.cancel()
            self.flush()

    def _watch_writable(self, wanted: bool) -> None:
        """Have `flush` called when the socket takes more."""
        if self._loop is None or wanted == self._filtered or self._restarting is not None:
            return
        self._filtered = wanted
        if wanted:
            self._loop.add_writer(self._sock.fileno(), self.flush)
        else:
            self._loop.remove_writer(self._sock.fileno())

    # -- too much ------------------------------------------------------------------------------------------------------

    def _queue_when_full(self, kind: int, connection: int, time_ns: int, data: bytes) -> None:
        """Queue bytes where the queue is full or was full, or leave them out."""
        if not self.alive:
            return
        size = len(data)
        if connection in self._unseen:
            self.dropped_bytes += size
            return
        full = self._over or (self._queued > 0 and self._queued + size > self._most)
        if full and not self._over:
            self._begin_overflow()
        if full and self._drops:
            place = (connection, kind + MessageKind.GAP)
            self._gaps[place] = self._gaps.get(place, 0) + size
            self.dropped_bytes += size
            return
        self._queue_gap(connection, kind + MessageKind.GAP, time_ns)
        self._queue_message(kind, connection, time_ns, data)

    def _begin_overflow(self) -> None:
        self._over = True
        if self._drops:
            if not self.dropped_bytes:
                self.say("the log cannot keep up and leaves traffic out (--log-overflow block makes clients wait)")
        else:
            self.pause(True)

    def _end_overflow(self) -> None:
        """Go on as usual, since there is room again: late messages, counts of what was left out, reading."""
        if self._late:
            late, self._late = self._late, []
            self._parts += late
            self._queued += sum(map(len, late))
            self._flush_soon()
        if self._over:
            self._over = False
            if self._drops:
                self._parts.append(self._pack_dropped_counts())
                self._queued += HEAD.size + COUNTS.size
                self._flush_soon()
            else:
                self.pause(False)

    def _pack_dropped_counts(self) -> bytes:
        counts = COUNTS.pack(self.dropped_bytes, self.dropped_exchanges, self.dropped_connections)
        return HEAD.pack(MessageKind.DROPPED, 0, 0, len(counts)) + counts

    def _queue_gap(self, connection: int, kind: int, time_ns: int) -> None:
        """Send the log the size of a gap, where bytes of a connection were left out."""
        size = self._gaps.pop((connection, kind), 0)
        if size:
            self._queue_required_message(kind, connection, time_ns, SIZE.pack(size))

    def _has_room(self) -> bool:
        """Whether there is room for a small message, for which the bound is twice as high."""
        return self.alive and self._queued < 2 * self._most

    def _queue_required_message(self, kind: int, connection: int, time_ns: int, content: bytes) -> None:
        """Send a message that must arrive, later where there is no room now; they are few for each connection."""
        if self._has_room() and not self._late:
            self._queue_message(kind, connection, time_ns, content)
        elif self.alive:
            if not self._over:
                self._begin_overflow()
            self._late.append(HEAD.pack(kind, connection, time_ns, len(content)) + content)

    def _queue_message(self, kind: int, connection: int, time_ns: int, content: bytes) -> None:
        if self.alive:
            self._parts += (HEAD.pack(kind, connection, time_ns, len(content)), content)
            self._queued += HEAD.size + len(content)
            self._flush_soon()

    # -- the end of the process ----------------------------------------------------------------------------------------

    def _forget_taken_pieces(self, size: int) -> None:
        """Forget the pieces that the process has worked off, after `size` bytes since its start."""
        self._taken_size = size
        while self._sent and self._sent[0][0] <= size:
            self._sent.popleft()

    def _restart_process(self) -> None:
        """Have another process started after a pause, since the last one has ended; or go on without a log."""
        if not self.alive or self._restarting is not None:
            return
        if time.monotonic() - self._begun_s >= LIVED_S:
            self._failures = 0
        restarts, loop = self._restarts, self._loop
        if restarts is None or loop is None or self._failures >= len(restarts.pauses_s):
            self._go_on_without_log()
            return
        self.reports.detach()
        self._watch_writable(False)
        self._sock.close()
        self._drop_unfinished_messages(restarts.plan(self._count))
        self._restarting = loop.call_later(restarts.pauses_s[self._failures], self._start_new_process)
        self._failures += 1

    def _start_new_process(self) -> None:
        """Start another process, if the last one has ended by a defect."""
        self._restarting = None
        assert self._restarts is not None
        sock = self._restarts.start()
        if sock is None:
            self._go_on_without_log()
            return
        sock.setblocking(False)
        self._sock = sock
        self._begun_s = time.monotonic()
        self.restarted += 1
        answers = "1 answer" if self.dropped_exchanges == 1 else f"{self.dropped_exchanges:,} answers"
        missing = f"{format_size(self.dropped_bytes)} with {answers} missing in it so far"
        self.say(f"the log process has failed and was started again: {missing}")
        if self._loop is not None:
            self.reports.attach(self._loop, sock)
            self.flush()

    def _drop_unfinished_messages(self, plan: bytes) -> None:
        """Leave out and count all that the old process has not worked off; tell the new one of the open connections."""
        data = b"".join([*(piece for _, piece in self._sent), *self._pieces, *self._parts, *self._late])
        end = self._sent[0][0] - len(self._sent[0][1]) if self._sent else self._taken_size
        missed: Counter[tuple[int, int]] = Counter()
        for kind, connection, _, content in Parser().feed(data):
            end += HEAD.size + len(content)
            if end <= self._taken_size:
                continue
            if kind <= MessageKind.RAW_SERVER:
                missed[connection, kind + MessageKind.GAP] += len(content)
                self.dropped_bytes += len(content)
            elif kind <= MessageKind.RAW_GAP_SERVER:  # counted when it was left out
                missed[connection, kind] += SIZE.unpack(content)[0]
            elif kind == MessageKind.UPSTREAM:
                self.dropped_exchanges += 1
            elif kind == MessageKind.OPENED and connection not in self._known:
                self.dropped_connections += 1
        for place, size in self._gaps.items():
            missed[place] += size
        over, self._over = self._over, False
        self._drop_waiting_messages()
        self._sent_size = self._taken_size = 0
        self.queue_packed(plan)
        self._count += len(self._known)  # each gets another number
        # Nobody knows where in a frame the new process begins: each side has a gap of at least one byte.
        self._gaps = {}
        for number, known in self._known.items():
            said = [known.client, known.listener, known.upstream, True, *([known.head] if known.head else [])]
            self._queue_message(MessageKind.OPENED, number, known.time_ns, json.dumps(said).encode())
            kinds = [MessageKind.GAP, MessageKind.GAP_SERVER]
            if known.dialled:
                ends = [known.dialled, known.upstream, *([known.sent_head] if known.sent_head else [])]
                self._queue_message(MessageKind.DIALLED, number, known.time_ns, json.dumps(ends).encode())
                kinds += [MessageKind.RAW_GAP, MessageKind.RAW_GAP_SERVER]
            self._gaps |= {(number, kind): max(missed[number, kind], 1) for kind in kinds}
        if over and not self._drops:
            self.pause(False)

    def _go_on_without_log(self) -> None:
        """Go on without a log, whose process has ended."""
        paused = self._over and not self._drops
        self.close()
        self._drop_waiting_messages()
        self._gaps.clear()
        if paused:
            self.pause(False)
        self.say("the log has ended; clients go on without it")
