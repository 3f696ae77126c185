"""Bytes of clients in, bytes for clients out: the connections of a mocked cluster, without sockets and clocks.

    connection = mock.connect(node, "127.0.0.1:50000")
    mock.feed(connection, data, now_ms)        # bytes that have come
    mock.tick(mock.next_ms)                    # when no bytes have come until then
    for connection in mock.take_changed_connections():     # connections with bytes to be sent, or closed
        connection.take_output(); connection.closed

A connection answers its requests in their order, as brokers do. A request that waits (JoinGroup for other members,
Fetch for records) holds the requests behind it; the connection says when it has enough of them (`is_full`), and its
caller stops reading. Wrong bytes of a client close its connection, with the reason, and affect no other connection. An
API or version that these brokers do not have closes it too, as with real brokers.

A handler that refuses the whole request raises Refusal, and the response is made by the table of error answers; errors
of single topics, partitions or members stand in the body that a handler returns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from decoders.errors import DecodeError
from decoders.frames.frames_of_gapless_connections import SIZE, SIZE_FIELD, Framer
from decoders.limits import FRAME_MAX, MOCK_BUFFERED_MAX, MOCK_QUEUED_MAX
from decoders.messages.whole_messages import decode_request, encode_response
from decoders.mocking.build_response_bodies import (
    Outcome,
    ResponseBody,
    build_refusal_answer,
    drop_fields_beyond_version,
    is_followed_by_raw_tokens,
)
from decoders.mocking.cluster_state import MockCluster, MockLogin
from decoders.mocking.refusal_error import Refusal
from decoders.protocol_facts import api_keys

__all__ = ["MockBrokers", "MockConnection"]

_HEADER_MIN: Final = 8
Handler = Callable[[MockCluster, Any], ResponseBody | Outcome]


class MockConnection:
    """One client's connection to one node. `closed` is why it was closed, None while it is open."""

    def __init__(self, node: int, client: str, number: int) -> None:
        self.node = node
        self.client = client
        self.number = number
        self.closed: str | None = None
        self.blocked = False  # the client does not read: nothing more is answered until it does
        self.login: MockLogin | None = None
        self.raw_tokens = False  # the next frames are tokens of the login, not requests
        self.framer = Framer()
        self.queue: deque[bytes] = deque()
        self.queued = 0
        self.waiting: MockCall | None = None
        self.out: list[bytes] = []
        self.sessions: dict[str, Any] = {}

    @property
    def is_full(self) -> bool:
        """Whether no more bytes should be read from the client for now."""
        return self.queued > MOCK_QUEUED_MAX or len(self.queue) > MOCK_QUEUED_MAX >> 10

    def take_output(self) -> bytes:
        """Remove and return the bytes to be sent to the client."""
        data = b"".join(self.out)
        self.out = []
        return data


class MockCall:
    """One request of a client, and the way to answer it (see Call in cluster_state.py)."""

    __slots__ = (
        "_brokers",
        "api_key",
        "body",
        "client_id",
        "connection",
        "correlation_id",
        "version",
    )

    def __init__(self, brokers: MockBrokers, connection: MockConnection, frame: bytes) -> None:
        request = decode_request(frame)
        self._brokers = brokers
        self.connection = connection
        self.api_key = request.api_key
        self.version = request.api_version
        self.correlation_id = request.correlation_id
        self.client_id = request.client_id
        self.body = request.body

    @property
    def node(self) -> int:
        """The node that was asked."""
        return self.connection.node

    @property
    def client_host(self) -> str:
        """The host of the client, as brokers show it: `/127.0.0.1`."""
        return "/" + self.connection.client.rpartition(":")[0].strip("[]")

    @property
    def has_client_left(self) -> bool:
        """Whether the client has closed its connection."""
        return self.connection.closed is not None

    @property
    def login(self) -> MockLogin | None:
        """The login of the connection; None where there is none."""
        return self.connection.login

    @login.setter
    def login(self, login: MockLogin | None) -> None:
        self.connection.login = login

    def send_late_answer(self, body: ResponseBody) -> None:
        """Send the response of a call that waited, then go on with the requests behind it."""
        if self.connection.waiting is self:
            self.connection.waiting = None
            self._brokers.send_response(self, body)
            self._brokers.resume_connection(self.connection)


class MockBrokers:
    """All connections of a cluster. `handlers` is the table API key → handler."""

    def __init__(self, cluster: MockCluster, handlers: Mapping[int, Handler]) -> None:
        self.cluster = cluster
        self._handlers = handlers
        self._connections: set[MockConnection] = set()
        self._changed: dict[MockConnection, None] = {}
        self._ready: deque[MockConnection] = deque()
        self._pumping = False
        self._buffered = 0
        self._count = 0

    def connect(self, node: int, client: str) -> MockConnection:
        """A new connection of a client to a node."""
        self._count += 1
        connection = MockConnection(node, client, self._count)
        self._connections.add(connection)
        return connection

    def disconnect(self, connection: MockConnection, reason: str = "closed by the client") -> None:
        """Close a connection, and drop its waiting requests."""
        if connection.closed is None:
            connection.closed = reason
            self._buffered -= connection.queued + connection.framer.kept
            connection.queue.clear()
            connection.queued = 0
            connection.framer.drop_held()
            connection.waiting = None
            self._connections.discard(connection)
            self._changed[connection] = None

    def feed(self, connection: MockConnection, data: bytes, now_ms: int) -> None:
        """Take bytes of a client, and answer the requests that they complete."""
        if connection.closed is not None:
            return
        self._advance_clock(now_ms)
        before = connection.framer.kept
        problem = self._cut_into_frames(connection, data)
        self._buffered += connection.framer.kept - before
        if problem is None and self._buffered > MOCK_BUFFERED_MAX:
            problem = f"requests waiting for answers fill {MOCK_BUFFERED_MAX >> 20} MiB, the limit"
        if problem is not None:
            self.disconnect(connection, problem)
        else:
            self.resume_connection(connection)
        self._answer_ready_connections()

    def _cut_into_frames(self, connection: MockConnection, data: bytes) -> str | None:
        """Cut bytes into frames for the queue; returns what is wrong with them, or None."""
        framer, at = connection.framer, 0
        if framer.wanted:
            frame, at = framer.collect_frame(data)
            if frame is None:
                return None
            self._queue_request(connection, frame)
        elif framer.kept:
            data = framer.prepend_kept_bytes(data)
        for place, size in framer.cut_whole_frames(data, at):
            if not (0 if connection.raw_tokens else _HEADER_MIN) <= size <= FRAME_MAX:
                return f"the client sent a frame of {size} bytes, which is not possible"
            frame = framer.take_frame_if_whole(data, place, size)
            if frame is None:
                return None
            self._queue_request(connection, frame)
        return None

    def _queue_request(self, connection: MockConnection, frame: bytes) -> None:
        connection.queue.append(frame[SIZE_FIELD:])
        connection.queued += len(frame)
        self._buffered += len(frame)

    def tick(self, now_ms: int) -> None:
        """Run the timers that are due at `now_ms`, and answer the requests that can go on."""
        self._advance_clock(now_ms)
        self._answer_ready_connections()

    @property
    def next_ms(self) -> int | None:
        """The time at which the next `tick` is due; None where no timer runs."""
        return self.cluster.next_ms

    def _advance_clock(self, now_ms: int) -> None:
        self.cluster.now_ms = max(self.cluster.now_ms, now_ms)
        self.cluster.run_due_timers()

    def unblock_connection(self, connection: MockConnection, now_ms: int) -> None:
        """Go on with a connection whose client reads again."""
        connection.blocked = False
        self._advance_clock(now_ms)
        self.resume_connection(connection)
        self._answer_ready_connections()

    def resume_connection(self, connection: MockConnection) -> None:
        """Let the requests that wait on a connection go on."""
        self._ready.append(connection)

    def take_changed_connections(self) -> list[MockConnection]:
        """The connections that have bytes to be sent, or were closed, since the last call."""
        changed = list(self._changed)
        self._changed.clear()
        return changed

    def _answer_ready_connections(self) -> None:
        """Answer requests, one of each connection in turn, until no more can be answered."""
        while self._ready:
            connection = self._ready.popleft()
            if connection.closed is None and connection.waiting is None and connection.queue and not connection.blocked:
                frame = connection.queue.popleft()
                connection.queued -= len(frame) + SIZE_FIELD
                self._buffered -= len(frame) + SIZE_FIELD
                self._answer_request(connection, frame)
                self._ready.append(connection)
            self._changed[connection] = None

    def _answer_request(self, connection: MockConnection, frame: bytes) -> None:
        if connection.raw_tokens:
            self._answer_token(connection, frame)
            return
        try:
            call = MockCall(self, connection, frame)
        except DecodeError as problem:
            if not self._answer_unknown_version_of_api_versions(connection, frame):
                self.disconnect(connection, f"the client sent a request that cannot be read: {problem}")
            return
        handler = self._handlers.get(call.api_key)
        if handler is None:
            self.disconnect(connection, f"the mock does not serve API {call.api_key}")
            return
        try:
            outcome = handler(self.cluster, call)
        except Refusal as refusal:
            self._send_refusal(call, refusal)
            return
        if outcome is Outcome.WAIT:
            connection.waiting = call
        elif outcome is Outcome.CLOSE:
            self.disconnect(connection, "closed because no answer can carry the error")
        elif outcome is not Outcome.NO_ANSWER:
            assert isinstance(outcome, dict)
            self.send_response(call, outcome)
            connection.raw_tokens = is_followed_by_raw_tokens(call.api_key, call.version, outcome)

    def _send_refusal(self, call: MockCall, refusal: Refusal) -> None:
        """Answer with an error of the whole request; where an answer has no place for it, close, as brokers do."""
        answer = build_refusal_answer(call, refusal)
        if answer.body is None or not answer.places:
            self.disconnect(call.connection, f"request refused with error {refusal.code}")
        else:
            self.send_response(call, answer.body)

    def _answer_token(self, connection: MockConnection, token: bytes) -> None:
        login = connection.login
        assert login is not None
        try:
            self._send_frame(connection, login.answer_token(token))
        except Refusal as refusal:
            self.disconnect(connection, refusal.text or "the login is refused")
        connection.raw_tokens = not login.done

    def _answer_unknown_version_of_api_versions(self, connection: MockConnection, frame: bytes) -> bool:
        """Answer an ApiVersions of unknown version in version 0 (KIP-511); returns False for any other request."""
        if int.from_bytes(frame[:2], "big") != api_keys.API_VERSIONS:
            return False
        from decoders.apis import api

        version = int.from_bytes(frame[2:4], "big", signed=True)
        least, most = api(api_keys.API_VERSIONS).versions
        if least <= version <= most:
            return False
        own = [{"api_key": api_keys.API_VERSIONS, "min_version": least, "max_version": most}]
        correlation_id = int.from_bytes(frame[4:8], "big", signed=True)
        self._send_frame(
            connection,
            encode_response(
                api_keys.API_VERSIONS, 0, {"error_code": 35, "api_keys": own}, correlation_id=correlation_id
            ),
        )
        return True

    def _send_frame(self, connection: MockConnection, frame: bytes) -> None:
        connection.out += (SIZE.pack(len(frame)), frame)
        self._changed[connection] = None

    def send_response(self, call: MockCall, body: ResponseBody) -> None:
        """Send the response to a request, without the fields that its version lacks."""
        fitting = drop_fields_beyond_version(call.api_key, call.version, body)
        frame = encode_response(call.api_key, call.version, fitting, correlation_id=call.correlation_id)
        self._send_frame(call.connection, frame)
