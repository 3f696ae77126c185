"""Bytes between the core and a broker in; the same bytes, with the proxy's own login among them, out.

The proxy logs in before anything of the client is sent: ApiVersions and SASL, by the session that `kw call` uses as
well. A login that is about to end is renewed between two requests of the client: later requests wait, while answers to
earlier ones are passed on. Answers to the proxy have correlation ids that are far from the client's.

A client that begins SASL itself would change the user of the connection, or end its login. It is answered
ILLEGAL_SASL_STATE, in the order of its requests: in place of its request the broker is sent one that changes nothing,
and in place of that one's answer the client is sent ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from decoders.apis import api_name
from decoders.errors import DecodeError, EncodeError
from decoders.frames.frames_of_gapless_connections import SIZE_FIELD, Framer, with_size_field
from decoders.messages.whole_messages import encode_request, encode_response
from decoders.protocol_facts.api_keys import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from decoders.wire.format_and_escape_text import format_bytes
from kwcli import VERSION
from kwcli.net.explain_connection_end import ConnectionStop
from kwcli.net.parse_addresses import format_address
from kwcli.net.session.broker_session import OPENING_FRAME_MAX, Event, Opened, Session, SessionPhase
from kwcli.proxy.relay.relay_state import CLOSE, END, NOTE, SEND_CLIENT, SEND_SERVER, SERVER, Command
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from kwcli.net.config.client_config import Address, ClientConfig
    from kwcli.net.sasl.mechanism import Mechanism
    from kwcli.net.session.open_asyncio_connections import Logins
    from kwcli.proxy.refuse_clients_while_brokers_are_down import LoginBackoff

# Commands


# Asks the caller for a mechanism for one login, which may take time to make; answered by `log_in_with`.
CREDENTIALS: Final = 20
# Nothing more should be read from the client until READY: the login is done, for the first time or again.
PAUSE_CLIENT: Final = 21
READY: Final = 22

_ILLEGAL_SASL_STATE: Final = 34
_HEAD: Final = 12  # size, API key, version, correlation id
_ANSWER_HEAD: Final = 8  # size, correlation id
# Correlation ids of our own are this far from those of the client: for new logins, and in place of refused requests.
_HALF: Final = 1 << 30
_QUARTER: Final = 1 << 29
_IDS: Final = 1 << 31
_SASL_NOTE: Final = (
    "begins SASL itself, and was answered ILLEGAL_SASL_STATE: the proxy logs in for its clients; set the client's "
    "security.protocol to PLAINTEXT or SSL, or the proxy's to pass logins through"
)
_SAID: Final = "kw proxy has logged in for its clients"


class UpstreamLogin:
    """The proxy's login on a connection to a broker. Every method returns commands to be done in order, as of the core.

    The bytes of SEND_SERVER go to the broker as they are, those of SEND_CLIENT to the core's `server_bytes`.
    """

    __slots__ = (
        "_answers",
        "_ending",
        "_hand",
        "_last_id",
        "_mine",
        "_out",
        "_passing",
        "_requests",
        "_session",
        "_told",
        "_unsent",
    )

    def __init__(self, *, client_id: str | None, software: tuple[str, str], tls: bool) -> None:
        self._hand: Mechanism | None = None
        self._session = Session(client_id=client_id, mechanism=self._pop_mechanism, software=software, tls=tls)
        self._passing = False  # the client's requests go through
        self._unsent: list[bytes] = []
        self._ending = False  # the client will send nothing more
        self._requests = Framer()  # collects requests that will not be sent
        self._answers = Framer()  # collects answers to our own requests
        self._mine: dict[int, bytes] = {}  # correlation id of a request in place of a refused one → what to answer
        self._last_id = 0  # correlation id of the client's last request
        self._told = False
        self._out: list[Command] = []

    def begin_login(self) -> list[Command]:
        """Begin the login: the broker is connected."""
        self._out.append((CREDENTIALS,))
        return self._pop_commands()

    def log_in_with(self, mechanism: Mechanism, now_ns: int) -> list[Command]:
        """Log in with the mechanism that CREDENTIALS asked for."""
        self._hand = mechanism
        session = self._session
        if session.phase is SessionPhase.NEW:
            self._run_session_step(session.open, now_ns)
        else:
            session.set_correlation_id((self._last_id + _HALF) % _IDS)
            self._run_session_step(session.authenticate_again, now_ns)
        return self._pop_commands()

    def send_to_broker(self, data: bytes, now_ns: int) -> list[Command]:
        """Send the core's bytes to the broker, or keep them until the login is done."""
        if self._passing:
            self._forward_or_refuse_requests(data, now_ns)
        else:
            self._hold_unsent_bytes(data)
        return self._pop_commands()

    def end_client_side(self) -> list[Command]:
        """End the broker's side, once the login is done: the core has no more bytes for it."""
        self._ending = True
        if self._passing:
            self._out.append((END, SERVER))
        return self._pop_commands()

    def take_broker_bytes(self, data: bytes, now_ns: int) -> list[Command]:
        """Handle bytes that the broker sent."""
        if self._session.authenticated:
            self._forward_or_handle_answers(data, now_ns)
        else:
            self._run_session_step(lambda: self._session.feed(data, now_ns), now_ns)
        return self._pop_commands()

    def handle_broker_eof(self) -> list[Command]:
        """Handle the broker's end: CLOSE with a reason, where that ended a login. All else is for the core to do."""
        if not self._passing and self._session.due is not None:
            self._run_session_step(self._fail_if_login_was_cut_off, 0)
        return self._pop_commands()

    # The session

    def _pop_mechanism(self) -> Mechanism:
        hand, self._hand = self._hand, None
        assert hand is not None, "the session has begun without one"
        return hand

    def _fail_if_login_was_cut_off(self) -> list[Event]:
        self._session.finish()
        return []

    def _run_session_step(self, step: Callable[[], list[Event]], now_ns: int) -> None:
        try:
            events = step()
        except ConnectionStop as stop:
            self._out.append((CLOSE, f"{stop.text}; {stop.remedy}" if stop.remedy else stop.text, True))
            return
        except Failure as failure:  # from what a mechanism needs besides the broker
            self._out.append((CLOSE, failure.text, True))
            return
        while (out := self._session.take_outgoing()) is not None:
            self._out.append((SEND_SERVER, out.frame))
        if any(isinstance(event, Opened) for event in events):
            self._release_held_requests(now_ns)

    def _release_held_requests(self, now_ns: int) -> None:
        self._passing = True
        self._out.append((READY,))
        unsent, self._unsent = self._unsent, []
        for data in unsent:
            if self._passing:
                self._forward_or_refuse_requests(data, now_ns)
            else:
                self._unsent.append(data)
        if self._ending and self._passing:
            self._out.append((END, SERVER))

    def _hold_unsent_bytes(self, data: bytes) -> None:
        if not self._unsent:
            self._out.append((PAUSE_CLIENT,))
        self._unsent.append(data)

    def _pop_commands(self) -> list[Command]:
        out, self._out = self._out, []
        return out

    # The client's requests: passed on, unless one begins SASL or has to wait for a new login.

    @staticmethod
    def _collect_frames_of_login(framer: Framer, data: bytes, whole: Callable[[bytes], None]) -> tuple[bytes, int, int]:
        """The bytes, behind those kept before; where the next frame begins in them; from where on to pass them on."""
        if framer.wanted:
            frame, at = framer.collect_frame(data)
            if frame is not None:
                whole(frame)
            return data, at, at
        return framer.prepend_kept_bytes(data), framer.skip_rest_of_frame(data), 0

    def _forward_or_refuse_requests(self, data: bytes, now_ns: int) -> None:
        framer = self._requests
        data, begin, start = self._collect_frames_of_login(framer, data, self._refuse_sasl_request)
        end = len(data)  # what is behind `start` has not been sent yet
        for at, size in framer.cut_whole_frames(data, begin):
            if end - at < _HEAD:
                framer.keep_rest(data, at)
                break
            if self._is_login_over(now_ns):
                self._send_to_broker(data[start:at])
                self._renew_login(data[at:])
                return
            key = int.from_bytes(data[at + 4 : at + 6], "big")
            if key in (SASL_HANDSHAKE, SASL_AUTHENTICATE) and 8 <= size <= OPENING_FRAME_MAX:
                self._send_to_broker(data[start:at])
                start = min(at + SIZE_FIELD + size, end)
                frame = framer.take_frame_if_whole(data, at, size)
                if frame is None:
                    return
                self._refuse_sasl_request(frame)
            else:
                self._last_id = int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        self._send_to_broker(data[start : end - framer.kept])

    def _send_to_broker(self, data: bytes) -> None:
        if data:
            self._out.append((SEND_SERVER, data))

    def _is_login_over(self, now_ns: int) -> bool:
        renew_ns = self._session.renew_ns
        return renew_ns is not None and now_ns >= renew_ns

    def _renew_login(self, rest: bytes) -> None:
        self._passing = False
        self._out.append((CREDENTIALS,))
        self._hold_unsent_bytes(rest)

    def _refuse_sasl_request(self, frame: bytes) -> None:
        key, version = int.from_bytes(frame[4:6], "big"), int.from_bytes(frame[6:8], "big", signed=True)
        theirs = int.from_bytes(frame[8:12], "big", signed=True)
        value: dict[str, Any] = {"error_code": _ILLEGAL_SASL_STATE}
        if key == SASL_AUTHENTICATE:
            value["error_message"] = _SAID
        try:
            answer = encode_response(key, version, value, correlation_id=theirs)
        except (DecodeError, EncodeError):
            reason = (
                f"asked for {api_name(key)} {version}, which kw does not know, while the proxy logs in for its clients"
            )
            self._out.append((CLOSE, reason, True))
            return
        mine = (theirs + _QUARTER) % _IDS
        while mine in self._mine:
            mine = (mine + 1) % _IDS
        self._mine[mine] = with_size_field(answer)
        self._last_id = theirs
        request = encode_request(API_VERSIONS, 0, {}, correlation_id=mine)
        self._out.append((SEND_SERVER, with_size_field(request)))
        if not self._told:
            self._told = True
            self._out.append((NOTE, _SASL_NOTE))

    # The broker's answers: passed on, unless they are to requests of our own.

    def _forward_or_handle_answers(self, data: bytes, now_ns: int) -> None:
        framer = self._answers
        data, begin, start = self._collect_frames_of_login(
            framer, data, lambda frame: self._handle_own_answer(frame, now_ns)
        )
        end = len(data)
        for at, size in framer.cut_whole_frames(data, begin):
            if end - at < _ANSWER_HEAD:
                framer.keep_rest(data, at)
                break
            number = int.from_bytes(data[at + 4 : at + 8], "big", signed=True)
            due = self._session.due
            if number in self._mine or (due is not None and due.correlation_id == number):
                self._send_to_client(data[start:at])
                if not 4 <= size <= OPENING_FRAME_MAX:
                    self._out.append((CLOSE, f"sent a frame of {format_bytes(size)} for an answer to the proxy", True))
                    return
                start = min(at + SIZE_FIELD + size, end)
                frame = framer.take_frame_if_whole(data, at, size)
                if frame is None:
                    return
                self._handle_own_answer(frame, now_ns)
        self._send_to_client(data[start : end - framer.kept])

    def _send_to_client(self, data: bytes) -> None:
        if data:
            self._out.append((SEND_CLIENT, data))

    def _handle_own_answer(self, frame: bytes, now_ns: int) -> None:
        """Handle a whole answer to a request of our own."""
        answer = self._mine.pop(int.from_bytes(frame[4:8], "big"), None)
        if answer is not None:
            self._out.append((SEND_CLIENT, answer))
        else:
            self._run_session_step(lambda: self._session.feed(frame, now_ns), now_ns)


# The proxy's own login on one connection: carries out the commands of its core (`UpstreamLogin`).


class LoginConnection(Protocol):
    """A client's connection, as the login on it sees it."""

    def now_ns(self) -> int:
        """The time in ns that goes with bytes."""

    def write_to_broker(self, data: bytes) -> None:
        """Send to the broker."""

    def handle_broker_bytes(self, data: bytes) -> None:
        """Handle the broker's bytes, without its answers to the proxy's own login."""

    def pause_for_login(self, waiting: bool) -> None:
        """Read nothing from the client while the proxy logs in; `waiting` False: go on."""

    def say_once(self, text: str) -> None:
        """Say a text that people should know, once."""

    def end_broker_side(self) -> None:
        """Tell the broker that no more bytes come."""

    def end_connection(self, reason: str, *, loud: bool = False) -> None:
        """Close both sides; `reason` is for people."""


class BrokerLogin:
    """The proxy's login, between a client's connection and the connected socket to its broker."""

    def __init__(
        self, relay: LoginConnection, address: Address, config: ClientConfig, logins: Logins, backoff: LoginBackoff
    ) -> None:
        self._relay = relay
        self._address = address
        self._timeout_s = config.timeout_s
        self._logins = logins
        self._backoff = backoff
        self._through = False  # a login has succeeded
        self._core = UpstreamLogin(client_id=config.client_id, software=("kw", VERSION), tls="SSL" in config.protocol)
        self._asking: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin_login(self) -> None:
        """Begin the login: the broker is connected."""
        self._carry_out_commands(self._core.begin_login())

    def send_to_broker(self, data: bytes) -> None:
        """Send the client's bytes to the broker, or keep them until the login is done."""
        self._carry_out_commands(self._core.send_to_broker(data, self._relay.now_ns()))

    def take_broker_bytes(self, data: bytes) -> None:
        """Handle bytes that the broker sent."""
        self._carry_out_commands(self._core.take_broker_bytes(data, self._relay.now_ns()))

    def end_client_side(self) -> None:
        """End the broker's side, once the login is done: the client will send nothing more."""
        self._carry_out_commands(self._core.end_client_side())

    def handle_broker_eof(self) -> None:
        """Handle the broker's end."""
        self._carry_out_commands(self._core.handle_broker_eof())

    def stop(self) -> None:
        """Stop a login that is not done: the relay is over."""
        if self._asking is not None:
            self._asking.cancel()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _carry_out_commands(self, commands: list[Command]) -> None:
        for command in commands:
            _CARRY_OUT[command[0]](self, command)

    def _start_mechanism(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._timeout_s, self._end_login_after_timeout)
        self._asking = loop.create_task(self._create_mechanism())

    async def _create_mechanism(self) -> None:
        try:
            mechanism = await self._logins.make_mechanism(self._address)
        except Failure as failure:
            self._end_relay(failure.text)
            return
        finally:
            self._asking = None
        self._carry_out_commands(self._core.log_in_with(mechanism, self._relay.now_ns()))

    def _note_login_done(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._through = True
        self._backoff.forget_broker(self._address)
        self._relay.pause_for_login(False)

    def _end_login_after_timeout(self) -> None:
        self._end_relay_naming_broker(f"did not finish the login within {self._timeout_s:.3g} s")

    def _end_relay_naming_broker(self, text: str) -> None:
        self._end_relay(f"{format_address(self._address)} {text}")

    def _end_relay(self, text: str) -> None:
        """End the relay; where its login never succeeded, the next relays do not try to log in for a while."""
        if self._through:
            self._relay.end_connection(text, loud=True)
            return
        pause_s = self._backoff.begin_pause(self._address)
        if pause_s is None:
            self._relay.say_once(text)
            self._relay.end_connection(text)
        else:
            self._relay.end_connection(
                f"{text}; the next try is in {pause_s:.3g} s, clients are refused until then", loud=True
            )


# Command of UpstreamLogin → how a login carries it out.
_CARRY_OUT: Final[dict[int, Callable[[BrokerLogin, Command], None]]] = {
    SEND_SERVER: lambda login, command: login._relay.write_to_broker(command[1]),
    SEND_CLIENT: lambda login, command: login._relay.handle_broker_bytes(command[1]),
    CREDENTIALS: lambda login, _: login._start_mechanism(),
    PAUSE_CLIENT: lambda login, _: login._relay.pause_for_login(True),
    READY: lambda login, _: login._note_login_done(),
    NOTE: lambda login, command: login._relay.say_once(command[1]),
    CLOSE: lambda login, command: login._end_relay_naming_broker(command[1]),
    END: lambda login, _: login._relay.end_broker_side(),
}
