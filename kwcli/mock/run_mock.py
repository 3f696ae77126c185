"""Recordings in; their cluster, served at addresses of this machine by `kw mock`, out."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from decoders.mocking.accept_any_login import UNPROVEN_MECHANISMS
from decoders.mocking.cluster_from_recording import RecordedCluster, RedactedRecording
from decoders.mocking.cluster_state import PASSWORD, MockNode
from decoders.mocking.handler_table import make_brokers
from decoders.mocking.refusal_error import Refusal
from decoders.named_tuple import NamedTuple
from decoders.protocols.make_scram_proofs import HASHES
from kwcli.capture_options import CaptureOptions
from kwcli.mock.mock_server import MockServer
from kwcli.net.listening_sockets import choose_advertised_host, is_loopback, open_listener
from kwcli.net.parse_addresses import format_address
from kwcli.options import FilterOptions
from kwcli.output.output_settings import Settings
from kwcli.proxy.log.start_log_process import start
from kwcli.reading.run_reading import ReadingRun
from kwcli.reading.sinks.filter_sort_and_limit_rows import ReadingView
from kwcli.reading.sinks.fold_renderer import FoldRenderer
from kwcli.run_environment import Environment, Exit, Failure

if TYPE_CHECKING:
    from decoders.schema.api_declaration import Side
    from kwcli.proxy.log.log_options import LogOptions
    from kwcli.proxy.tls.listener_tls_contexts import Inbound
    from kwcli.proxy.tls.listener_tls_options import TlsOptions

__all__ = ["MockPlan", "run_mock"]

_PORT_MAX: Final = 65535


class MockPlan(NamedTuple):
    """The options of `kw mock`."""

    capture: CaptureOptions
    security: TlsOptions
    log: LogOptions
    passwords: dict[str, str]  # by user
    port: int
    bind: str
    advertise: str | None
    calm: bool


def run_mock(env: Environment, plan: MockPlan) -> int:
    """Read the recordings and serve their cluster until a signal; the exit code. Raises Failure."""
    host = choose_advertised_host(plan.bind, plan.advertise)
    log = plan.log.make_plan(env, via="mock")
    tls = _make_inbound(env, plan, host)
    recording = RecordedCluster()
    code = read_recording(env, plan.capture, recording)
    if code != Exit.DONE and not recording.exchanges:
        return code  # errors were reported already
    recorded = recording.list_nodes()
    if not recorded:
        raise Failure("the recording has no answers of brokers, so there is nothing to mock")
    nodes, sockets = bind_nodes(recorded, plan, host)
    with ExitStack() as open_sockets:
        for sock in sockets.values():
            open_sockets.enter_context(sock)
        try:
            cluster = recording.build_cluster(nodes, calm=plan.calm)
        except Refusal as refusal:
            raise Failure(f"the recording is too large for a mock: {refusal.text}") from None
        cluster.passwords = plan.passwords
        brokers = make_brokers(cluster)
        running = None if log is None else start(log, overflow=plan.log.overflow, say=partial(_report_line_of_log, env))
        said = plan.log.shown
        if not said.quiet:
            for line in (
                *format_start_lines(recording, recorded, nodes, plan),
                *(tls.format_client_settings() if tls is not None else ()),
            ):
                env.report(line)
        ready = f"ready {format_address((nodes[0].host, nodes[0].port))}"
        log_queue = running.queue if running is not None else None
        server = MockServer(env, brokers, sockets, tls=tls, log_queue=log_queue, verbose=said.verbose, quiet=said.quiet)
        if running is None or log is None:
            return server.serve(ready)
        running.queue.events = log.events
        return running.run_while_logging(env, lambda: server.serve(ready))


def _report_line_of_log(env: Environment, text: str) -> None:
    env.report(f"kw: {text}")


def _make_inbound(env: Environment, plan: MockPlan, host: str) -> Inbound | None:
    if not plan.security.uses_tls:
        return None
    from kwcli.proxy.tls.listener_tls_contexts import Inbound

    return Inbound(plan.security.build_inbound_settings("mock"), [host, plan.bind], env.variables)


def read_recording(env: Environment, capture: CaptureOptions, recording: RecordedCluster) -> Exit:
    """Read the inputs into `recording`, and report what cannot be read of them; the exit code.

    Raises Failure where records were taken out of an input.
    """
    fold: Any = recording
    renderer = _SilentRenderer([fold], "give a shorter recording")
    sniffing = ReadingRun(
        env,
        Settings(quiet=True),
        capture,
        FilterOptions(),
        view=ReadingView(_need_no_fields, renderer.open),
    )
    try:
        code = sniffing.run().exit_code()
    except RedactedRecording as problem:
        raise Failure(
            f"the recording lacks records that the mock needs: {problem}; give a capture, "
            "or NDJSON written with --records"
        ) from None
    if code == Exit.INTERRUPTED:
        raise KeyboardInterrupt
    return code


def _need_no_fields(key: int, side: Side) -> frozenset[str]:  # noqa: ARG001  # as all needs
    """No fields are needed by themselves: whole bodies are read."""
    return frozenset()


class _SilentRenderer(FoldRenderer):
    """A renderer that writes nothing."""

    def open(self, write: Any) -> _SilentRenderer:  # noqa: ARG002  # as all renderers
        """The renderer itself, which does not use `write`."""
        return self

    def close(self) -> None:
        """Called at the end; nothing is to be done."""


def bind_nodes(
    recorded: Sequence[MockNode], plan: MockPlan, host: str
) -> tuple[list[MockNode], dict[int, socket.socket]]:
    """Bind a port for each node; the nodes at `host` and their ports, and the sockets by node id. Raises Failure."""
    if plan.port + len(recorded) - 1 > _PORT_MAX:
        raise Failure(
            f"--port {plan.port}: {len(recorded)} nodes need ports up to {plan.port + len(recorded) - 1}", Exit.USAGE
        )
    nodes, sockets = [], {}
    try:
        for index, node in enumerate(recorded):
            sock = open_listener(plan.bind, plan.port + index if plan.port else 0, "--port")
            sockets[node.id] = sock
            nodes.append(node._replace(host=host, port=sock.getsockname()[1]))
    except BaseException:
        for sock in sockets.values():
            sock.close()
        raise
    return nodes, sockets


def format_start_lines(
    recording: RecordedCluster, recorded: Sequence[MockNode], nodes: Sequence[MockNode], plan: MockPlan
) -> list[str]:
    """The lines that the mock prints at its start."""
    lines = [
        f"node {node.id}: recorded {format_address((old.host, old.port))}, "
        f"here {format_address((node.host, node.port))}"
        for old, node in zip(recorded, nodes, strict=True)
    ]
    lines.append(f"bootstrap.servers={','.join(format_address((node.host, node.port)) for node in nodes)}")
    if not is_loopback(plan.bind):
        lines.append(f"--bind {plan.bind}: anyone who can connect gets the recorded data")
    lines += _describe_logins(recording)
    count = sum(map(len, recording.errors.values()))
    if count:
        left = "left out" if plan.calm else "given again, each once; --calm leaves them out"
        lines.append(f"{count:,} recorded errors are {left}")
    if recording.unplaced:
        lines.append(f"{recording.unplaced:,} batches are left out: their offsets are unknown without an answer")
    if recording.unread:
        what = ", ".join(f"{count:,} of {api}" for api, count in recording.unread.most_common(5))
        lines.append(f"messages that could not be read are left out: {what}")
    return lines


def _describe_logins(recording: RecordedCluster) -> list[str]:
    lines = []
    unproven = [name for name in recording.mechanisms if name in UNPROVEN_MECHANISMS]
    proven = [name for name in recording.mechanisms if name in HASHES]
    if unproven:
        lines.append(f"logins by {', '.join(unproven)} are accepted from anybody without a check")
    if proven:
        names = ", ".join(proven)
        lines.append(f"logins by {names}: any user, password {PASSWORD}, or that of --password USER=PASSWORD")
    if recording.unsupported_mechanisms:
        names = ", ".join(recording.unsupported_mechanisms)
        lines.append(f"logins by {names} are refused: the mock lacks the broker's key")
    return lines
