"""A broker's address in, requests' bytes in, answers' bytes and times out: the driver that blocks, used by `kw call`.

Everything is bounded by one deadline; whatever goes wrong is a Failure of one line that begins with the address.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Final

from decoders.schema.model import Versions
from kwcli import VERSION
from kwcli.exits import Exit, Failure
from kwcli.net.core.config import Address, ClientConfig
from kwcli.net.core.session import Answer, Event, Opened, Outgoing, Session
from kwcli.net.core.stops import Stop
from kwcli.net.deadline import Deadline
from kwcli.net.dialling import dial, resolve, text_of

if TYPE_CHECKING:
    from kwcli.net.core.negotiation import Offer

RECEIVE: Final = 256 * 1024
# Wall-clock nanoseconds that never go back within one process.
_EPOCH_NS: Final = time.time_ns() - time.perf_counter_ns()


def now_ns() -> int:
    """Wall-clock time in ns; differences are those of a monotonic clock."""
    return _EPOCH_NS + time.perf_counter_ns()


class Timing:
    """How long each step of opening a connection took, in ns; 0 for a step that was not needed."""

    __slots__ = ("auth_ns", "connect_ns", "negotiate_ns", "resolve_ns", "tls_ns")

    def __init__(self) -> None:
        self.resolve_ns = self.connect_ns = self.tls_ns = self.negotiate_ns = self.auth_ns = 0


class Reply:
    """A request and what came back, frames with their size fields, times in wall-clock ns.

    `api_key` is None for bytes that are no request by our knowledge (a bare SASL token, raw bytes). Without an answer
    `response_frame` is None and `first_ns`, `last_ns` are 0.
    """

    __slots__ = (
        "api_key",
        "begun_ns",
        "correlation_id",
        "first_ns",
        "last_ns",
        "request_frame",
        "response_frame",
        "sent_ns",
        "version",
    )

    def __init__(self, out: Outgoing, answer: Answer | None) -> None:
        self.api_key = out.api_key
        self.version = out.version
        self.correlation_id = out.correlation_id
        self.request_frame = out.frame
        self.begun_ns = out.begun_ns
        self.sent_ns = out.sent_ns
        self.response_frame = answer.frame.data if answer else None
        self.first_ns = answer.frame.first_ns if answer else 0
        self.last_ns = answer.frame.last_ns if answer else 0


Record = Callable[[Reply], None]


class Connection:
    """An open, negotiated and authenticated connection to one broker; a context manager that closes it.

    `address` is what was asked for, `local` and `peer` the ends of the socket as `host:port`. `remarks` are lines that
    the user should be told.
    """

    def __init__(
        self,
        address: Address,
        link: socket.socket,
        session: Session,
        deadline: Deadline,
        *,
        timing: Timing,
        node_id: int | None = None,
        record: Record | None = None,
    ) -> None:
        """Takes a connected socket; `open` is the way to get one."""
        self.address = address
        self.node_id = node_id
        self.deadline = deadline
        self.timing = timing
        self.remarks: list[str] = []
        self.local = text_of(link.getsockname()[:2])
        self.peer = text_of(link.getpeername()[:2])
        self._link = link
        self._session = session
        self._record = record

    @classmethod
    def open(
        cls,
        address: Address,
        config: ClientConfig,
        deadline: Deadline,
        *,
        node_id: int | None = None,
        cluster_id: str | None = None,
        record: Record | None = None,
    ) -> Connection:
        """Resolve, connect, negotiate, authenticate. `record` is told every request made on it. Raises Failure.

        Give `cluster_id` only where brokers are known to speak ApiVersions 5, which says whom we believe to reach
        (KIP-1242); elsewhere it costs one more round.
        """
        timing = Timing()
        link = _connect(address, config, deadline, timing)
        try:
            software = ("kw", VERSION)
            session = Session(client_id=config.client_id, software=software, cluster_id=cluster_id, node_id=node_id)
            made = cls(address, link, session, deadline, timing=timing, node_id=node_id, record=record)
            made._open()
        except BaseException:
            link.close()
            raise
        return made

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the socket; closing twice does no harm."""
        self._link.close()

    @property
    def versions(self) -> Mapping[int, Versions]:
        """API key → versions that the broker takes."""
        return self._session.versions

    @property
    def offer(self) -> Offer:
        """The broker's whole answer to ApiVersions."""
        assert self._session.offer is not None
        return self._session.offer

    def request(
        self,
        api_key: int,
        version: int,
        body: bytes,
        *,
        respond: bool = True,
        header_tags: Mapping[int, bytes] | None = None,
    ) -> Reply:
        """Send one request and wait for its answer, if there is to be one. Raises Failure."""
        out = self._session.request(api_key, version, body, respond=respond, header_tags=header_tags)
        return self._exchange(out)

    def raw(self, frame: bytes, *, respond: bool = True) -> Reply:
        """Send these bytes as they are, size field and all; the next frame is their answer. Raises Failure."""
        return self._exchange(self._session.raw(frame, respond=respond))

    # Reading and writing

    def _open(self) -> None:
        begun = time.perf_counter_ns()
        try:
            self._until_open(self._session.open())
        except Stop as stop:
            raise self._failure(stop) from None
        self.timing.negotiate_ns = time.perf_counter_ns() - begun

    def _until_open(self, events: list[Event]) -> None:
        while not self._tell(events, Opened):
            self._flush()
            events = self._receive()

    def _exchange(self, out: Outgoing) -> Reply:
        try:
            self._flush()
            while out.respond:
                for event in self._receive():
                    if isinstance(event, Answer) and event.request is out:
                        return self._told(Reply(out, event))
        except Stop as stop:
            raise self._failure(stop) from None
        return self._told(Reply(out, None))

    def _tell(self, events: list[Event], wanted: type[Opened]) -> bool:
        """Hand the session's own exchanges to the recorder; whether the wanted event is among these."""
        for event in events:
            if isinstance(event, Answer):
                self._told(Reply(event.request, event))
        return any(isinstance(event, wanted) for event in events)

    def _told(self, reply: Reply) -> Reply:
        if self._record:
            self._record(reply)
        return reply

    def _flush(self) -> None:
        """Send everything that is queued. A peer that closes meanwhile may have said why: receive() will tell."""
        while (out := self._session.outgoing()) is not None:
            out.begun_ns = now_ns()
            try:
                self._link.settimeout(self._left())
                self._link.sendall(out.frame)
            except TimeoutError:
                raise self._timeout() from None
            except OSError:
                if not out.respond:
                    raise self._failure(_gone(f"closed the connection during {out}")) from None
            out.sent_ns = now_ns()

    def _receive(self) -> list[Event]:
        try:
            self._link.settimeout(self._left())
            data = self._link.recv(RECEIVE)
        except TimeoutError:
            raise self._timeout() from None
        except OSError:
            data = b""
        if not data:
            self._session.end()
            raise _gone("closed the connection")
        return self._session.receive(data, now_ns())

    def _left(self) -> float:
        left = self.deadline.left()
        if not left:
            raise self._timeout()
        return left

    def _timeout(self) -> Failure:
        text = f"{text_of(self.address)} {self._session.silence()} within {self.deadline.seconds:.3g} s"
        return Failure(text, Exit.TIMEOUT)

    def _failure(self, stop: Stop) -> Failure:
        return Failure(stop.line(text_of(self.address)), stop.code)


def _gone(text: str) -> Stop:
    from kwcli.net.core.stops import closed

    return closed(text)


def _connect(address: Address, config: ClientConfig, deadline: Deadline, timing: Timing) -> socket.socket:
    begun = time.perf_counter_ns()
    target = config.dial_map.get(address, address)
    places = resolve(target, deadline.sooner(config.connect_timeout_s))
    resolved = time.perf_counter_ns()
    link = dial(target, places, deadline.sooner(config.connect_timeout_s))
    timing.resolve_ns = resolved - begun
    timing.connect_ns = time.perf_counter_ns() - resolved
    return link
