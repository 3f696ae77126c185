"""What passes through the proxy in, messages for the log's process out: the data path's side, which never waits.

The problem. Decoding takes ten times as long as passing bytes on, and one loop serves all clients.

The idea. Another process decodes. The data path puts pieces of traffic into a bounded queue and sends what the socket
takes at once:

```
relay ──▶ LogQueue (≤ HELD_MOST bytes) ──▶ socket pair ──▶ log's process (log_process.py) ──▶ rows, capture file
relay ◀── Reports: errors in answers, for metrics; whole records, for the control interface ◀──
```

What always holds: the relay never waits for the log unless `--log-overflow block` says so, and what was left out is
counted and named by connection and direction, so that the log tells of a gap instead of guessing.
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

from decoders.apis.error_codes import error_name
from kwcli.proxy.log.log_protocol import CLIENT, COUNTS, HEAD, SERVER, SIZE, TIMES, MessageKind

if TYPE_CHECKING:
    import asyncio
    import socket

    from decoders.exchanges.exchange import Exchange
    from decoders.messages.bodies import Options

__all__ = ["CLIENT", "HELD_MOST", "SERVER", "LogQueue", "Overflow", "Reporter", "Reports", "now_ns"]

_EPOCH_NS: Final = time.time_ns() - time.perf_counter_ns()


def now_ns() -> int:
    """Wall-clock time in ns; differences are those of a monotonic clock."""
    return _EPOCH_NS + time.perf_counter_ns()


READ: Final = 64 << 10
# No line is as long: 95 APIs with some errors each.
LINE_MOST: Final = 1 << 20

# A record that is longer goes without its bodies; so many wait at most, and the oldest go.
RECORD_MOST: Final = 256 << 10
RECORDS_MOST: Final = 256

# API, error's name, how many more.
Errors = list[tuple[str, str, int]]


class Reporter:
    """The log's end. `options`: how whole records are told, None: only their errors are."""

    def __init__(self, sock: socket.socket, options: Options | None = None) -> None:
        self._sock = sock
        self._options = options
        self._found: Counter[tuple[str, str]] = Counter()
        self._records: deque[bytes] = deque(maxlen=RECORDS_MOST)
        self._unsent = b""

    def add(self, exchange: Exchange) -> None:
        """Note its errors, if it has any, and its record where that is wanted."""
        for _, code in exchange.unexpected:
            self._found[exchange.api or "other", error_name(code)] += 1
        if self._options is not None:
            self._records.append(_record_line(exchange, self._options))

    def send(self) -> None:
        """Tell what was noted since, as far as it goes out at once."""
        if self._found and not self._unsent:
            rows = [(api, error, count) for (api, error), count in self._found.items()]
            self._unsent = json.dumps(rows).encode() + b"\n"
            self._found.clear()
        if self._records and len(self._unsent) < RECORD_MOST:
            self._unsent += b"".join(self._records)
            self._records.clear()
        try:
            while self._unsent:
                self._unsent = self._unsent[self._sock.send(self._unsent, socket.MSG_DONTWAIT) :]
        except OSError:
            return  # later, or to nobody


def _record_line(exchange: Exchange, options: Options) -> bytes:
    """Its record as a line of JSON."""
    from decoders.messages.record import to_json_dict  # not for the data path, which has this module too

    record = to_json_dict(exchange, options)
    line = orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
    if len(line) > RECORD_MOST:
        line = orjson.dumps(record | {"request": None, "response": None}, option=orjson.OPT_APPEND_NEWLINE)
    return line


class Reports:
    """The data path's end: `told` gets errors, `record` the JSON of each exchange."""

    def __init__(
        self, sock: socket.socket, told: Callable[[Errors], None], record: Callable[[bytes], None] | None = None
    ) -> None:
        self._sock = sock
        self._told = told
        self._record = record
        self._loop: asyncio.AbstractEventLoop | None = None
        self._line = b""

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Listen from now on."""
        self._loop = loop
        loop.add_reader(self._sock.fileno(), self._read)

    def detach(self) -> None:
        """Listen no more: before the socket is closed."""
        loop, self._loop = self._loop, None
        if loop is not None and not loop.is_closed() and self._sock.fileno() >= 0:
            loop.remove_reader(self._sock.fileno())

    def _read(self) -> None:
        try:
            data = self._sock.recv(READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data or len(self._line) > LINE_MOST:
            self.detach()
            return
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            if line[:1] != b"{":
                self._told([(api, error, count) for api, error, count in json.loads(line)])
            elif self._record is not None:
                self._record(line)


# Messages are gathered and sent in one piece a little later. What the socket does not take is held up to a bound;
# beyond it bytes are left out and counted (`drop`: the log gets a gap of known size and goes on), or reading is paused
# (`block`). Once something was left out, so is everything until half of the bound is free: few long gaps rather than
# many short ones.


Overflow = Literal["drop", "block"]
# What is held for a log that is slow: a burst of a second or so.
HELD_MOST: Final = 12 << 20
# Messages are sent together after this time, or when there are so many bytes of them.
GATHER_S: Final = 0.002
GATHER: Final = 64 << 10
# So many bytes are made one piece while they wait: as objects small messages would take twice their size.
PIECE: Final = 256 << 10


def _nothing(_: object) -> None:
    """Nobody wants to know."""


class LogQueue:
    """The log as the data path sees it. All times are in ns since 1970; `side` is CLIENT or SERVER, who sent the bytes.

    `pause(True)` asks the owner not to read any more (`block` only), `pause(False)` to go on; `say` takes a line for
    the user. Without `attach` nothing is sent before `flush`.
    """

    def __init__(
        self,
        sock: socket.socket,
        *,
        overflow: Overflow = "drop",
        most: int = HELD_MOST,
        pause: Callable[[bool], None] = _nothing,
        say: Callable[[str], None] = _nothing,
    ) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._most = most
        self._drops = overflow == "drop"
        self.pause = pause
        self.say = say
        self._loop: asyncio.AbstractEventLoop | None = None
        self._parts: list[bytes] = []
        self._pieces: deque[bytes] = deque()  # what came before
        self._unsent = memoryview(b"")  # before that
        self._held = 0  # bytes of all three
        self._packed = 0  # bytes of the last two
        self._due: asyncio.TimerHandle | None = None
        self._watched = False
        self._over = False  # more came than there was room for, and half of the bound is not free yet
        self._gaps: dict[tuple[int, int], int] = {}  # connection and kind of gap → bytes left out
        self._unseen: set[int] = set()  # connections of which the log knows nothing
        self._late: list[bytes] = []  # messages that must arrive, and did not find room
        self.alive = True
        self.reports: Reports | None = None  # what comes back
        self.events = False  # whether it wants to hear of TLS and of what people are told
        self.dropped_bytes = 0
        self.dropped_exchanges = 0
        self.dropped_connections = 0

    @property
    def held(self) -> int:
        """Bytes that wait for the log."""
        return self._held

    @property
    def dropped(self) -> tuple[int, int, int]:
        """Bytes, answers and connections that were left out so far."""
        return self.dropped_bytes, self.dropped_exchanges, self.dropped_connections

    def report_to(self, told: Callable[[Errors], None], record: Callable[[bytes], None] | None = None) -> None:
        """Have the errors told that the log finds in answers, where its plan is to `report`, and exchanges where it is
        to report `records`; before `attach`.
        """
        self.reports = Reports(self._sock, told, record)

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Send from now on by itself, in this loop."""
        self._loop = loop
        if self.reports is not None:
            self.reports.attach(loop)
        self._later()

    # -- what the data path says ---------------------------------------------------------------------------------------

    def opened(self, connection: int, client: str, listener: str, upstream: str, time_ns: int) -> None:
        """A client is connected; addresses are host:port. Without this nothing of the connection is logged.

        `upstream` is empty where no broker is behind.
        """
        if not self._room():
            self._unseen.add(connection)
            self.dropped_connections += 1
            return
        self._tell(MessageKind.OPENED, connection, time_ns, json.dumps([client, listener, upstream]).encode())

    def chunk(self, connection: int, side: int, time_ns: int, data: bytes) -> None:
        """Bytes as the client has sent them (CLIENT) or gets them (SERVER), before TLS. They must not change later."""
        size = len(data)
        if self._over or self._gaps or self._held + size > self._most:
            self._hard(side, connection, time_ns, data)  # the kind of a chunk is its side
            return
        self._parts += (HEAD.pack(side, connection, time_ns, size), data)
        self._held += size + HEAD.size
        if self._due is None or self._held > GATHER:
            self._later()

    def raw(self, connection: int, side: int, time_ns: int, data: bytes) -> None:
        """Bytes as the broker gets them (CLIENT) or has sent them (SERVER): for a file that has both sides."""
        self._hard(MessageKind.RAW + side, connection, time_ns, data)

    def upstream(self, connection: int, correlation_id: int, sent_ns: int, first_ns: int) -> None:
        """An answer's first byte came from the broker; its request's last byte had left for it. Before its chunk."""
        if self._over and (self._drops or not self.alive):
            self.dropped_exchanges += 1
            return
        times = TIMES.pack(correlation_id, sent_ns, first_ns)
        self._parts += (HEAD.pack(MessageKind.UPSTREAM, connection, first_ns, TIMES.size), times)
        self._held += HEAD.size + TIMES.size
        if self._due is None:
            self._later()

    def dialled(self, connection: int, local: str, upstream: str, time_ns: int) -> None:
        """The connection to the broker stands, between these addresses: must come before `raw`."""
        if connection not in self._unseen and self._room():
            self._tell(MessageKind.DIALLED, connection, time_ns, json.dumps([local, upstream]).encode())

    def decision(self, connection: int, said: dict[str, object], time_ns: int) -> None:
        """What was decided about an exchange that is not settled yet: correlation `id`, and `fault` or `refused`."""
        if connection not in self._unseen and self._room():
            self._tell(MessageKind.DECISION, connection, time_ns, json.dumps(said).encode())

    def tls(self, connection: int, version: str, cipher: str, time_ns: int) -> None:
        """What a client's TLS is."""
        if self.events and connection not in self._unseen and self._room():
            self._tell(MessageKind.TLS, connection, time_ns, json.dumps([version, cipher]).encode())

    def event(self, connection: int, text: str, time_ns: int) -> None:
        """What people were told, of a connection or (0) of none."""
        if self.events and connection not in self._unseen and self._room():
            self._tell(MessageKind.EVENT, connection, time_ns, text.encode())

    def closed(self, connection: int, how: str, time_ns: int, reason: str = "") -> None:
        """A connection is over: `fin` or `rst`, and why."""
        if connection in self._unseen:
            self._unseen.discard(connection)
            return
        for kind in (MessageKind.GAP, MessageKind.GAP_SERVER, MessageKind.RAW_GAP, MessageKind.RAW_GAP_SERVER):
            self._declare(connection, kind, time_ns)
        self._must(MessageKind.CLOSED, connection, time_ns, f"{how}\n{reason}".encode() if reason else how.encode())

    def tell(self, message: bytes) -> None:
        """A message that is whole already (log_protocol.py)."""
        self._parts.append(message)
        self._held += len(message)

    # -- sending -------------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Send what the socket takes now."""
        self._due = None
        if not self.alive:
            return
        while True:
            if not self._unsent:
                if not self._pieces:
                    if not self._parts:
                        break
                    self._pack()
                self._unsent = memoryview(self._pieces.popleft())
            try:
                sent = self._sock.send(self._unsent)
            except BlockingIOError:
                break
            except OSError:
                self._lost()
                return
            self._held -= sent
            self._packed -= sent
            self._unsent = self._unsent[sent:]
        self._watch(bool(self._unsent))
        if self._held < self._most // 2:
            self._relieved()

    def _pack(self) -> None:
        """Make one piece of what came."""
        self._pieces.append(b"".join(self._parts))
        self._parts = []
        self._packed = self._held

    def finish(self, timeout: float = 30.0) -> bool:
        """Send the rest, waiting for it, and end; False when the log did not take it in that time."""
        self._watch(False)
        if self._due is not None:
            self._due.cancel()
            self._due = None
        self._loop = None
        if not self.alive:
            return False
        try:
            self._sock.settimeout(timeout)
            self._over = False
            rest = [bytes(self._unsent), *self._pieces, *self._parts, *self._late]
            self._forget()
            self._sock.sendall(b"".join([*rest, self._counts()]))
        except OSError:
            return False
        finally:
            self.close()
        return True

    def close(self) -> None:
        """End without waiting; what was not sent is lost."""
        self.alive = False
        if self.reports is not None:
            self.reports.detach()
        self._over = True  # so that nothing is taken any more
        self._watch(False)
        if self._due is not None:
            self._due.cancel()
            self._due = None
        with suppress(OSError):
            self._sock.close()

    def _forget(self) -> None:
        """Nothing waits any more."""
        self._parts, self._late, self._unsent, self._held, self._packed = [], [], memoryview(b""), 0, 0
        self._pieces.clear()

    def _later(self) -> None:
        """Have `flush` called: soon, or when there is enough."""
        if self._held - self._packed > PIECE:
            self._pack()
        if self._loop is None or self._watched or not self.alive:
            return
        if self._due is None:
            self._due = self._loop.call_later(GATHER_S, self.flush)
        elif self._held > GATHER:
            self._due.cancel()
            self.flush()

    def _watch(self, wanted: bool) -> None:
        """Have `flush` called when the socket takes more."""
        if self._loop is None or wanted == self._watched:
            return
        self._watched = wanted
        if wanted:
            self._loop.add_writer(self._sock.fileno(), self.flush)
        else:
            self._loop.remove_writer(self._sock.fileno())

    # -- too much ------------------------------------------------------------------------------------------------------

    def _hard(self, kind: int, connection: int, time_ns: int, data: bytes) -> None:
        """Bytes where something is unusual: too much is held, or was."""
        if not self.alive:
            return
        size = len(data)
        if connection in self._unseen:
            self.dropped_bytes += size
            return
        full = self._over or (self._held > 0 and self._held + size > self._most)
        if full and not self._over:
            self._overflows()
        if full and self._drops:
            place = (connection, kind + MessageKind.GAP)
            self._gaps[place] = self._gaps.get(place, 0) + size
            self.dropped_bytes += size
            return
        self._declare(connection, kind + MessageKind.GAP, time_ns)
        self._tell(kind, connection, time_ns, data)

    def _overflows(self) -> None:
        self._over = True
        if self._drops:
            if not self.dropped_bytes:
                self.say("the log cannot keep up: traffic is left out of it (--log-overflow block makes clients wait)")
        else:
            self.pause(True)

    def _relieved(self) -> None:
        """There is room again."""
        if self._late:
            late, self._late = self._late, []
            self._parts += late
            self._held += sum(map(len, late))
            self._later()
        if self._over:
            self._over = False
            if self._drops:
                self._parts.append(self._counts())
                self._held += HEAD.size + COUNTS.size
                self._later()
            else:
                self.pause(False)

    def _counts(self) -> bytes:
        counts = COUNTS.pack(self.dropped_bytes, self.dropped_exchanges, self.dropped_connections)
        return HEAD.pack(MessageKind.DROPPED, 0, 0, len(counts)) + counts

    def _declare(self, connection: int, kind: int, time_ns: int) -> None:
        """Tell the log how many bytes it did not get, if so."""
        size = self._gaps.pop((connection, kind), 0)
        if size:
            self._must(kind, connection, time_ns, SIZE.pack(size))

    def _room(self) -> bool:
        """Whether there is room for a small message; for those the bound is twice as high."""
        return self.alive and self._held < 2 * self._most

    def _must(self, kind: int, connection: int, time_ns: int, content: bytes) -> None:
        """A message that keeps for later where there is no room: there is one at most for what the log knows."""
        if self._room() and not self._late:
            self._tell(kind, connection, time_ns, content)
        elif self.alive:
            if not self._over:
                self._overflows()
            self._late.append(HEAD.pack(kind, connection, time_ns, len(content)) + content)

    def _tell(self, kind: int, connection: int, time_ns: int, content: bytes) -> None:
        if self.alive:
            self._parts += (HEAD.pack(kind, connection, time_ns, len(content)), content)
            self._held += HEAD.size + len(content)
            self._later()

    def _lost(self) -> None:
        """Nobody is at the other end any more: the data path goes on without a log."""
        paused = self._over and not self._drops
        self.close()
        self._forget()
        self._gaps.clear()
        if paused:
            self.pause(False)
        self.say("the log has ended; clients go on without it")
