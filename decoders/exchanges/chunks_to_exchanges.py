"""Chunks of all connections in, exchanges out: the one pass that every packet goes through.

The problem. A capture has hundreds of thousands of exchanges, and calling a method for each step of each of them costs
more than the work itself.

The idea. The common case is written in line, in one function without calls; all else is called. The common case is a
frame that lies whole in one chunk, on a connection in step and of an API version without peculiarities
(`ApiReaders.plain`), and a piece of a large body (`python -m tests.bench.exchanges`):

```
chunk ─► half.state is a direction in step? ── no ─► unusual(): events, connections not known to be Kafka
            │ mode
            ├ REQUEST   heads that fit ─► new Exchange into in_flight     what does not fit ┐
            ├ RESPONSE  ids that wait ─► out                              what does not fit ┼─► framing.take_bytes
            └ BODY      append to the frame under way                     its last piece    ┘
```

What always holds: the plain path (framing.take_bytes and connection_pairing.py) gives the same exchanges for the same
chunks; the tests compare the two by switching the fast path off. Any chunk may leave the fast path in the middle and go
on in the plain one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from decoders.exchanges.body_reader import Needs
from decoders.exchanges.connection_pairing import Pairing, PairingContext
from decoders.exchanges.exchange import (
    ConnectionInfo,
    Ended,
    Exchange,
    Row,
    Settled,
    Skipped,
    Summary,
)
from decoders.exchanges.requests_in_flight_and_sasl_phase import ANSWERED_KEPT, ANSWERED_MASK, last_packet_of_request
from decoders.frames.detect_kafka_connection import (
    FOREVER,
    DoubtfulConnections,
    UndecidedConnection,
    describe_tls,
    describe_undecided,
    doubtful_until_ns,
    is_doubtful,
)
from decoders.frames.framing import (
    BODY,
    REQUEST,
    RESPONSE,
    FrameDirection,
    give_up_frame,
    lose_sync,
    take_bytes,
    take_gap,
)
from decoders.frames.read_and_judge_headers import RESPONSE as RESPONSE_FORM
from decoders.frames.read_and_judge_headers import may_begin_frame
from decoders.limits import DOUBTFUL_MAX, HELD_MAX, IN_FLIGHT_MAX, RAW_KEPT_MAX, UNDECIDED_MAX
from decoders.protocols import TLS, foreign_protocol_name
from decoders.schema.api_declaration import Side
from decoders.tcp.connection_and_halves import Connection, Half, tls_facts_of
from decoders.tcp.find_connections_captured_twice import ConnectionCopies
from decoders.tcp.stream_chunks import Chunk, Close, Gap, How, Retransmission

if TYPE_CHECKING:
    from decoders.exchanges.facts_from_earlier_exchanges import History
    from decoders.tcp.connection_prefix import ConnectionPrefix
    from decoders.tls.tls_facts import TlsFacts

UnusualHandler = Callable[[Half, int, int, Any], None]
# Size, API key and version together, correlation id, client id length.
REQUEST_FORM: Final = Struct(">iIih")
REQUEST_HEAD: Final = REQUEST_FORM.size
RESPONSE_HEAD: Final = RESPONSE_FORM.size


# Bytes kept of a request that is given up for the budget, enough to identify it.
HEAD_KEPT = 512
# A Kafka connection without bytes for this long (ns of capture time) is put to rest. With a shorter time, connections
# that send heartbeats would rest and wake all the time. Up to AWAKE_MIN connections, rest gains nothing.
REST_NS = 5 * 10**9
AWAKE_MIN = 1024
# The step by which the budget grows for a single frame that is larger than the budget.
STEP = 4 << 20


class Context(PairingContext):
    """The state that all connections of one engine share, and the connections by number."""

    __slots__ = (
        *("awake", "brokers", "doubtful", "foretold", "history", "pairings", "ports", "undecided", "vouching"),
        *("copies", "woken"),
    )

    def __init__(self, ports: Iterable[int] | None, needs: Needs, *, connections: bool = False) -> None:
        super().__init__(needs, connections=connections)
        self.history: History | None = None  # facts of earlier exchanges, where asked for
        self.ports = None if ports is None else frozenset(ports)
        self.pairings: dict[int, Pairing] = {}  # open connections that are Kafka, by number
        self.undecided: dict[int, UndecidedConnection] = {}
        self.brokers: dict[str, int] = {}  # endpoint recognised as a broker → since when
        # Connections that are over, and would be Kafka if their server proved to be a broker; None: none are kept.
        self.doubtful: DoubtfulConnections | None = DoubtfulConnections()
        self.foretold: frozenset[str] = frozenset()  # endpoints that will prove to be brokers, where that is known
        self.copies: ConnectionCopies | None = None  # where copies of connections are left out
        # The recognised brokers for other engines, where asked for: endpoint, since when, the client that showed it.
        self.vouching: list[tuple[str, int, str]] | None = None
        # The numbers of connections that are not at rest, where the engine puts connections to rest.
        self.awake: deque[int] | None = None
        self.woken = 0  # how many were added to `awake` since the last `rest`

    def mark_active(self, pairing: Pairing) -> None:
        """Note as awake a connection that begins, or has bytes again after a rest."""
        if self.awake is not None:
            self.awake.append(pairing.connection_info.number)
            self.woken += 1

    def drop_state_of_idle_pairings(self) -> None:
        """Put idle connections to rest: for each connection noted since the last call, two are checked, in turn."""
        awake, before_ns = self.awake, self.summary.last_ns - REST_NS
        if awake is None or not self.woken:
            return
        looks = min(2 * self.woken, len(awake) - AWAKE_MIN)
        self.woken = 0
        for _ in range(looks):
            number = awake.popleft()
            pairing = self.pairings.get(number)
            if pairing is None or pairing.resting:
                continue
            client = pairing.client
            busy = client is not None and max(client.last_ns, client.peer.last_ns) > before_ns
            if busy or not pairing.drop_initial_state():
                awake.append(number)

    def drop_oldest_held_bodies(self, current: FrameDirection | None) -> None:
        """Give up the oldest bodies, because too many bytes are held, until half the budget is free.

        First requests in flight, then bytes of undecided connections, then frames under way except the `current` one,
        which alone may grow to the limit of a frame.
        """
        budget = self.budget
        aim = HELD_MAX // 2
        waiting = [
            exchange
            for pairing in self._list_working_pairings()
            for exchange in pairing.in_flight.list_waiting_requests()
        ]
        waiting.sort(key=last_packet_of_request)
        for exchange in waiting:
            if budget.held <= aim:
                break
            self._shorten_held_request(exchange)
        for undecided in self.undecided.values():
            if budget.held <= aim:
                break
            before = undecided.held
            undecided.drop_oldest(0)
            budget.held -= before - undecided.held
        for pairing in self._list_working_pairings():
            for direction in (pairing.requests, pairing.responses):
                if budget.held > aim and direction is not current:
                    give_up_frame(direction, RAW_KEPT_MAX)
        budget.most = max(HELD_MAX, budget.held + STEP)

    def _list_working_pairings(self) -> list[Pairing]:
        return [pairing for pairing in self.pairings.values() if not pairing.resting]

    def _shorten_held_request(self, exchange: Exchange) -> None:
        data = exchange.request_raw
        if data is not None and len(data) > HEAD_KEPT:
            exchange.request_raw = data[:HEAD_KEPT]
            exchange.extra = {"request": "limit", **(exchange.extra or {})}
            self.budget.held -= len(data) - HEAD_KEPT


# The loop without calls


def pair_frames_in_chunks(context: Context, chunks: Iterable[Chunk], unusual: UnusualHandler) -> None:  # noqa: C901 - one loop, no calls
    """Pair the frames in chunks; `unusual` is called for events and for halves that have no direction."""
    budget = context.budget
    plain = context.api_readers.plain.get
    names = context.topics.names
    push = context.out.append
    request_form = REQUEST_FORM.unpack_from
    response_form = RESPONSE_FORM.unpack_from
    owner: Pairing
    for half, time_ns, packet, data in chunks:
        direction = half.state
        if not isinstance(direction, FrameDirection) or not isinstance(data, bytes):
            unusual(half, time_ns, packet, data)
            continue
        mode = direction.mode
        size = len(data)
        at = 0
        if mode == RESPONSE:
            while size - at >= RESPONSE_HEAD:
                need, correlation_id = response_form(data, at)
                after = at + 4 + need
                owner = direction.owner  # type: ignore[assignment]  # whose directions come here
                table = owner.in_flight
                exchange = table.get(correlation_id)
                if need < 4 or after > size or not isinstance(exchange, Exchange):
                    break
                del table[correlation_id]
                exchange.response_place = direction.place
                direction.place += need + 4
                exchange.response_ns = exchange.response_end_ns = time_ns
                exchange.response_packet = exchange.response_packet_end = packet
                exchange.response_size = need
                exchange.response_raw = data if after - at == size else data[at:after]
                budget.held -= len(exchange.request_raw)  # type: ignore[arg-type]  # a request in flight has its bytes
                at = after
                answered = owner.answered
                step = correlation_id - answered.highest
                if step > 0 and exchange.place > answered.place:
                    answered.ids = (answered.ids << step | 1) & ANSWERED_MASK if step < ANSWERED_KEPT else 1
                    answered.highest = correlation_id
                    answered.place = exchange.place
                else:
                    owner.note_answer(exchange, correlation_id)
                if exchange._api_reader.read_when_settled:
                    owner.settle(exchange)
                else:
                    exchange._topics_known = len(names)
                    push(exchange)
                if direction.mode != RESPONSE:
                    break
        elif mode == REQUEST:
            while size - at >= REQUEST_HEAD:
                need, code, correlation_id, length = request_form(data, at)
                after = at + 4 + need
                api_reader = plain(code)
                if after > size or api_reader is None or not 0 <= length <= need - 10:
                    break
                owner = direction.owner  # type: ignore[assignment]  # whose directions come here
                table = owner.in_flight
                if correlation_id in table or len(table) >= IN_FLIGHT_MAX:
                    break
                body = at + length + REQUEST_HEAD
                client_raw = data[at + REQUEST_HEAD : body]
                if client_raw != owner.client_raw:
                    owner.remember_new_client_id(client_raw)
                exchange = Exchange()
                exchange.connection_info = owner.connection_info
                exchange._api_reader = api_reader
                exchange.api_key = api_reader.key
                exchange.api_version = api_reader.version
                exchange.correlation_id = correlation_id
                exchange.client_id = owner.client_id
                exchange.client_software = owner.software
                exchange.login = owner.login
                exchange.outcome = "complete"
                exchange.extra = None
                exchange._looked = False
                exchange.time_ns = exchange.request_end_ns = time_ns
                exchange.request_packet = exchange.request_packet_end = packet
                exchange.request_size = need
                exchange.request_raw = data if after - at == size else data[at:after]
                exchange.place = direction.place
                direction.place += need + 4
                at = after
                if api_reader.no_acks is not None and (
                    data.startswith(api_reader.no_acks, body) or not data.startswith(api_reader.null_id, body)
                ):
                    owner.await_or_settle_produce_request(exchange)
                else:
                    table[correlation_id] = exchange
                    budget.held += need + 4
                    if budget.held > budget.most:
                        context.drop_oldest_held_bodies(direction)
        elif mode == BODY and size < direction.left:
            direction.left -= size
            direction.place += size
            direction.last = (time_ns, packet)
            direction.parts.append(data)
            budget.held += size
            if budget.held > budget.most:
                context.drop_oldest_held_bodies(direction)
            continue
        if at < size:
            take_bytes(direction, time_ns, packet, data[at:] if at else data)
            if budget.held > budget.most:
                context.drop_oldest_held_bodies(direction)


# The stage


# So many packets of one direction, and none of the other, are not explained by clocks or the end of a capture.
ALONE_MIN: Final = 3
# The bytes held of a connection after which it is searched for responses, before the limit on held bytes is reached.
GUESSED_AFTER: Final = UNDECIDED_MAX // 2


class Pairer:
    """Chunks in, settled rows out, in the order in which they settle (a stage: feed, finish, …).

    `ports`, if given, are Kafka without a look, no others; `needs`: fields of views. A connection is undecided until
    frames/detect_kafka_connection.py recognises it as Kafka; then its chunks so far are taken as if they came now. A
    connection to an endpoint known as a broker, or to a port that was named, is Kafka from its first byte. One that
    ended undecided waits, among at most DOUBTFUL_MAX bytes, for its server to prove a broker.
    """

    def __init__(
        self, ports: Iterable[int] | None = None, needs: Needs | None = None, *, connections: bool = False
    ) -> None:
        self.context = Context(ports, needs or Needs(), connections=connections)
        self._remembered = 0  # rows of `context.out` that history has taken

    @property
    def summary(self) -> Summary:
        """The counts so far."""
        return self.context.summary

    def feed(self, chunks: list[Chunk], now_ns: int = 0) -> list[Settled]:  # noqa: ARG002 - one protocol for all stages
        """The rows that settle with these chunks."""
        if chunks:
            self.note_chunk_times(chunks)
            pair_frames_in_chunks(self.context, chunks, self._handle_unusual_chunk)
        return self._take_settled_rows()

    def note_chunk_times(self, chunks: list[Chunk]) -> None:
        """Note the earliest and the latest time of chunks, also of those that never come to `feed`."""
        summary = self.context.summary
        times = [chunk[1] for chunk in chunks]
        low, high = min(times), max(times)
        summary.first_ns = min(summary.first_ns or low, low)
        summary.last_ns = max(summary.last_ns, high)

    def finish(self) -> list[Settled]:
        """The rows that the end of the input settles; reassembly has closed all connections that it knows."""
        context = self.context
        for number in sorted({*context.pairings, *context.undecided}):
            undecided = context.undecided.get(number)
            if undecided is not None:
                self._end_undecided_connection(undecided, "capture_end", FOREVER)
            else:
                self._end_pairing(context.pairings[number], "capture_end")
        self._give_up_doubtful_connections(0)
        return self._take_settled_rows()

    def _take_settled_rows(self) -> list[Settled]:
        out = self.context.out[:]
        self.context.out.clear()
        if self.context.connections:
            count_exchanges_of_connections(out)
        if self.context.history is not None:
            self.context.history.feed(out[self._remembered :])
            self._remembered = 0
        self.context.summary.exchanges += len(out) - self.context.other_rows
        self.context.other_rows = 0
        return out

    def _handle_unusual_chunk(
        self, half: Half, time_ns: int, packet: int, data: bytes | Gap | Retransmission | Close
    ) -> None:
        """Take events, and bytes of connections that are not, or not yet, Kafka."""
        number = half.connection.number
        if isinstance(data, Close):
            self._close_connection(half.connection, data.how, time_ns)
            return
        pairing = self.context.pairings.get(number)
        if pairing is not None:
            self._handle_event_of_half(pairing, half, time_ns, packet, data)
            return
        undecided = self.context.undecided.get(number)
        if isinstance(data, Retransmission):
            return
        if undecided is None:
            undecided = self._begin_undecided_connection(half.connection, time_ns, data)
            if self.context.copies is not None and isinstance(data, bytes):
                undecided.foreign = (
                    self.context.copies.describe_original(half, time_ns, packet, data) or undecided.foreign
                )
        if not undecided.foreign:
            client = self._find_client_of_known_broker(half.connection, time_ns)
            if client is not None:
                self._begin_pairing(undecided, client, time_ns)
                self._handle_unusual_chunk(half, time_ns, packet, data)
                return
        before = undecided.held
        found = undecided.feed((half, time_ns, packet, data))
        self.context.budget.held += undecided.held - before
        if self.context.guesses and not found and before <= GUESSED_AFTER < undecided.held:
            undecided.client = self._find_client_by_responses(undecided)
            found = undecided.client is not None
        if found and undecided.client is not None:
            self._begin_pairing(undecided, undecided.client, time_ns)
        elif self.context.budget.held > self.context.budget.most:
            self.context.drop_oldest_held_bodies(None)

    def _close_connection(self, connection: Connection, how: How, time_ns: int) -> None:
        """End a connection of which no chunk comes any more."""
        pairing = self.context.pairings.get(connection.number)
        undecided = self.context.undecided.get(connection.number)
        if pairing is not None:
            self._end_pairing(pairing, how, connection)
        elif undecided is not None:
            if self._end_undecided_connection(undecided, how, FOREVER if how == "capture_end" else time_ns):
                return
        else:
            facts = tls_facts_of(connection)
            if facts is not None:
                self._report_undecrypted_tls(connection, facts, how)
            self._report_ended_connection(connection, how)
        connection.drop_references()

    def _report_undecrypted_tls(self, connection: Connection, facts: TlsFacts, how: How) -> None:
        """Report a TLS connection of which nothing was decrypted."""
        first = connection.first
        info = self._make_connection_info(connection, first)
        if facts.size:
            detail = describe_tls(connection, facts, how)
            self.context.add_skipped(Skipped(info, None, facts.size, "tls", detail, facts.time_ns))
            self.context.summary.foreign[foreign_protocol_name(detail), _port_of_endpoint(first.target)] += 1

    def _handle_event_of_half(
        self, pairing: Pairing, half: Half, time_ns: int, packet: int, data: bytes | Gap | Retransmission
    ) -> None:
        first = half is half.connection.first
        if pairing.resting:
            pairing.restore_initial_state()
            self.context.mark_active(pairing)
        direction = pairing.requests if first == pairing.client_first else pairing.responses
        pairing.client = half if direction.request else half.peer
        half.state = direction
        if isinstance(data, bytes):
            take_bytes(direction, time_ns, packet, data)
        elif isinstance(data, Gap):
            self.context.summary.gaps += 1
            take_gap(direction, time_ns, packet, data.size, data.why)
        else:
            pairing.mark_retransmitted(direction, data.at, data.size)

    def _begin_undecided_connection(
        self, connection: Connection, time_ns: int, data: bytes | Gap
    ) -> UndecidedConnection:
        """A new undecided connection, at its first chunk."""
        undecided = UndecidedConnection(connection, time_ns)
        self.context.undecided[connection.number] = undecided
        known = ""
        if connection.opened and isinstance(data, bytes) and not may_begin_frame(data):
            from decoders.protocols.recognise_protocols import find_proven_protocol  # no connection of Kafka comes here

            known = find_proven_protocol(data)
        if self.context.ports is None or known == TLS:
            undecided.foreign = known
        elif self._find_client_by_port(connection) is None:
            undecided.foreign = "its port is not among those of --port"
        return undecided

    def _find_client_by_port(self, connection: Connection) -> Half | None:
        """The client's half of a connection to a port that was named; None for other ports."""
        ports = self.context.ports or frozenset()
        if _port_of_endpoint(connection.first.target) in ports:
            return connection.first
        return connection.second if _port_of_endpoint(connection.second.target) in ports else None

    def _find_client_by_responses(self, undecided: UndecidedConnection) -> Half | None:
        """The client's half of a connection with only a broker's responses; None for other connections."""
        undecided.decide_by_answers_alone()
        return None if undecided.find_broker_half is None else undecided.find_broker_half.peer

    def _find_client_of_known_broker(self, connection: Connection, time_ns: int) -> Half | None:
        """The client's half, where it is known at `time_ns` without a look at the bytes; else None."""
        if self.context.ports is not None:
            return self._find_client_by_port(connection)
        # What a port carries in TLS it does not carry in plain text, nor the other way round. While it is not known
        # whether the connection is TLS, its bytes come here as plain: a later byte must not change what they mean.
        if tls_facts_of(connection) is not None:
            return None
        since = self.context.brokers.get
        if since(connection.first.target, FOREVER) < time_ns:
            return connection.first
        if not connection.opened and since(connection.second.target, FOREVER) < time_ns:
            return connection.second
        return None

    def _begin_pairing(self, undecided: UndecidedConnection, client: Half, time_ns: int) -> None:
        """Take a connection as Kafka, with the chunks that it has sent so far."""
        context = self.context
        connection = undecided.connection
        del context.undecided[connection.number]
        context.budget.held -= undecided.held
        # After all chunks looked at so far: the connection does not vouch for itself.
        since_ns = max((time_ns, *(chunk[1] for chunk in undecided.chunks)))
        facts = tls_facts_of(connection)
        if facts is None:
            context.brokers.setdefault(client.target, since_ns)
            if context.vouching is not None:
                context.vouching.append((client.target, since_ns, client.source))
        context.summary.count_connection(client.target)
        first = client is connection.first
        info = self._make_connection_info(connection, client)
        if facts is not None:
            info.tls = facts.exchange_tls_info()
            info.has_keys = True
        elif not first or len(undecided.chunks) > 1 or undecided.dropped:
            info.late_ns = since_ns
        if undecided.dropped:
            info.uncounted = tuple(undecided.dropped.get(each, (0, 0))[0] for each in (first, not first))  # type: ignore[assignment]  # two
        info.opened = connection.opened and not undecided.dropped
        pairing = Pairing(context, info, client_first=first, opening=info.opened)
        if connection.prefix is not None and facts is None:  # places count all bytes of the stream
            pairing.requests.place, pairing.responses.place = (
                connection.prefix.size_of_half(first=each) for each in (first, not first)
            )
        context.pairings[connection.number] = pairing
        context.mark_active(pairing)
        if connection.prefix is not None:
            self._report_prefix_as_skipped(info, connection.prefix)
        pairing.client = client
        for half, direction in ((client, pairing.requests), (client.peer, pairing.responses)):
            half.state = direction
            in_step = undecided.in_step and not undecided.dropped and half is not client
            if (not connection.opened or undecided.dropped) and not in_step:
                size, since = undecided.dropped.get(half is connection.first, (0, undecided.first_held_ns(half)))
                lose_sync(direction, "midstream", "the capture begins inside the stream", since, 0, size)
        chunks, undecided.chunks = undecided.chunks, []
        pair_frames_in_chunks(context, chunks, self._handle_unusual_chunk)
        if facts is None and context.doubtful is not None and context.doubtful.ended:
            for other, how in context.doubtful.take_all_to(client.target):
                self._decide_doubtful_connection(other, how, other.connection.first)

    def _make_connection_info(self, connection: Connection, client: Half) -> ConnectionInfo:
        """The ends of a connection of which this half is the client's."""
        info = ConnectionInfo(connection.number, client.source, client.target, connection.began_ns, self.context.topics)
        info.set_prefix(connection.prefix, client_first=client is connection.first)
        return info

    def _report_prefix_as_skipped(self, info: ConnectionInfo, prefix: ConnectionPrefix) -> None:
        """Report what stood before Kafka on a connection."""
        side: Side | None = None if prefix.sizes[1] else "request"
        detail = prefix.describe(info.sender)
        self.context.add_skipped(Skipped(info, side, sum(prefix.sizes), "prefix", detail, prefix.time_ns))

    def enable_noting_of_earlier_facts(self, only_libraries: bool = False) -> None:
        """Note in exchanges the facts that earlier ones tell. To be called before the first `feed`."""
        from decoders.exchanges.facts_from_earlier_exchanges import History

        if self.context.history is None:
            self.context.history = History()
        if only_libraries:
            self.context.history.note_libraries_only()

    def _end_pairing(self, pairing: Pairing, how: How, connection: Connection | None = None) -> None:
        del self.context.pairings[pairing.connection_info.number]
        unseen = connection is not None and self._note_client_and_broker(connection, client_first=pairing.client_first)
        pairing.close(how, "one_direction" if unseen else None)
        history = self.context.history
        if history is not None:  # at once: later rows find the same facts however the input is cut into pieces
            history.feed(self.context.out[self._remembered :])
            self._remembered = len(self.context.out)
            history.forget_connection(pairing.connection_info.number)
        if self.context.connections and connection is not None:
            client = connection.first if pairing.client_first else connection.second
            ended = Ended.from_connection(pairing.connection_info, connection, client, how)
            ended.kafka = True
            ended.client_id, ended.client_software = pairing.client_id, pairing.software
            ended.login, ended.detail = pairing.login, pairing.frameless
            self._deliver_ended_connection(ended)
        if not pairing.resting:
            del pairing.requests, pairing.responses  # they refer to the pairing: see Connection.drop_references
        pairing.client = None

    def _note_client_and_broker(self, connection: Connection, *, client_first: bool) -> bool:
        """Count a Kafka connection with only one direction in the capture; returns whether that is the client's."""
        client = connection.first if client_first else connection.second
        broker, summary = client.peer, self.context.summary
        if not is_missing_direction_a_capture_fault(opened=connection.opened, packets=client.packets + broker.packets):
            return False
        if not broker.packets:
            summary.requests_only[_port_of_endpoint(broker.source)] += 1
        elif not client.packets:
            summary.answers_only[_port_of_endpoint(broker.source)] += 1
        return not broker.packets

    def _report_ended_connection(
        self, connection: Connection, how: How, undecided: UndecidedConnection | None = None
    ) -> None:
        """Give the Ended of a connection that is not Kafka, or of which no byte came; a copy has none of its own."""
        if not self.context.connections or (undecided is not None and undecided.reason == "copy"):
            return
        client, info = self._find_client_half_and_info(connection, undecided)
        ended = Ended.from_connection(info, connection, client, how)
        if undecided is not None:
            info.late_ns = doubtful_until_ns(undecided, over=True)
            ended.kafka = undecided.find_broker_half is not None
            ended.reason, ended.detail, _ = describe_undecided(undecided, how)
        else:
            facts = tls_facts_of(connection)
            if facts is not None and facts.size:
                ended.reason, ended.detail = "tls", describe_tls(connection, facts, how)
        self._deliver_ended_connection(ended)

    def _find_client_half_and_info(
        self, connection: Connection, undecided: UndecidedConnection | None
    ) -> tuple[Half, ConnectionInfo]:
        """The client's half of a connection without exchanges (it opened, or did not answer), and the ends."""
        broker = undecided.find_broker_half if undecided is not None else None
        client = connection.first if broker is None else broker.peer
        return client, self._make_connection_info(connection, client)

    def _deliver_ended_connection(self, ended: Ended) -> None:
        self.context.out.append(ended)  # type: ignore[arg-type]  # who asks for connections expects a Row
        self.context.other_rows += 1

    def _end_undecided_connection(self, undecided: UndecidedConnection, how: How, time_ns: int) -> bool:
        """End a connection that has not proved to be Kafka; brokers known until then still vouch for it.

        Returns whether the connection is kept, since its server may prove to be a broker yet.
        """
        context = self.context
        connection = undecided.connection
        client = None if undecided.foreign else self._find_client_of_known_broker(connection, time_ns)
        if client is None and self.context.guesses and undecided.reason != "copy":
            client = self._find_client_by_responses(undecided)
        if client is None and context.ports is None and is_doubtful(undecided):
            if connection.first.target in context.foretold or connection.first.target in context.brokers:
                client = connection.first
            elif context.doubtful is not None:
                del context.undecided[connection.number]
                context.doubtful.add(undecided, how)
                self._give_up_doubtful_connections(DOUBTFUL_MAX)
                return True
        self._decide_undecided_connection(undecided, how, client, time_ns)
        return False

    def _give_up_doubtful_connections(self, most: int) -> None:
        """Settle the oldest doubtful connections as not Kafka, until at most `most` bytes are held."""
        doubtful = self.context.doubtful
        while doubtful is not None and doubtful.ended and doubtful.held > most:
            self._decide_doubtful_connection(*doubtful.take_oldest(), None)

    def _decide_doubtful_connection(self, undecided: UndecidedConnection, how: How, client: Half | None) -> None:
        """Settle a connection that ended before; `client`: where its server has proved to be a broker."""
        self.context.undecided[undecided.connection.number] = undecided
        self._decide_undecided_connection(undecided, how, client, undecided.connection.last_ns)
        undecided.connection.drop_references()

    def _decide_undecided_connection(
        self, undecided: UndecidedConnection, how: How, client: Half | None, time_ns: int
    ) -> None:
        """Settle a connection at its end: as Kafka where its client is known, at `time_ns` at the latest, else as none.

        From that time on it vouches for others: not for any where the capture ends.
        """
        context = self.context
        connection = undecided.connection
        if client is not None:
            self._begin_pairing(undecided, client, time_ns)
            self._end_pairing(context.pairings[connection.number], how, connection)
            return
        del context.undecided[connection.number]
        context.budget.held -= undecided.held
        undecided.decide_by_answers_alone()
        broker = undecided.find_broker_half
        reason, detail, size = describe_undecided(undecided, how)
        if size:
            _, info = self._find_client_half_and_info(connection, undecided)
            side: Side | None = None if broker is None else "response"
            info.late_ns = doubtful_until_ns(undecided, over=True)
            context.add_skipped(Skipped(info, side, size, reason, detail, undecided.time_ns))
            if broker is not None:
                context.summary.connections += 1
                context.summary.gaps += broker.gaps + broker.peer.gaps
                context.summary.answers_only[_port_of_endpoint(broker.source)] += 1
            elif reason != "copy":
                context.summary.foreign[foreign_protocol_name(detail), _port_of_endpoint(connection.first.target)] += 1
        self._report_ended_connection(connection, how, undecided)


def is_missing_direction_a_capture_fault(*, opened: bool, packets: int) -> bool:
    """Whether a direction without packets is a fault of the capture, and not just a capture that ended too soon.

    With no packets at all, the bytes are from no capture, and packets were not counted.
    """
    return packets >= (1 if opened else ALONE_MIN)


def count_exchanges_of_connections(rows: Iterable[Row]) -> None:
    """Count the exchanges of each connection, up to its end."""
    for row in rows:
        if row.kind == "exchange":
            row.connection_info.exchanges += 1
        elif row.kind == "connection":
            row.exchanges = row.connection_info.exchanges


def _port_of_endpoint(endpoint: str) -> int:
    return int(endpoint.rpartition(":")[2])
