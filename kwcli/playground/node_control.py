"""Nodes of a running playground: listed, stopped, killed, started, paused, also by another process."""

from __future__ import annotations

import json
import os
import select
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from kwcli.playground.playground_cluster import Cluster
from kwcli.playground.temp_dirs import find_playgrounds_folder
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.run_environment import Environment

__all__ = ["ACTIONS", "SOCKET", "VARIABLE", "NodeControlServer", "ask_playground", "run_node_action"]

# The variable of --run's commands with the name of the playground's folder.
VARIABLE: Final = "KW_PLAYGROUND"
_LOOK_S: Final = 0.1
# What a restart is made of; every other action is one step.
_STEPS: Final[Mapping[str, tuple[str, ...]]] = {"restart": ("stop", "start")}
# Step → the states of its nodes when it is done.
_AFTER: Final = {"stop": ("down",), "kill": ("down",), "start": ("up",), "pause": ("paused",)}

State = dict[str, Any]


def run_node_action(
    env: Environment, action: str, numbers: Sequence[int], *, port: int | None, timeout_s: float, output: str
) -> Exit:
    """Have a playground do an action with nodes, wait until it is done, print all nodes. Raises Failure."""
    folder = _find_playground_folder(env, port)
    until = env.monotonic() + timeout_s
    states = _ask_for_states(folder, "list", [])
    for step in _STEPS.get(action, (action,)):
        down = [each["node"] for each in states if each["state"] == "down"]
        wanted = [number for number in numbers if action != "restart" or step != "stop" or number not in down]
        states = _ask_for_states(folder, step, wanted)
        while (late := _find_late_nodes(states, step, wanted)) and env.monotonic() < until:
            time.sleep(_LOOK_S)
            states = _ask_for_states(folder, "list", [])
        if late:
            _print_node_states(env, states, output)
            raise Failure(_explain_late_nodes(step, late, timeout_s), Exit.TIMEOUT)
    _print_node_states(env, states, output)
    return Exit.DONE


def _find_late_nodes(states: Sequence[State], step: str, numbers: Sequence[int]) -> list[State]:
    """The nodes for which a step is not done yet. Raises Failure for a node that has ended instead of starting."""
    late = []
    for state in states:
        if state["node"] in numbers and step in _AFTER and state["state"] not in _AFTER[step]:
            if step == "start" and state["state"] == "down":
                raise Failure(f"node {state['node']} {state['why']}")
            late.append(state)
    return late


def _explain_late_nodes(step: str, late: Sequence[State], timeout_s: float) -> str:
    names = " and ".join(f"node {state['node']}" for state in late)
    if step == "start":
        return f"{names} does not answer within {timeout_s:.3g} s; do enough of the others run for a quorum?"
    return f"{names} has not ended within {timeout_s:.3g} s; kill does not wait"


def _ask_for_states(folder: Path, action: str, numbers: Sequence[int]) -> list[State]:
    try:
        answer = ask_playground(folder, action, list(numbers))
    except (OSError, ValueError) as error:
        raise Failure(f"the playground {folder.name} does not answer: {error}", Exit.UNREACHABLE) from None
    if "error" in answer:
        raise Failure(str(answer["error"]), Exit.USAGE)
    states: list[State] = answer["nodes"]
    return states


def _find_playground_folder(env: Environment, port: int | None) -> Path:
    """The folder of the playground that has this port, that VARIABLE names, or that runs alone. Raises Failure."""
    home = find_playgrounds_folder(env.variables)
    named = env.variables.get(VARIABLE)
    if named and port is None and "/" not in named and (home / named / SOCKET).exists():
        return home / named
    running = dict(_find_running_playgrounds(home))
    if not running:
        text = "no playground with nodes of its own runs (the mock's brokers are one process)"
        raise Failure(text, Exit.UNREACHABLE)
    if port is not None:
        running = {folder: ports for folder, ports in running.items() if port in ports}
        if not running:
            raise Failure(f"no playground has port {port}", Exit.USAGE)
    if len(running) > 1:
        first = ", ".join(str(min(ports)) for ports in running.values())
        raise Failure(f"{len(running)} playgrounds run: choose one by --port (they have {first})", Exit.USAGE)
    return next(iter(running))


def _find_running_playgrounds(home: Path) -> Iterator[tuple[Path, list[int]]]:
    """The folders of playgrounds that answer, and the ports that clients use."""
    for folder in sorted(home.glob(f"*-*/{SOCKET}")) if home.is_dir() else []:
        try:
            nodes = ask_playground(folder.parent, "list", [])["nodes"]
        except (OSError, ValueError, KeyError):
            continue  # it was killed, or is just ending
        yield folder.parent, [port for node in nodes for port in _select_client_ports(node).values()]


def _select_client_ports(state: State) -> dict[str, int]:
    """A node's listeners for clients, with their ports; the controller's own where there is no other."""
    ports: dict[str, int] = state["ports"]
    return {name: port for name, port in ports.items() if name not in ("INTERNAL", "CONTROLLER")} or ports


def _format_node_states_as_text(states: Sequence[State]) -> str:
    lines = []
    for state in states:
        process = f"process {state['pid']}" if state["pid"] else state["why"]
        ports = ", ".join(f"{name.lower()} {port}" for name, port in _select_client_ports(state).items())
        lines.append(f"node {state['node']}  {state['state']:8}  {ports}  {process}\n")
    return "".join(lines)


_FORMS: Final[Mapping[str, Callable[[Sequence[State]], str]]] = {
    "text": _format_node_states_as_text,
    "ndjson": lambda states: "".join(json.dumps(state) + "\n" for state in states),
    "json": lambda states: json.dumps(list(states)) + "\n",
}


def _print_node_states(env: Environment, states: Sequence[State], output: str) -> None:
    env.stdout.write(_FORMS[output](states).encode())
    env.stdout.flush()


# Requests about nodes, by a socket in the cluster's folder


SOCKET: Final = "control"
# Actions on a node → the words for them in messages.
ACTIONS: Final = {
    "stop": "is asked to stop",
    "kill": "is killed",
    "start": "is started",
    "pause": "is paused",
    "unpause": "goes on",
}
_LINE_MAX: Final = 1 << 16
_TALK_S: Final = 5.0  # for one request, which comes at once
# The most bytes of a socket's path (sockaddr_un), whose last byte is 0: macOS has the smallest limit.
_PATH_MAX: Final = 103


class NodeControlServer:
    """Serves requests about nodes as long as its `with` block; `say` gets a line for every action that was done.

    A request and its answer are one JSON object in a line each. Every request is answered at once: a client that waits
    until a node is up, or gone, asks again. All of it happens in the thread that started the cluster, since the system
    ends a node with the thread that started it.
    """

    def __init__(self, folder: Path, cluster: Cluster, say: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._say = say
        self._path = folder / SOCKET
        self._down: set[int] = set()  # nodes that are known not to run
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with _shorten_socket_path(folder) as place:
                self._listener.bind(place)  # in a folder that is its owner's alone
            self._listener.listen()
        except OSError as error:  # a path that is too long, a file system without sockets
            say(f"kw playground node cannot work here: {self._path}: {error.strerror or error}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._listener.close()
        self._path.unlink(missing_ok=True)

    def serve(self, timeout_s: float) -> None:
        """Wait up to `timeout_s` for a request, and serve it."""
        if not self._path.exists():
            time.sleep(timeout_s)
            return
        if not select.select([self._listener], [], [], timeout_s)[0]:
            return
        peer, _ = self._listener.accept()
        with peer, suppress(OSError):
            peer.settimeout(_TALK_S)
            line = _read_line(peer)
            peer.sendall(json.dumps(self._answer_request(line)).encode() + b"\n")

    def take_newly_ended_nodes(self) -> list[int]:
        """The nodes that have ended since the last call, and not by a request."""
        gone = [node.id for node in self._cluster.nodes if not self._cluster.is_node_running(node.id)]
        fresh = [number for number in gone if number not in self._down]
        self._down |= set(gone)
        return fresh

    def _answer_request(self, line: bytes) -> dict[str, Any]:
        try:
            asked = json.loads(line)
            action, numbers = asked["action"], [int(number) for number in asked["nodes"]]
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return {"error": "no request"}
        known = {node.id for node in self._cluster.nodes}
        strange = [number for number in numbers if number not in known]
        if strange:
            return {"error": f"there is no node {strange[0]} (there are {', '.join(map(str, sorted(known)))})"}
        if action in ACTIONS:
            for number in numbers:
                if problem := self._run_action(action, number):
                    return {"error": problem}
        return {"nodes": [self._describe_state_of_node(node.id) for node in self._cluster.nodes]}

    def _run_action(self, action: str, number: int) -> str | None:
        """Do an action on a node; returns why it cannot be done, else None."""
        cluster = self._cluster
        running = cluster.is_node_running(number)
        if action == "start":
            if running:
                return f"node {number} runs already"
            cluster.start_node(number, wait=False)
            self._down.discard(number)
        elif not running:
            return f"node {number} does not run"
        elif action == "pause":
            cluster.pause_node(number)
        elif action == "unpause":
            cluster.unpause_node(number)
        else:
            self._down.add(number)
            if action == "kill":
                cluster.kill_node(number)
            else:
                cluster.request_node_stop(number)
        self._say(f"node {number} {ACTIONS[action]}")
        return None

    def _describe_state_of_node(self, number: int) -> dict[str, Any]:
        node = self._cluster.find_node_plan(number)
        state = self._cluster.find_node_state(number)
        pid = None if state == "down" else self._cluster.find_process_id_of_node(number)
        return {
            "node": number,
            "state": state,
            "pid": pid,
            "ports": node.ports,
            "why": self._cluster.explain_node_end(number),
        }


def ask_playground(folder: Path, action: str, numbers: list[int]) -> dict[str, Any]:
    """The answer of the playground in this folder. Raises OSError where nobody listens, ValueError for nonsense."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(_TALK_S * 6)
        with _shorten_socket_path(folder) as place:
            link.connect(place)
        link.sendall(json.dumps({"action": action, "nodes": numbers}).encode() + b"\n")
        answer = json.loads(_read_line(link))
    if not isinstance(answer, dict):
        raise ValueError("no answer of a playground")
    return answer


def _read_line(link: socket.socket) -> bytes:
    data = b""
    while b"\n" not in data and len(data) < _LINE_MAX:
        more = link.recv(4096)
        if not more:
            break
        data += more
    return data


@contextmanager
def _shorten_socket_path(folder: Path) -> Iterator[str]:
    """A path of the socket that fits into an address, valid while the block lasts."""
    path = str(folder / SOCKET)
    if len(os.fsencode(path)) <= _PATH_MAX or not os.path.isdir("/proc/self/fd"):
        yield path
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{SOCKET}"
    finally:
        os.close(handle)
