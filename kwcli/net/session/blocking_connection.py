"""A broker's address and requests' bytes in, answers' bytes and times out: the blocking driver, used by `kw call`.

Everything is bounded by one deadline; every error is a Failure of one line that begins with the address.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Final

from decoders.schema.api_declaration import Versions
from kwcli import VERSION
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import Address, ClientConfig
from kwcli.net.explain_connection_end import QUESTION_S, Cause, ConnectionStop, make_closed_stop
from kwcli.net.open_connections import Connector, Timing
from kwcli.net.parse_addresses import format_address
from kwcli.net.session.broker_session import Event, Opened, Outgoing, ReceivedAnswer, Session, SessionPhase
from kwcli.net.session.version_negotiation import (
    HIGHEST,
    LOWER_VERSIONS,
    Offer,
    find_impossible_versions,
    is_controller,
    make_assumed_offer,
)
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.net.session.mechanism_factory import SaslLogin
    from kwcli.net.session.oauth_tokens import Credentials

__all__ = [
    "BrokerConnection",
    "InterruptedRequest",
    "Reply",
    "ReplyObserver",
    "Timing",
    "UnansweredRequest",
    "now_ns",
]

RECEIVE: Final = 256 * 1024
# Bytes that every socket takes without waiting for the peer.
AT_ONCE: Final = 16 * 1024
# Wall-clock nanoseconds that never go back within one process.
_EPOCH_NS: Final = time.time_ns() - time.perf_counter_ns()


def now_ns() -> int:
    """Wall-clock time in ns; differences are those of a monotonic clock."""
    return _EPOCH_NS + time.perf_counter_ns()


class Reply:
    """A request and its answer: frames with their size fields, times in wall-clock ns.

    `api_key` is None for bytes that are not known to be a request (a bare SASL token, raw bytes). Without an answer
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

    def __init__(self, out: Outgoing, answer: ReceivedAnswer | None) -> None:
        self.api_key = out.api_key
        self.version = out.version
        self.correlation_id = out.correlation_id
        self.request_frame = out.frame
        self.begun_ns = out.begun_ns
        self.sent_ns = out.sent_ns
        self.response_frame = answer.frame.data if answer else None
        self.first_ns = answer.frame.first_ns if answer else 0
        self.last_ns = answer.frame.last_ns if answer else 0


class UnansweredRequest(Failure):
    """The end of a request that was sent and got no answer; `reply` has its frame and times."""

    def __init__(self, failure: Failure, reply: Reply) -> None:
        super().__init__(failure.text, failure.code)
        self.reply = reply


class InterruptedRequest(KeyboardInterrupt):
    """Ctrl-C between a request and its answer; `reply` has the request's frame and times."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


ReplyObserver = Callable[[Reply], None]


class BrokerConnection:
    """An open, negotiated and authenticated connection to one broker; a context manager that closes it.

    `address` is the address asked for, `local` and `peer` the ends of the socket as `host:port`, `remarks` lines for
    the user. `deadline` ends everything, and may be replaced between requests.
    """

    def __init__(
        self,
        connector: Connector,
        link: socket.socket,
        session: Session,
        deadline: Deadline,
        *,
        timing: Timing,
        login: SaslLogin | None = None,
        node_id: int | None = None,
        observe_own: ReplyObserver | None = None,
    ) -> None:
        """Take over a connected socket; callers use `open`. Raises ConnectionStop."""
        self.address = connector.address
        self.node_id = node_id
        self.deadline = deadline
        self.timing = timing
        self.remarks: list[str] = []
        try:
            self.local = format_address(link.getsockname()[:2])
            self.peer = format_address(link.getpeername()[:2])
        except OSError:  # it has been reset already
            raise make_closed_stop("closed the connection at once") from None
        self._answered = 0
        self._link = link
        self._login = login
        self._observe_own = observe_own
        self._session = session
        self._connector = connector

    @classmethod
    def open(
        cls,
        address: Address,
        config: ClientConfig,
        deadline: Deadline,
        *,
        node_id: int | None = None,
        cluster_id: str | None = None,
        observe_own: ReplyObserver | None = None,
        credentials: Credentials | None = None,
    ) -> BrokerConnection:
        """Resolve, connect, negotiate, authenticate. Raises Failure.

        `observe_own` gets the connection's own exchanges: the negotiation and logins, also those that are renewed.

        Give `cluster_id` only where brokers are known to speak ApiVersions 5, which names the cluster that we believe
        to reach (KIP-1242); elsewhere it costs one more round. `credentials` are shared by the connections of a
        cluster.
        """
        connector = Connector(address, config)
        login = _make_login(config, address, deadline, credentials)

        def attempt(assumed: Offer | None, deadline: Deadline, highest: int = HIGHEST) -> BrokerConnection:
            session = Session(
                client_id=config.client_id,
                mechanism=login,
                software=("kw", VERSION),
                cluster_id=cluster_id,
                node_id=node_id,
                assumed=assumed,
                highest=highest,
                tls=connector.tls,
            )
            timing = Timing()
            link = connector.connect(deadline, timing)
            try:
                made = cls(
                    connector,
                    link,
                    session,
                    deadline,
                    timing=timing,
                    login=login,
                    node_id=node_id,
                    observe_own=observe_own,
                )
                made._open_session()
                odd = find_impossible_versions(made.offer.answer)
                if odd:
                    more = f" and {len(odd) - 1:,} more like that" if odd[1:] else ""
                    made.remarks.append(f"{connector.address_text} offers {odd[0]}{more}: ignored")
            except BaseException:
                link.close()
                raise
            return made

        settled = None if config.asks_versions else make_assumed_offer(config.assumed_release, settled=True)
        try:
            return attempt(settled, deadline)
        except ConnectionStop as stop:
            if stop.cause is not Cause.CLOSED or settled is not None:
                raise connector.make_failure(stop) from None
            known = connector.explain_close_after_api_versions(stop, deadline)
            if known is not stop:
                raise connector.make_failure(known) from None
            lower = _ask_with_lower_versions(attempt, connector, deadline)
            return lower or _connect_to_old_broker(
                attempt,
                connector,
                stop,
                deadline,
                release=config.assumed_release,
                worth=config.sasl is None or config.sasl.mechanism == "GSSAPI",
            )

    def __enter__(self) -> BrokerConnection:
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

    @property
    def is_controller(self) -> bool:
        """Whether this is a listener of KRaft controllers."""
        return is_controller(self.versions)

    def send_request(
        self,
        api_key: int,
        version: int,
        body: bytes,
        *,
        respond: bool = True,
        header_tags: Mapping[int, bytes] | None = None,
    ) -> Reply:
        """Send one request and wait for its answer, if one is expected. Raises Failure.

        A login that is about to end is renewed first. The Failure is an UnansweredRequest where the request was sent.
        """
        self._renew_login()
        return self._send_and_await_reply(
            self._session.queue_request(api_key, version, body, respond=respond, header_tags=header_tags)
        )

    def send_raw_bytes(self, frame: bytes, *, respond: bool = True) -> Reply:
        """Send these bytes as they are, size field and all; the next frame is their answer. Raises Failure."""
        self._renew_login()
        return self._send_and_await_reply(self._session.queue_raw_bytes(frame, respond=respond))

    # The session's own conversation

    def _open_session(self) -> None:
        begun = time.perf_counter_ns()
        self._converse_until_open(self._session.open())
        self.timing.negotiate_ns = time.perf_counter_ns() - begun - self.timing.auth_ns

    def _renew_login(self) -> None:
        if self._session.is_login_to_be_renewed(now_ns()) and self._login is not None:
            self._login.deadline = self.deadline
            try:
                self._converse_until_open(self._session.authenticate_again())
            except ConnectionStop as stop:
                raise self._make_failure(stop) from None

    def _converse_until_open(self, events: list[Event]) -> None:
        """Send and receive until the session is open (again)."""
        since = 0
        while not self._observe_answers(events):
            if not since and self._session.phase is SessionPhase.AUTHENTICATING:
                since = time.perf_counter_ns()
            self._send_outgoing()
            events = self._receive_events()
        if since:
            self.timing.auth_ns = time.perf_counter_ns() - since

    def _observe_answers(self, events: list[Event]) -> bool:
        """Pass the answers on to the observer; whether the session is open (again)."""
        for event in events:
            if isinstance(event, ReceivedAnswer) and self._observe_own is not None:
                self._observe_own(Reply(event.request, event))
        return any(isinstance(event, Opened) for event in events)

    # Reading and writing

    def _send_and_await_reply(self, out: Outgoing) -> Reply:
        try:
            self._send_outgoing()
            while out.respond:
                for event in self._receive_events():
                    if isinstance(event, ReceivedAnswer) and event.request is out:
                        self._answered += 1
                        return Reply(out, event)
        except (ConnectionStop, Failure, KeyboardInterrupt) as end:
            if isinstance(end, ConnectionStop):
                end = self._make_failure(end, out.api_key, out.version)
            if not out.begun_ns:
                raise end from None
            out.sent_ns = out.sent_ns or out.begun_ns
            reply = Reply(out, None)
            if isinstance(end, Failure):
                raise UnansweredRequest(end, reply) from None
            raise InterruptedRequest(reply) from None
        return Reply(out, None)

    def _send_outgoing(self) -> None:
        """Send everything that is queued. A peer that closes meanwhile may have said why: the next read will tell."""
        while (out := self._session.take_outgoing()) is not None:
            out.begun_ns = now_ns()
            try:
                self._link.settimeout(self._seconds_left())
                self._link.sendall(out.frame)
            except TimeoutError:
                raise self._make_timeout_failure(f"did not take all of {out}") from None
            except OSError:
                if not out.respond:
                    raise make_closed_stop(f"closed the connection while {out} was sent") from None
            # A small frame is handed over at once: the time until the call returns is no part of sending it, and on a
            # busy machine the answer may be there before.
            out.sent_ns = out.begun_ns if len(out.frame) <= AT_ONCE else now_ns()

    def _receive_events(self) -> list[Event]:
        try:
            self._link.settimeout(self._seconds_left())
            data = self._link.recv(RECEIVE)
        except TimeoutError:
            raise self._make_timeout_failure(*self._session.describe_silence()) from None
        except OSError as error:
            alerted = self._connector.find_tls_alert(error)
            if alerted is not None:
                raise alerted from None
            data = b""
        if not data:
            self._session.finish()
            raise make_closed_stop("closed the connection")
        return self._session.feed(data, now_ns())

    def _seconds_left(self) -> float:
        left = self.deadline.left()
        if not left:
            raise self._make_timeout_failure(*self._session.describe_silence())
        return left

    def _make_timeout_failure(self, what: str, remedy: str = "") -> Failure:
        line = f"{self._connector.address_text} {what} within {self.deadline.seconds:.3g} s"
        return Failure(f"{line}; {remedy}" if remedy else line, Exit.TIMEOUT)

    def _make_failure(self, stop: ConnectionStop, api_key: int | None = None, version: int = 0) -> Failure:
        if stop.cause is Cause.CLOSED:
            offered = self.versions.get(api_key) if api_key is not None else None
            if not self._answered:
                stop = self._connector.explain_close_at_first_request(stop, self.deadline)
            if stop.cause is Cause.CLOSED and api_key is not None and (offered is None or version not in offered):
                remedy = f"it offers {f'versions {offered}' if offered else 'no version'} of this API"
                if not offered and self.is_controller:
                    remedy = "it is a controller, which does not take this API: ask a broker"
                stop.remedy = remedy
        return self._connector.make_failure(stop)


def _ask_with_lower_versions(
    attempt: Callable[[Offer | None, Deadline, int], BrokerConnection], connector: Connector, deadline: Deadline
) -> BrokerConnection | None:
    """A connection to a broker that closes on the highest ApiVersions, asked with lower ones; None: it closes on all.

    Raises Failure where it answers one of them, but the connection cannot go on.
    """
    for version in LOWER_VERSIONS:
        try:
            made = attempt(None, deadline, version)
        except ConnectionStop as stop:
            if stop.cause is not Cause.CLOSED:
                raise connector.make_failure(stop) from None
        else:
            made.remarks.append(
                f"{connector.address_text} closes on ApiVersions {version + 1} without an answer: asked with {version}"
            )
            return made
    return None


def _connect_to_old_broker(
    attempt: Callable[[Offer | None, Deadline], BrokerConnection],
    connector: Connector,
    stop: ConnectionStop,
    deadline: Deadline,
    *,
    release: str,
    worth: bool,
) -> BrokerConnection:
    """A connection to a broker of before 0.10, which closes on ApiVersions; Failure where the peer is none."""
    if worth:
        try:
            made = attempt(make_assumed_offer(release), deadline.limit_to(QUESTION_S))
        except (ConnectionStop, Failure):
            pass
        else:
            made.deadline = deadline
            made.remarks.append(
                f"{connector.address_text} does not know ApiVersions: kw takes it for a broker before 0.10, with the "
                f"versions of {made.offer.assumed}"
            )
            return made
    raise connector.make_failure(connector.explain_close_of_no_broker(stop, deadline))


def _make_login(
    config: ClientConfig, address: Address, deadline: Deadline, credentials: Credentials | None
) -> SaslLogin | None:
    if config.sasl is None or "SASL" not in config.protocol:
        return None
    from kwcli.net.session.mechanism_factory import SaslLogin, make_credentials

    return SaslLogin(config.sasl, address, deadline, credentials or make_credentials(config))
