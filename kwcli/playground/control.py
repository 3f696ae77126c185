"""A running cluster in, requests about its nodes by a socket in its folder served: who is up, stop, kill, start, pause.

A request and its answer are one JSON object in a line each. Everything here is done at once: who wants to know when a
node is up, or gone, asks again. All of it happens in the thread that started the cluster, for the system ends a node
with the thread that started it.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from kwcli.playground.cluster import Cluster

__all__ = ["ACTIONS", "SOCKET", "Control", "ask"]

SOCKET: Final = "control"
# What may be done to a node, and how it is told.
ACTIONS: Final = {
    "stop": "is asked to stop",
    "kill": "is killed",
    "start": "is started",
    "pause": "is paused",
    "unpause": "goes on",
}
_LINE_MAX: Final = 1 << 16
_TALK_S: Final = 5.0  # for one request, which comes at once
# What an address of this kind may have (sockaddr_un), with its last byte 0: macOS has the smallest.
_PATH_MAX: Final = 103


class Control:
    """Listens as long as its `with` block; `say` gets a line for everything that was done, and for who has ended."""

    def __init__(self, folder: Path, cluster: Cluster, say: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._say = say
        self._path = folder / SOCKET
        self._down: set[int] = set()  # of these it is known that they are not running
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with _short(folder) as place:
                self._listener.bind(place)  # in a folder that is its owner's alone
            self._listener.listen()
        except OSError as error:  # a path that is too long, a file system without sockets
            say(f"nodes cannot be stopped one by one here: {self._path}: {error.strerror or error}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._listener.close()
        self._path.unlink(missing_ok=True)

    def serve(self, timeout_s: float) -> None:
        """Do what is asked within this time; return after the first request."""
        if not self._path.exists():
            time.sleep(timeout_s)
            return
        if not select.select([self._listener], [], [], timeout_s)[0]:
            return
        peer, _ = self._listener.accept()
        with peer, suppress(OSError):
            peer.settimeout(_TALK_S)
            line = _line(peer)
            peer.sendall(json.dumps(self._answer(line)).encode() + b"\n")

    def ended(self) -> list[int]:
        """The nodes that have ended since this was asked last, and not because somebody asked for it."""
        gone = [node.id for node in self._cluster.nodes if not self._cluster.running(node.id)]
        fresh = [number for number in gone if number not in self._down]
        self._down |= set(gone)
        return fresh

    def _answer(self, line: bytes) -> dict[str, Any]:
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
                if problem := self._do(action, number):
                    return {"error": problem}
        return {"nodes": [self._told(node.id) for node in self._cluster.nodes]}

    def _do(self, action: str, number: int) -> str | None:
        """What was asked for, or why not."""
        cluster = self._cluster
        running = cluster.running(number)
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
                cluster.ask_to_stop(number)
        self._say(f"node {number} {ACTIONS[action]}")
        return None

    def _told(self, number: int) -> dict[str, Any]:
        node = self._cluster.node(number)
        state = self._cluster.state(number)
        pid = None if state == "down" else self._cluster.pid(number)
        return {"node": number, "state": state, "pid": pid, "ports": node.ports, "why": self._cluster.why_ended(number)}


def ask(folder: Path, action: str, numbers: list[int]) -> dict[str, Any]:
    """Ask the playground in this folder; its answer. Raises OSError where nobody listens, ValueError for nonsense."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(_TALK_S * 6)
        with _short(folder) as place:
            link.connect(place)
        link.sendall(json.dumps({"action": action, "nodes": numbers}).encode() + b"\n")
        answer = json.loads(_line(link))
    if not isinstance(answer, dict):
        raise ValueError("no answer of a playground")
    return answer


def _line(link: socket.socket) -> bytes:
    data = b""
    while b"\n" not in data and len(data) < _LINE_MAX:
        more = link.recv(4096)
        if not more:
            break
        data += more
    return data


@contextmanager
def _short(folder: Path) -> Iterator[str]:
    """A name of the socket that fits into an address, while the block lasts."""
    path = str(folder / SOCKET)
    if len(os.fsencode(path)) <= _PATH_MAX or not os.path.isdir("/proc/self/fd"):
        yield path
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{SOCKET}"
    finally:
        os.close(handle)
