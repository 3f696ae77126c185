"""The proxy as a running program: listeners, connections, signals, and what people are told on standard error."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kwcli.malloc_trim import TRIM_S, Trimmer, set_malloc_thresholds
from kwcli.net.config.client_config import Address
from kwcli.net.listening_sockets import BACKLOG
from kwcli.net.parse_addresses import format_address
from kwcli.net.session.open_asyncio_connections import AcceptingServer, Dialler, Factory, Logins
from kwcli.proxy.log.log_queue import now_ns
from kwcli.proxy.node_listeners import (
    FIRST_BASE,
    Listener,
    ProxyListeners,
    ProxyPorts,
    find_ports_file,
    list_listener_rows,
    list_port_bases,
)
from kwcli.proxy.proxy_metrics import Metrics
from kwcli.proxy.proxy_settings import DiscoveredNodes, ProxySettings
from kwcli.proxy.receive_proxy_heads import NO_HEAD, ReceivedHead
from kwcli.proxy.refuse_clients_while_brokers_are_down import Acceptor, LoginBackoff, Reached, dial_first_reachable
from kwcli.proxy.relay.memory_share import SharedMemory
from kwcli.proxy.relay.relay_connection import Relay
from kwcli.proxy.relay.rewrite_cache import RewrittenAnswers
from kwcli.proxy.relay.socket_half import SocketHalf, Turns
from kwcli.proxy.relay.upstream_login import BrokerLogin
from kwcli.proxy.repeated_messages import RepeatFilter, SeenTexts
from kwcli.run_environment import Environment, Exit, Failure
from kwcli.run_user_command import exit_code_of, start_user_command
from kwcli.telemetry.http_server import MetricsConnection, listen_for_metrics

if TYPE_CHECKING:
    from kwcli.proxy.log.log_queue import LogQueue


def format_listeners(listeners: Sequence[Listener]) -> list[str]:
    """The listeners as a table, in lines; with a column of racks only where one is known."""
    rows = [["node", "real", "local", "rack"]]
    for each in listeners:
        rows.append(
            [each.name, ",".join(map(format_address, each.targets)), format_address(each.address), each.rack or ""]
        )
    if not any(each.rack for each in listeners):
        rows = [row[:3] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() for row in rows]


_LOOK_S: Final = 0.05
# How often (s) the files of fault rules are checked for changes.
_RULES_S: Final = 0.5
# Time limit of a client's TLS handshake.
_GREETING_S: Final = 10.0


class Proxy:
    """A running proxy. `found` is what is known of the cluster; `run` returns the exit code once a signal ends it."""

    def __init__(
        self,
        env: Environment,
        settings: ProxySettings,
        found: DiscoveredNodes,
        log_queue: LogQueue | None = None,
        *,
        both: bool = False,
    ) -> None:
        """`both`: the log gets the bytes between proxy and brokers as well."""
        self.env = env
        self.settings = settings
        self.log_queue = log_queue
        self.both = log_queue if both else None
        self.paused = False
        self.metrics = Metrics() if settings.metrics is not None else None
        self._told: socket.socket | None = None  # listens for Prometheus
        self.shared_memory = SharedMemory(settings.shared_memory_max)
        version_decider = settings.version_decider
        self.rewritten_answers = RewrittenAnswers(served=None if version_decider is None else version_decider.served)
        self.deciders = settings.deciders
        self.turns = Turns()
        self.dialler = Dialler(settings.config)
        self._logins = Logins(settings.config) if "SASL" in settings.config.protocol else None
        self.relays: dict[int, Relay] = {}
        self._ports = ProxyPorts(
            settings.port_base, found.cluster_id, find_ports_file(env.variables), nodes=found.nodes
        )
        self.listeners = ProxyListeners(
            self._ports, settings.bind, settings.advertise, self._serve_when_loop_runs, self._report_and_log
        )
        self._found = found
        self._sockets: list[tuple[Listener, socket.socket]] = []
        self._accepting: dict[Listener, Acceptor] = {}
        self._telling: asyncio.Server | None = None  # answers Prometheus
        self._starting: set[asyncio.Task[None]] = set()
        self._count = 0
        self.backoff = LoginBackoff(time.monotonic)
        self._notes = SeenTexts()
        self._repeats = RepeatFilter(time.monotonic, self._report_and_log)
        self._signals = 0
        self._command: subprocess.Popen[bytes] | None = None  # of --run
        self._ended = asyncio.Event()
        self._trimmer = Trimmer()

    # Messages about relays

    def report(self, relay: Relay, text: str, *, loud: bool) -> None:
        """Say what happened to a connection; without -v only where it is `loud`."""
        if not loud and not self.settings.verbose:
            return
        name = relay.listener.title
        via = "" if relay.via_address is None else f" by {relay.via_address}"
        line = f"connection {relay.number} from {relay.peer}{via} ({name}): {text}"
        if self.settings.verbose:
            self._report_and_log(line)
        else:
            self._repeats.say_unless_repeated(f"({name}): {text}", line)

    def say_once(self, text: str, relay: Relay) -> None:
        """Say a text that people should know, once; how often it came is said at the end."""
        if self._notes.count_text_and_check_new(text):
            self.report(relay, text, loud=True)

    def _report_and_log(self, text: str) -> None:
        self.env.report(f"kw: {text}")
        if self.log_queue is not None:
            self.log_queue.log_event(0, text, now_ns())

    def _say_lines(self, lines: list[str]) -> None:
        for line in lines:
            self._report_and_log(line)

    def pause(self, paused: bool) -> None:
        """Stop reading from all connections, or read on, as the log asks for it."""
        self.paused = paused
        for relay in self.relays.values():
            relay.pause_both_sides(paused)

    # Life

    def bind_listeners(self) -> None:
        """Open the listeners of bootstrap and of all known nodes. Raises Failure."""
        if self.settings.metrics is not None:
            self._told = listen_for_metrics(self.settings.metrics)
        for base in list_port_bases(self.settings.port_base):
            self._ports.base = base
            try:
                self._open_listeners()
                return
            except BaseException as error:
                for _, sock in self._sockets:
                    sock.close()
                self._sockets.clear()
                if not isinstance(error, Failure) or self.settings.port_base:
                    if self._told is not None:
                        self._told.close()
                    raise
        raise Failure(f"no range of ports is free from {FIRST_BASE} on: give --port-base N")

    def _open_listeners(self) -> None:
        self.listeners.open_bootstrap(self.settings.config.servers)
        for node in self._found.nodes.values():
            self.listeners.open_node(node.id, node.address, node.rack)

    async def serve_until_signal(self) -> int:
        """Serve until a signal, then drain; the exit code. `bind` comes before."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._report_defect)
        if self.log_queue is not None:
            self.log_queue.attach(loop)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._handle_signal, number)
        sockets, self._sockets = self._sockets, []
        for listener, sock in sockets:
            await self._serve_listener(listener, sock)
        if self._told is not None and self.metrics is not None:
            told = partial(MetricsConnection, self.metrics.format_text)
            self._telling = await loop.create_server(told, sock=self._told)
        if self.settings.script_and_control is not None:
            await self.settings.script_and_control.serve(
                self.relays.values, lambda: self.listeners.all_listeners, self.stop
            )
        self._report_start()
        self._run_periodic_work()
        self._reload_changed_rules()
        code = await self._wait_for_end()
        await self._drain_connections()
        return Exit.INTERRUPTED if self._signals > 1 else code

    async def _wait_for_end(self) -> int:
        """Wait for a signal, or run the command of --run to its end; the exit code."""
        if self.settings.run is None:
            await self._ended.wait()
            return Exit.DONE
        assert self.listeners.boot is not None
        bootstrap = format_address(self.listeners.boot.address)
        self._command = command = start_user_command(self.settings.run, bootstrap, self.env.variables)
        while (code := command.poll()) is None:
            await asyncio.sleep(_LOOK_S)
        self._command = None
        self._signals = 0
        self._ended.set()
        return exit_code_of(code)

    def _run_periodic_work(self) -> None:
        self._trimmer.trim_if_grown()
        self._repeats.say_due_counts()
        self._cut_stalled_clients()
        asyncio.get_running_loop().call_later(TRIM_S, self._run_periodic_work)

    def _reload_changed_rules(self) -> None:
        """Reload files of fault rules that have changed, now and again every `_RULES_S`."""
        rules = self.settings.rules
        if rules is not None and not self._ended.is_set():
            rules.read_changed_files(self._report_and_log)
            asyncio.get_running_loop().call_later(_RULES_S, self._reload_changed_rules)

    def _cut_stalled_clients(self) -> None:
        """Cut off clients that do not read the answers they have room for, while other clients wait for room."""
        for relay in list(self.relays.values()):
            link = relay.client.transport
            if (
                link is not None
                and relay.room.is_stalled(link.get_write_buffer_size())
                and self.shared_memory.has_waiters
            ):
                relay.end_connection(
                    "the client reads nothing, and its answers fill memory that others need", loud=True
                )
                relay.client.reset()

    def stop(self) -> None:
        """End the proxy as the first SIGINT or SIGTERM does."""
        self._handle_signal()

    def _report_start(self) -> None:
        assert self.listeners.boot is not None
        boot = format_address(self.listeners.boot.address)
        for line in format_listeners(self.listeners.all_listeners):
            self.env.report(line)
        settings = self.settings
        if self._found.remark:
            self._report_and_log(self._found.remark)
        if settings.version_decider is not None:
            self._say_lines(settings.version_decider.served.format_start_lines(self._found.offered))
        for line in settings.tls.format_client_settings() if settings.tls is not None else []:
            self.env.report(line)
        if settings.rules is not None:
            self._say_lines(settings.rules.format_start_lines())
        for line in settings.script_and_control.format_start_lines() if settings.script_and_control is not None else []:
            self.env.report(line)
        if self._told is not None:
            self.env.report(f"metrics      http://{format_address(self._told.getsockname()[:2])}/metrics")
        if self.log_queue is not None:
            self.log_queue.log_listeners(boot, list_listener_rows(self.listeners.all_listeners), now_ns())
        self.env.report(f"bootstrap.servers={boot}      (Ctrl-C drains and ends; again: at once)")
        self.env.report(f"ready {boot}")

    def _serve_when_loop_runs(self, listener: Listener, sock: socket.socket) -> None:
        """Serve a socket that listens already, as soon as an event loop runs."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._sockets.append((listener, sock))
            return
        task = loop.create_task(self._serve_listener(listener, sock))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _serve_listener(self, listener: Listener, sock: socket.socket) -> None:
        self._accepting[listener] = Acceptor(
            sock,
            partial(self._make_asyncio_server, listener),
            partial(self._is_broker_reachable, listener),
            lambda text, more: self._repeats.say_unless_repeated(
                f"{listener.title}: {text}", f"{listener.title}: {text}{more}"
            ),
            partial(self._set_listening_metric, listener),
        )
        await self._accepting[listener].begin_accepting()

    async def _make_asyncio_server(self, listener: Listener, sock: socket.socket) -> asyncio.Server | AcceptingServer:
        tls, heads = self.settings.tls, self.settings.heads
        if tls is None and heads is None:
            factory = partial(self._make_relay, listener)
            return await asyncio.get_running_loop().create_server(factory, sock=sock, backlog=BACKLOG)

        async def prepare(link: socket.socket, peer: Address) -> Factory | None:
            head = NO_HEAD if heads is None else await heads.receive_head(link, peer)
            return None if head is None else partial(self._make_relay, listener, head)

        return AcceptingServer(
            sock,
            lambda: None if tls is None else tls.context_for_next_connection,
            prepare,
            self._report_refused_client,
            timeout_s=_GREETING_S,
        )

    # Brokers that do not answer

    def end_relay_without_broker(self, relay: Relay, reached: Reached) -> None:
        """End a relay that no broker took, and refuse further clients of its listener until a broker answers."""
        said = [*reached.failures, *reached.paused]
        for text in reached.paused:
            self.say_once(text, relay)
        accepting = self._accepting.get(relay.listener)
        if accepting is not None and not self._signals and accepting.begin_refusing():
            said.append("clients are refused until a broker answers")
        relay.client.reset()  # looks like the refusal that later clients get
        relay.end_connection("; ".join(said), loud=bool(reached.failures))

    def is_refusing(self, listener: Listener) -> bool:
        """Whether the listener refuses clients, so that one that was accepted all the same is to be turned away."""
        return listener in self._accepting and self._accepting[listener].is_refusing

    async def _is_broker_reachable(self, listener: Listener) -> bool:
        """Whether a broker of the listener takes a connection (with TLS where configured), which is closed again."""
        made: list[asyncio.BaseTransport] = []

        class Probe(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                made.append(transport)

        reached = await dial_first_reachable(
            self.listeners.find_brokers_behind(listener), self.dialler, self.backoff, Probe
        )
        for transport in made:
            transport.close()
        return reached.target is not None

    def _set_listening_metric(self, listener: Listener, let_in: bool) -> None:
        if self.metrics is not None:
            self.metrics.get_or_make_meter(listener).listening = let_in

    def _make_relay(self, listener: Listener, head: ReceivedHead = NO_HEAD) -> SocketHalf:
        self._count += 1
        return Relay(self, listener, self._count, head).client

    def _report_refused_client(self, peer: str, error: BaseException) -> None:
        """Say why a client did not get as far as its first request: its PROXY head, or its TLS handshake."""
        if self.metrics is not None:
            self.metrics.refused += 1
        if isinstance(error, Failure):
            text = f"refused: {error.text}"
        elif self.settings.tls is None:
            text = "refused: it reset the connection inside its PROXY head"
        else:
            text = f"refused: the client {self.settings.tls.explain_failed_handshake(error)}"
        if self._notes.count_text_and_check_new(
            f"connection from {peer.rpartition(':')[0]} {text}"
        ):  # clients try again and again
            self._report_and_log(f"connection from {peer} {text}")

    def make_login(self, relay: Relay, address: Address) -> BrokerLogin | None:
        """The proxy's own login for a connection to the broker at `address`; None where it has none."""
        if self._logins is None:
            return None
        return BrokerLogin(relay, address, self.settings.config, self._logins, self.backoff)

    def _handle_signal(self, number: int = signal.SIGTERM) -> None:
        self._signals += 1
        if self._command is not None and self._signals == 1:
            self._command.send_signal(number)  # the command decides how to end
            return
        self._ended.set()
        if self._signals > 1:
            if self._command is not None:
                self._command.kill()
            self._abort_connections()

    async def _drain_connections(self) -> None:
        """Take no new connections and requests; end when all answers are sent, or the time is up."""
        if self.settings.script_and_control is not None:
            self.settings.script_and_control.release_held()
        await asyncio.gather(*self._starting)
        for each in self._accepting.values():
            each.close()
        if self._telling is not None:
            self._telling.close()
        if not self._drain_and_check_idle():
            self._report_and_log(f"waiting for answers to {self._count_in_flight()} requests (Ctrl-C: at once)")
        end = time.monotonic() + self.settings.drain_s
        while not self._drain_and_check_idle() and self._signals < 2:
            if time.monotonic() > end:
                self._report_and_log(f"gave up on {self._count_in_flight()} unanswered requests")
                break
            await asyncio.sleep(_LOOK_S)
        # Answers that were sent may still be in buffers.
        while self.relays and time.monotonic() < end and self._signals < 2:
            await asyncio.sleep(_LOOK_S)
        self._abort_connections()
        await asyncio.sleep(0)
        if not self.settings.quiet:
            self._repeats.finish()
            self._notes.say_repeats(self._report_and_log)
            rules = self.settings.rules
            faults = rules.faults if rules is not None else None
            for decider in (self.settings.version_decider, faults, self.settings.script_and_control):
                self._say_lines(decider.format_closing_lines() if decider is not None else [])

    def _drain_and_check_idle(self) -> bool:
        over = [relay.drain_requests() for relay in self.relays.values()]
        return all(over)

    def _count_in_flight(self) -> int:
        return sum(relay.core.in_flight for relay in self.relays.values())

    def _abort_connections(self) -> None:
        for relay in list(self.relays.values()):
            relay.abort_connection()

    def _report_defect(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        text = f"{context.get('message', 'defect')}: {error!r}" if error else str(context.get("message"))
        if isinstance(error, OSError) and "accept" in str(context.get("message")):
            text = f"cannot take more connections: {error.strerror} (ulimit -n)"
        self._report_and_log(text)
        if self.env.debug and error is not None:
            import traceback

            for line in "".join(traceback.format_exception(error)).splitlines():
                self.env.report(line)


def raise_open_files_limit() -> None:
    """Raise the limit of open files as far as the system allows: a connection takes two."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def find_loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The factory of uvloop's event loop; None where uvloop is not installed."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def serve_proxy(proxy: Proxy) -> int:
    """Bind the proxy's listeners and run it to its end; the exit code. Raises Failure."""
    raise_open_files_limit()
    set_malloc_thresholds()
    proxy.bind_listeners()
    with asyncio.Runner(loop_factory=find_loop_factory()) as runner:
        return runner.run(proxy.serve_until_signal())
