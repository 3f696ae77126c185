"""One client's connection between two sockets: carries out the commands of the core, and decides nothing itself.

```
client ⇄ SocketHalf ⇄ Relay ⇄ SocketHalf ⇄ broker
                        ⇅ bytes in, commands out
                     RelayCore (sans_io_connection.py): no socket, no clock
```

Reading from a side stops while there is a reason for it: the other side's buffer is full, the core asks for it, the
core waits for an answer, other connections have their turn, or the log asks for time. Bytes that need not be looked at
are sent on as they came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, Protocol

from kwcli.net.parse_addresses import format_address
from kwcli.proxy.log.log_queue import now_ns
from kwcli.proxy.receive_proxy_heads import NO_HEAD, ReceivedHead
from kwcli.proxy.refuse_clients_while_brokers_are_down import Reached, dial_first_reachable
from kwcli.proxy.relay.memory_share import MemoryShare
from kwcli.proxy.relay.relay_state import (
    ANSWERED,
    CAPPED,
    CLIENT,
    CLOSE,
    END,
    MUTE,
    NOTE,
    PAUSE_FOR_ANSWERS,
    PAUSE_FOR_DECISION,
    RELEASE,
    RESERVE,
    RESET,
    RESOLVE,
    RESUME_AFTER_ANSWERS,
    RESUME_AFTER_DECISION,
    SEND_CLIENT,
    SEND_SERVER,
    SERVER,
    TIMER,
    YIELD,
    Command,
)
from kwcli.proxy.relay.sans_io_connection import RelayCore
from kwcli.proxy.relay.socket_half import (
    AWAITS_ANSWERS,
    AWAITS_DECISION,
    AWAITS_ROOM,
    BUFFER_FULL,
    DIALLING,
    DRAINING,
    LOG,
    LOGIN,
    MUTED,
    TURN,
    SocketHalf,
)

if TYPE_CHECKING:
    from kwcli.net.config.client_config import Address
    from kwcli.net.session.open_asyncio_connections import Dialler
    from kwcli.proxy.deciding.ask_deciders import Deciders
    from kwcli.proxy.log.log_queue import LogQueue
    from kwcli.proxy.node_listeners import Listener, ProxyListeners
    from kwcli.proxy.proxy_metrics import Metrics
    from kwcli.proxy.refuse_clients_while_brokers_are_down import LoginBackoff
    from kwcli.proxy.relay.frame_decisions import Decision, InterceptedExchange
    from kwcli.proxy.relay.memory_share import SharedMemory
    from kwcli.proxy.relay.rewrite_cache import RewrittenAnswers
    from kwcli.proxy.relay.socket_half import Turns
    from kwcli.proxy.relay.upstream_login import BrokerLogin

Take = Callable[[bytes], None]


# How a connection ended: with FIN or RST, or closed by the proxy.
How = Literal["fin", "rst", "proxy"]


class Shared(Protocol):
    """The proxy, as its connections see it: what they share, and what they report."""

    metrics: Metrics | None
    log_queue: LogQueue | None  # the log, if there is one
    both: LogQueue | None  # the log, if it gets the bytes between proxy and brokers too
    rewritten_answers: RewrittenAnswers
    deciders: Deciders | None  # about single frames, if there are some
    turns: Turns
    shared_memory: SharedMemory
    listeners: ProxyListeners
    dialler: Dialler
    backoff: LoginBackoff
    paused: bool
    relays: dict[int, Relay]

    def is_refusing(self, listener: Listener) -> bool:
        """Whether the listener refuses clients, so that one that was accepted all the same is to be turned away."""

    def end_relay_without_broker(self, relay: Relay, reached: Reached) -> None:
        """End a relay for which no broker took a connection."""

    def make_login(self, relay: Relay, address: Address) -> BrokerLogin | None:
        """The proxy's own login for a connection to the broker at `address`, where it has one."""

    def report(self, relay: Relay, text: str, *, loud: bool) -> None:
        """Say what happened to a connection; without -v only where it is `loud`."""

    def say_once(self, text: str, relay: Relay) -> None:
        """Say a text that people should know, once; how often it came is said at the end."""


class Relay:
    """A client's connection and its connection to a broker; `number` counts connections from 1.

    `head` is the PROXY head before its bytes: the client that it names is `peer`, and its sender `via_address`.
    """

    def __init__(self, proxy: Shared, listener: Listener, number: int, head: ReceivedHead = NO_HEAD) -> None:
        self.number = number
        self.listener = listener
        self._metrics = proxy.metrics
        self._meter = proxy.metrics.get_or_make_meter(listener) if proxy.metrics is not None else None
        timed = proxy.log_queue is not None or self._meter is not None
        self.connection_deciders = proxy.deciders.make_connection_decider(self) if proxy.deciders is not None else None
        self.core = RelayCore(
            timed=timed, rewritten_answers=proxy.rewritten_answers, frame_decider=self.connection_deciders
        )
        self.client = SocketHalf(self, CLIENT, proxy.turns)
        self.server = SocketHalf(self, SERVER, proxy.turns)
        self.peer = self._sender = ""
        self.via_address: str | None = None
        self._head = head
        self._sent_head = b""  # the PROXY head before the client's bytes to the broker
        self._target = listener.targets[0]
        self.upstream = format_address(self._target)
        self.receivers: tuple[Take, Take] = (self._handle_client_bytes, self.handle_broker_bytes)
        self.write_server: Take = self.write_to_broker
        self._proxy = proxy
        self._log_queue = proxy.log_queue
        self._both = proxy.both
        self._dialling: asyncio.Task[None] | None = None
        self._early: list[bytes] = []  # bytes that came before the broker was connected
        self._early_end = False
        self.room: MemoryShare = MemoryShare(
            proxy.shared_memory, lambda: bool(self.server.pause_reasons & BUFFER_FULL) and not self.client.lost
        )
        self._login: BrokerLogin | None = None
        self._ending = False  # the client sends no more, and the broker cannot be told so
        self.over = False
        self._yielded = False  # the core has more work for another turn

    # Beginning

    def connection_made(self, side: SocketHalf) -> None:
        """Dial the broker of a client that has connected, or turn the client away."""
        if side is self.server:
            return
        assert side.transport is not None
        if self._proxy.is_refusing(self.listener):
            self.over = True
            side.reset()
            return
        side.pause_reading(DIALLING)
        # Event loops begin to read after this callback, whatever was asked for in it.
        asyncio.get_running_loop().call_soon(side.pause_again)
        peer = side.transport.get_extra_info("peername")
        self._sender = format_address(peer[:2]) if peer else "?"
        self.peer = self._head.client or self._sender
        self.via_address = self._sender if self._head.client else None
        if self._proxy.deciders is not None and self._proxy.deciders.refuses_client(self):
            self.over = True
            side.reset()
            return
        self._proxy.relays[self.number] = self
        if self._proxy.paused:
            self.pause_both_sides(True)
        if self._meter is not None:
            self._meter.count_client()
        self._dialling = asyncio.get_running_loop().create_task(self._dial_broker())

    async def _dial_broker(self) -> None:
        proxy = self._proxy
        targets = proxy.listeners.find_brokers_behind(self.listener)
        self._sent_head = proxy.dialler.make_head(self.peer, self._head.target or self.client.local_address)
        reached = await dial_first_reachable(
            targets, proxy.dialler, proxy.backoff, lambda: self.server, self._sent_head
        )
        self._dialling = None
        if reached.target is not None:
            self._target = reached.target
            self.upstream = format_address(reached.target)
        if self.server.transport is None:
            if self._meter is not None:
                self._meter.failed += 1
            proxy.end_relay_without_broker(self, reached)
        elif self.over:
            self.server.close_after_sending()
        else:
            if self._log_queue is not None:
                ends = (self._sender, self.client.local_address, self.upstream)
                self._log_queue.log_connection_opened(self.number, *ends, now_ns(), self._head.data)
                self._log_tls(self._log_queue)
            self._proxy.report(self, f"to {self.upstream}", loud=False)
            if self._both is not None:
                self._log_broker_connection(self._both)
            self._log_in()
            if self._both is not None:
                self.receivers = (
                    self._handle_client_bytes,
                    partial(self._log_and_handle, self._both, self.receivers[SERVER]),
                )
            self.client.resume_reading(DIALLING)
            early, self._early = self._early, []
            if early:
                self._handle_client_bytes(b"".join(early))
            if self._early_end:
                self.eof_received(self.client)

    def _log_tls(self, log_queue: LogQueue) -> None:
        link = self.client.transport.get_extra_info("ssl_object") if self.client.transport is not None else None
        if link is not None and link.cipher() is not None:
            log_queue.log_tls(self.number, link.version(), link.cipher()[0], now_ns())

    def _log_in(self) -> None:
        """Begin the proxy's own login, where it has one, before anything of the client is sent."""
        self._login = self._proxy.make_login(self, self._target)
        if self._login is not None:
            self.receivers = (self._handle_client_bytes, self._login.take_broker_bytes)
            self.write_server = self._login.send_to_broker
            self._login.begin_login()

    def _log_broker_connection(self, log_queue: LogQueue) -> None:
        """Tell the log the addresses of the connection between proxy and broker."""
        link = self.server.transport
        assert link is not None
        upstream = format_address(link.get_extra_info("peername")[:2])
        log_queue.log_broker_connection(self.number, self.server.local_address, upstream, now_ns(), self._sent_head)

    def pause_both_sides(self, paused: bool) -> None:
        """Stop reading from both sides, or read on, as the log asks for it."""
        for side in (self.client, self.server):
            if paused:
                side.pause_reading(LOG)
            else:
                side.resume_reading(LOG)

    def _log_and_handle(self, log_queue: LogQueue, take: Take, data: bytes) -> None:
        log_queue.log_broker_bytes(self.number, SERVER, now_ns(), data)
        take(data)

    def write_to_broker(self, data: bytes) -> None:
        """Send to the broker."""
        if self._both is not None:
            self._both.log_broker_bytes(self.number, CLIENT, now_ns(), data)
        if self.server.transport is not None:
            self.server.transport.write(data)

    def say_once(self, text: str) -> None:
        """Say a text that people should know, once."""
        self._proxy.say_once(text, self)

    def pause_for_login(self, paused: bool) -> None:
        """Read nothing from the client while the proxy logs in; `paused` False: go on."""
        if paused:
            self.client.pause_reading(LOGIN)
        else:
            self.client.resume_reading(LOGIN)

    def now_ns(self) -> int:
        """The time in ns that goes with bytes."""
        return now_ns()

    # Bytes

    def _handle_client_bytes(self, data: bytes) -> None:
        if self._dialling is not None:
            self._early.append(data)
            self.client.pause_again()
            return
        now = now_ns()
        if self._meter is not None:
            self._meter.received += len(data)
        commands = self.core.client_bytes(data, now)
        if self._log_queue is not None:  # after decisions about its requests: the chunk settles one without an answer
            self._log_queue.log_client_bytes(self.number, CLIENT, now, data)
        if len(commands) == 1 and commands[0][0] == SEND_SERVER:
            self.write_server(commands[0][1])
        else:
            self._carry_out_commands(commands)

    def handle_broker_bytes(self, data: bytes) -> None:
        """Handle the broker's bytes, without its answers to the proxy's own login."""
        commands = self.core.server_bytes(data, now_ns())
        if len(commands) == 1 and commands[0][0] == SEND_CLIENT and self._log_queue is None and self._meter is None:
            self.client.transport.write(commands[0][1])  # type: ignore[union-attr]  # the client is there first
        else:
            self._carry_out_commands(commands)
        if self._ending:
            self._end_if_done()

    def apply_decision(self, exchange: InterceptedExchange, decision: Decision) -> None:
        """Carry out the awaited decision about a frame of this connection."""
        if not self.over:
            self._carry_out_commands(self.core.apply_decision(exchange, decision, now_ns()))
            if self._ending:
                self._end_if_done()

    def log_fault(self, correlation_id: int, rule: int, action: str, hit: int) -> None:
        """Have the log say that a fault rule has done something to an exchange."""
        if self._log_queue is not None:
            said = {"rule": rule, "action": action, "hit": hit}
            self._log_queue.log_decision(self.number, {"id": correlation_id, "fault": said}, now_ns())

    def log_refusal(self, correlation_id: int, by: str, reason: str) -> None:
        """Have the log say which option does not serve a request."""
        if self._log_queue is not None:
            said = {"by": by, "reason": reason}
            self._log_queue.log_decision(self.number, {"id": correlation_id, "refused": said}, now_ns())

    def _resume_delayed_frame(self, side: int) -> None:
        """Go on with a delayed frame, or a piece of one: its time has come."""
        if not self.over:
            self._carry_out_commands(self.core.resume_after_delay(side, now_ns()))
            if self._ending:
                self._end_if_done()

    def _end_if_done(self) -> None:
        if self.core.is_idle:
            self.end_connection("the client closed the connection", how="fin")

    def _resume_side_in_turn(self, side: int) -> None:
        """Handle the rest of a side's bytes: other connections have had their turn."""
        if self.over:
            return
        self._yielded = False
        self._carry_out_commands(self.core.resume_turn(side, now_ns()))
        if not self._yielded:
            self._proxy.turns.run_later(
                partial(self._socket_of_side(side).resume_reading, TURN)
            )  # reading on takes a turn as well
        if self._ending:
            self._end_if_done()

    def _carry_out_commands(self, commands: list[Command]) -> None:
        """Carry out commands in order, then those that follow from them."""
        for command in commands:
            more = CARRY_OUT[command[0]](self, command)
            if more:
                commands += more

    def _send_to_server(self, command: Command) -> None:
        self.write_server(command[1])

    def _send_to_client(self, command: Command) -> None:
        data: bytes = command[1]
        if self._meter is not None:
            self._meter.sent += len(data)
        if self._log_queue is not None:
            self._log_queue.log_client_bytes(self.number, SERVER, now_ns(), data)
        if self.client.transport is not None:
            self.client.transport.write(data)

    def _resolve_nodes_to_listeners(self, command: Command) -> list[Command]:
        _, ticket, found, named_by_broker = command
        listeners = self._proxy.listeners
        if named_by_broker is None:
            where = listeners.open_listeners_and_find_addresses(found)
        else:
            listeners.open_listeners_and_find_addresses(named_by_broker)
            where = listeners.find_listener_addresses(found)
        if self._metrics is not None:
            self._metrics.rewritten += 1
        return self.core.resume_after_resolution(ticket, where, now_ns())

    def _reserve_memory(self, command: Command) -> list[Command] | None:
        """Take room for a frame that will be buffered; where there is none, the broker is not read until there is."""
        if self.room.reserve(command[1]):
            return self.core.reserved(now_ns())
        self.server.pause_reading(AWAITS_ROOM)
        self.room.wait_for_room(command[1], self._resume_after_grant)
        return None

    def _pause_side_until_next_turn(self, command: Command) -> None:
        self._yielded = True
        self._socket_of_side(command[1]).pause_reading(TURN)
        self._proxy.turns.run_later(partial(self._resume_side_in_turn, command[1]))

    def _count_answer(self, command: Command) -> None:
        _, correlation_id, sent_ns, first_ns, api_key = command
        if self._log_queue is not None:
            self._log_queue.log_upstream_latency(self.number, correlation_id, sent_ns, first_ns)
        if self._meter is not None:
            self._meter.count_answer(api_key, first_ns - sent_ns)

    def _count_capped_versions(self, command: Command) -> None:
        if self._metrics is not None:
            self._metrics.capped += command[1]

    def _start_timer(self, side: int, ns: int) -> None:
        asyncio.get_running_loop().call_later(ns / 1e9, self._resume_delayed_frame, side)

    def _mute_client(self, command: Command) -> None:
        self.client.pause_reading(MUTED)
        asyncio.get_running_loop().call_later(command[1] / 1e9, self.client.resume_reading, MUTED)

    def _reset_both_sides(self, command: Command) -> None:
        self.end_connection(command[1], how="rst")
        self.client.reset()
        self.server.reset()

    def _socket_of_side(self, side: int) -> SocketHalf:
        return self.client if side == CLIENT else self.server

    def _resume_after_grant(self) -> None:
        self.server.resume_reading(AWAITS_ROOM)
        self._carry_out_commands(self.core.reserved(now_ns()))

    # Full and empty buffers

    def writing_paused(self, side: SocketHalf) -> None:
        """Stop reading from the other side: the buffer towards this side is full."""
        (self.server if side is self.client else self.client).pause_reading(BUFFER_FULL)

    def writing_resumed(self, side: SocketHalf) -> None:
        """Read from the other side again: the buffer towards this side has room."""
        (self.server if side is self.client else self.client).resume_reading(BUFFER_FULL)
        if side is self.client:
            self.room.release_owed_memory()

    # Ends

    def eof_received(self, side: SocketHalf) -> bool:
        """Handle that a side sends no more; whether its socket stays open for what it still gets."""
        if self.over:
            return False
        if side is self.server:
            self._handle_broker_eof()
            return False
        if self._dialling is not None:
            self._early_end = True
            return True
        self._carry_out_commands(self.core.handle_client_eof(now_ns()))
        if self.core.is_idle and not self.over:
            self.end_connection("the client closed the connection", how="fin")
        return not self.over

    def _end_side(self, side: int) -> None:
        if side == SERVER and self._login is not None:
            self._login.end_client_side()
        elif side == SERVER:
            self.end_broker_side()
        elif self.client.transport is not None and self.client.transport.can_write_eof():
            self.client.transport.write_eof()

    def end_broker_side(self) -> None:
        """Tell the broker that no more bytes come."""
        link = self.server.transport
        if link is None or link.is_closing():
            return
        if link.can_write_eof():
            link.write_eof()
        else:
            self._ending = True

    def _handle_broker_eof(self) -> None:
        if self._login is not None:
            self._login.handle_broker_eof()
        if not self.over:
            self._carry_out_commands(self.core.handle_broker_eof())

    def connection_lost(self, side: SocketHalf, error: Exception | None) -> None:
        """Handle that a socket is closed: end the connection."""
        if side is self.server and self.core.is_swallowed:
            return
        if side is self.server and not self.over:
            alert = self._proxy.dialler.describe_tls_alert(self._target, error)
            if alert is not None:
                self.end_connection(alert, loud=True)
            elif self._login is not None:
                self._login.handle_broker_eof()
        if not self.over:
            who = "client" if side is self.client else "broker"
            verb = "reset" if error is not None else "closed"
            waiting = f" with {self.core.in_flight} unanswered" if self.core.in_flight else ""
            other = self.server if side is self.client else self.client
            if error is not None:
                other.reset()
            # Clients may leave at any time, for example during a long poll.
            loud = self.core.is_inside_request if side is self.client else bool(waiting)
            where = " inside a request" if side is self.client and loud else ""
            self.end_connection(
                f"the {who} {verb} the connection{where}{waiting}", loud=loud, how="rst" if error else "fin"
            )
        if self.client.lost:
            self._forget_connection()

    def end_connection(self, reason: str, *, loud: bool = False, how: How = "proxy") -> None:
        """Close both sides, once their buffers are sent; `reason` is for people."""
        if self.over:
            return
        self.over = True
        if self._login is not None:
            self._login.stop()
        self._proxy.report(self, reason, loud=loud)
        if self._log_queue is not None:
            self._log_queue.log_connection_closed(self.number, how, now_ns(), reason)
        self.client.close_after_sending()
        self.server.close_after_sending()
        self.room.stop_waiting()

    def abort_connection(self) -> None:
        """Cut off both sides at once: the proxy ends."""
        self.end_connection("cut off, the proxy ends")
        for side in (self.client, self.server):
            if side.transport is not None:
                side.transport.abort()
        if self._dialling is not None:
            self._dialling.cancel()

    def drain_requests(self) -> bool:
        """Take no more requests; whether the connection is closed, which it is once nothing is in flight."""
        self.client.pause_reading(DRAINING)
        if self.core.is_idle and self._dialling is None:
            self.end_connection("the proxy ends")
        return self.over

    def _forget_connection(self) -> None:
        self.room.release_all()
        if self.connection_deciders is not None:
            self.connection_deciders.end_connection()
        if self._proxy.relays.pop(self.number, None) is not None and self._meter is not None:
            self._meter.open -= 1


# Command of relay_state.py → how a relay carries it out; it returns the commands that follow, if there are some.
CARRY_OUT: Final[dict[int, Callable[[Relay, Command], list[Command] | None]]] = {
    SEND_SERVER: Relay._send_to_server,
    SEND_CLIENT: Relay._send_to_client,
    RESOLVE: Relay._resolve_nodes_to_listeners,
    RESERVE: Relay._reserve_memory,
    RELEASE: lambda relay, command: relay.room.release_when_drained(command[1]),
    PAUSE_FOR_ANSWERS: lambda relay, command: relay._socket_of_side(command[1]).pause_reading(AWAITS_ANSWERS),
    RESUME_AFTER_ANSWERS: lambda relay, command: relay._socket_of_side(command[1]).resume_reading(AWAITS_ANSWERS),
    END: lambda relay, command: relay._end_side(command[1]),
    CLOSE: lambda relay, command: relay.end_connection(command[1], loud=command[2]),
    NOTE: lambda relay, command: relay.say_once(command[1]),
    ANSWERED: Relay._count_answer,
    CAPPED: Relay._count_capped_versions,
    YIELD: Relay._pause_side_until_next_turn,
    PAUSE_FOR_DECISION: lambda relay, command: relay._socket_of_side(command[1]).pause_reading(AWAITS_DECISION),
    RESUME_AFTER_DECISION: lambda relay, command: relay._socket_of_side(command[1]).resume_reading(AWAITS_DECISION),
    TIMER: lambda relay, command: relay._start_timer(command[1], command[2]),
    RESET: Relay._reset_both_sides,
    MUTE: Relay._mute_client,
}
