"""Recordings in, their cluster at addresses of this machine served: all that `kw mock` does."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from decoders.mocking.cluster import Node, Refusal
from decoders.mocking.handlers import make_brokers
from decoders.mocking.recording import Recording, RedactedRecording
from kwcli.env import Environment, Exit, Failure, Settings
from kwcli.mock.server import MockServer
from kwcli.net.addresses import shown
from kwcli.net.listening import listening
from kwcli.options import CaptureOptions, FilterOptions
from kwcli.sniff.fold_renderer import FoldRenderer
from kwcli.sniff.run import Sniffing, SniffView

if TYPE_CHECKING:
    from decoders.mocking.broker import Answered
    from decoders.schema.model import Side

__all__ = ["MockPlan", "run_mock"]

_PORT_MAX: Final = 65535


class MockPlan(NamedTuple):
    """What the command line says. `log` gets each exchange as it is answered."""

    capture: CaptureOptions
    port: int
    bind: str
    advertise: str | None
    calm: bool
    quiet: bool


def run_mock(env: Environment, plan: MockPlan, log: Callable[[Answered], None] | None = None) -> Exit:
    """Serve until a signal; the exit code. Raises Failure."""
    if plan.advertise is None and _is_everywhere(plan.bind):
        raise Failure(
            f"--bind {plan.bind} listens on every address: --advertise HOST says which clients use", Exit.USAGE
        )
    recording = read_recording(env, plan)
    recorded = recording.nodes()
    if not recorded:
        raise Failure("no broker answers in the recording: there is nothing to stand for")
    nodes, sockets = bind_nodes(recorded, plan)
    try:
        cluster = recording.cluster(nodes, calm=plan.calm)
    except Refusal as refusal:
        for sock in sockets.values():
            sock.close()
        raise Failure(f"the recording is too large for a mock: {refusal.text}") from None
    if not plan.quiet:
        for line in describe(recording, recorded, nodes, plan):
            env.say(line)
    return MockServer(env, make_brokers(cluster, log), sockets, quiet=plan.quiet).serve(
        f"ready {shown((nodes[0].host, nodes[0].port))}"
    )


def _is_everywhere(bind: str) -> bool:
    try:
        return ipaddress.ip_address(bind).is_unspecified
    except ValueError:
        return not bind


def read_recording(env: Environment, plan: MockPlan) -> Recording:
    """What the inputs say. Raises Failure where one cannot be read, or has had its records taken out."""
    recording = Recording()
    fold: Any = recording
    renderer = _Reader([fold], "a shorter recording has fewer")
    sniffing = Sniffing(
        env,
        Settings(quiet=True),
        plan.capture,
        FilterOptions(),
        view=SniffView(_no_fields, renderer.open),
    )
    try:
        code = sniffing.run().exit_code()
    except RedactedRecording as problem:
        raise Failure(
            f"the recording has not all of its records, so no broker can be made of it: {problem}; give a capture, "
            "or NDJSON written with --records"
        ) from None
    if code == Exit.INTERRUPTED:
        raise KeyboardInterrupt
    if code != Exit.DONE and not recording.exchanges:
        raise Failure("the recording could not be read")
    return recording


def _no_fields(key: int, side: Side) -> frozenset[str]:  # noqa: ARG001  # as all needs
    """No single field is looked at: whole bodies are read."""
    return frozenset()


class _Reader(FoldRenderer):
    """Writes nothing."""

    def open(self, write: Any) -> _Reader:  # noqa: ARG002  # as all renderers
        """Nothing is written."""
        return self

    def close(self) -> None:
        """Nothing is left."""


def bind_nodes(recorded: Sequence[Node], plan: MockPlan) -> tuple[list[Node], dict[int, socket.socket]]:
    """One port of this machine for each node, and the socket that has it. Raises Failure."""
    host = plan.advertise or plan.bind
    if plan.port + len(recorded) - 1 > _PORT_MAX:
        raise Failure(
            f"--port {plan.port}: {len(recorded)} nodes need ports up to {plan.port + len(recorded) - 1}", Exit.USAGE
        )
    nodes, sockets = [], {}
    try:
        for index, node in enumerate(recorded):
            sock = listening(plan.bind, plan.port + index if plan.port else 0, "--port")
            sockets[node.id] = sock
            nodes.append(node._replace(host=host, port=sock.getsockname()[1]))
    except BaseException:
        for sock in sockets.values():
            sock.close()
        raise
    return nodes, sockets


def describe(recording: Recording, recorded: Sequence[Node], nodes: Sequence[Node], plan: MockPlan) -> list[str]:
    """What people are told at the start."""
    lines = [
        f"node {node.id}: recorded {shown((old.host, old.port))}, here {shown((node.host, node.port))}"
        for old, node in zip(recorded, nodes, strict=True)
    ]
    lines.append(f"bootstrap.servers={','.join(shown((node.host, node.port)) for node in nodes)}")
    if not _is_loopback(plan.bind):
        lines.append(f"--bind {plan.bind}: the recorded data is served to whoever connects")
    if recording.mechanisms:
        lines.append(f"logins by {', '.join(recording.mechanisms)} are taken from anybody and checked by nobody")
    if recording.untaken_mechanisms:
        names = ", ".join(recording.untaken_mechanisms)
        lines[-1:] = [f"logins by {names} are refused: there a broker must know the password as well"] + (
            [f"logins by {', '.join(taken)} are taken from anybody and checked by nobody"]
            if (taken := [name for name in recording.mechanisms if name not in recording.untaken_mechanisms])
            else []
        )
    count = sum(map(len, recording.errors.values()))
    if count:
        left = "left out" if plan.calm else "given again, each once; --calm leaves them out"
        lines.append(f"{count:,} recorded errors are {left}")
    if recording.unplaced:
        lines.append(f"{recording.unplaced:,} batches are left out: no answer says which offsets they got")
    if recording.unread:
        what = ", ".join(f"{count:,} of {api}" for api, count in recording.unread.most_common(5))
        lines.append(f"messages that could not be read are left out: {what}")
    return lines


def _is_loopback(bind: str) -> bool:
    try:
        return ipaddress.ip_address(bind).is_loopback
    except ValueError:
        return bind == "localhost"
