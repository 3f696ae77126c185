"""Nodes stopped, killed, started and paused while a playground runs: the commands, their waiting, their end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kwcli.playground.broker_properties import NodePlan
from kwcli.playground.java_process import Process
from kwcli.playground.node_control import SOCKET, NodeControlServer, ask_playground
from kwcli.playground.playground_cluster import Cluster
from kwcli.playground.temp_dirs import PlaygroundFolder
from kwcli.run_environment import Exit
from tests.broker.fixture import needs_brokers
from tests.cli.worlds import Outcome, kw, world
from tests.playground.rounds import Round

# Ends at SIGTERM with Java's exit code; any input would end it with an error.
PROGRAM = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(143)); time.sleep(60)"


class Sleepers(Cluster):
    """A cluster of processes that sleep; all else is as with brokers."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder
        self.program = PROGRAM
        self._processes = {}
        places = range(1, count + 1)
        self.nodes = [NodePlan(n, folder, "127.0.0.1", {"SSL": 9000 + n}) for n in places]
        for number in places:
            self.start_node(number, wait=False)

    def start_node(self, number: int, *, wait: bool = True) -> None:
        assert not wait
        self._processes[number] = Process([sys.executable, "-c", self.program], self.folder / "output.log")


class Ground:
    """A playground's folder with a cluster of sleeping processes, its requests served by a thread."""

    def __init__(self, state: Path, count: int = 3) -> None:
        self.state = state
        home = state / "kw" / "playgrounds"
        self.scratch = PlaygroundFolder(home)
        self.folder = self.scratch.folder
        self.said: list[str] = []
        self._over = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(count,))
        self._thread.start()
        assert self._ready.wait(20)

    def _serve(self, count: int) -> None:  # the system ends a process with the thread that started it
        self.cluster = Sleepers(self.folder, count)
        with NodeControlServer(self.folder, self.cluster, self.said.append) as self.control:
            self._ready.set()
            while not self._over.is_set():
                self.control.serve(0.01)
        self.cluster.kill()

    def node(self, *words: str, variables: dict[str, str] | None = None) -> Outcome:
        env = world(variables={"XDG_STATE_HOME": str(self.state), **(variables or {})})
        return kw("playground", "node", *words, env=env)

    def end(self) -> None:
        self._over.set()
        self._thread.join()
        with self.scratch:
            pass


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    # A path that is too long for the address of a socket.
    made = Ground(tmp_path / ("long" * 25))
    yield made
    made.end()


def states(outcome: Outcome) -> Sequence[str]:
    assert (outcome.code, outcome.err) == (0, ""), outcome
    return [line.split()[2] for line in outcome.out.splitlines()]


def test_nodes_go_and_come_back(ground: Ground) -> None:
    assert states(ground.node()) == ["up", "up", "up"]
    assert states(ground.node("kill", "2")) == ["up", "down", "up"]
    assert "was killed (SIGKILL)" in ground.node("list").out
    assert states(ground.node("stop", "1")) == ["down", "down", "up"]
    assert "was stopped (SIGTERM)" in ground.node().out
    assert states(ground.node("start", "1", "2")) == ["up", "up", "up"]
    assert states(ground.node("pause", "3")) == ["up", "up", "paused"]
    assert states(ground.node("unpause", "3")) == ["up", "up", "up"]
    assert ground.said == [
        "node 2 is killed",
        "node 1 is asked to stop",
        "node 1 is started",
        "node 2 is started",
        "node 3 is paused",
        "node 3 goes on",
    ]


@pytest.mark.long
def test_a_restart_is_another_process_also_of_one_that_is_down_or_hangs(ground: Ground) -> None:
    before = [json.loads(line)["pid"] for line in ground.node("list", "-o", "ndjson").out.splitlines()]
    ground.node("kill", "1")
    ground.node("pause", "2")
    after = json.loads(ground.node("restart", "1", "2", "-o", "json").out)
    assert [node["state"] for node in after] == ["up", "up", "up"]
    assert [node["pid"] == pid for node, pid in zip(after, before, strict=True)] == [False, False, True]


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("kill",), "kill needs the ID of a node: list shows them; see kw playground node --help"),
        (("list", "1"), "list takes no ID; see kw playground node --help"),
        (("stop", "9"), "there is no node 9 (there are 1, 2, 3)"),
        (("start", "1"), "node 1 runs already"),
        (("list", "--port", "9999"), "no playground has port 9999"),
    ],
)
def test_what_cannot_be_done(ground: Ground, words: tuple[str, ...], says: str) -> None:
    assert ground.node(*words) == (Exit.USAGE, "", f"kw: {says}\n")


def test_what_is_down_is_not_stopped_again(ground: Ground) -> None:
    ground.node("kill", "2")
    for action in ("stop", "kill", "pause", "unpause"):
        assert ground.node(action, "2") == (Exit.USAGE, "", "kw: node 2 does not run\n")


def test_a_node_that_ends_instead_of_coming_up_says_so(ground: Ground) -> None:
    ground.node("kill", "2")
    ground.cluster.program = "print('no room\\nfor\\n a log'); raise SystemExit(3)"
    outcome = ground.node("start", "2")
    while "down" not in ground.node().out:  # the node may be asked for before it has ended
        pass
    assert "node 2  down      ssl 9002  ended with exit code 3: no room for a log\n" in ground.node().out
    assert outcome.code in (0, 1)
    if outcome.code:
        assert outcome.err == "kw: node 2 ended with exit code 3: no room for a log\n"


def test_only_who_ended_by_itself_is_missed_and_once(ground: Ground) -> None:
    ground.node("kill", "1")
    process = ground.cluster._processes[3]
    process._child.send_signal(signal.SIGKILL)
    process.wait()
    assert ground.control.take_newly_ended_nodes() == [3]
    assert ground.control.take_newly_ended_nodes() == []
    assert ground.cluster.explain_node_end(3) == "was killed (SIGKILL)"
    ground.node("start", "3")
    ground.cluster._processes[3].kill()
    assert ground.control.take_newly_ended_nodes() == [3]


def test_of_several_one_is_said(ground: Ground) -> None:
    other = Ground(ground.state, 1)
    try:
        found = ground.node()
        assert (found.code, found.out) == (Exit.USAGE, "")
        assert found.err == "kw: 2 playgrounds run: choose one by --port (they have 9001, 9001)\n"
        assert len(states(ground.node("--port", "9003"))) == 3
        assert len(states(ground.node(variables={"KW_PLAYGROUND": other.folder.name}))) == 1
    finally:
        other.end()


def test_where_none_runs(tmp_path: Path) -> None:
    variables = {"XDG_STATE_HOME": str(tmp_path)}
    said = "kw: no playground with nodes of its own runs (the mock's brokers are one process)\n"
    assert kw("playground", "node", env=world(variables=variables)) == (Exit.UNREACHABLE, "", said)
    PlaygroundFolder(tmp_path / "kw" / "playgrounds")
    assert kw("playground", "node", "kill", "1", env=world(variables=variables)) == (Exit.UNREACHABLE, "", said)


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "line", [b"\n", b"{}\n", b"[1]\n", b'{"action":"kill","nodes":["x"]}\n', b"\xff" * 70_000, b"[" * 60_000 + b"\n"]
)
def test_nonsense_does_no_harm(ground: Ground, line: bytes) -> None:
    import socket

    from kwcli.playground.node_control import _shorten_socket_path

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link, _shorten_socket_path(ground.folder) as place:
        link.connect(place)
        link.sendall(line)
        assert json.loads(link.recv(4096)) == {"error": "no request"}
    assert states(ground.node()) == ["up", "up", "up"]


def test_the_socket_goes_with_the_playground(ground: Ground) -> None:
    assert (ground.folder / SOCKET).exists()
    ground.end()
    assert not ground.folder.exists()
    with pytest.raises(OSError, match="No such file"):
        ask_playground(ground.folder, "list", [])


@pytest.mark.broker
@pytest.mark.full
@needs_brokers
def test_a_node_that_is_killed_ends_all_unless_they_are_to_go_on(tmp_path: Path) -> None:
    for more in ((), ("--keep-going",)):
        ground = Round(tmp_path, "--port", "29592", *more)
        try:
            place = ground.wait_until_ready()
            (node,) = [json.loads(line) for line in ground.kw("playground", "node", "-o", "ndjson").stdout.splitlines()]
            subprocess.run(["kill", "-9", str(node["pid"])], check=True)
            if not more:
                assert ground.wait(30) == 1
                last = ground.said.splitlines()[-1]
                assert last == "kw: node 1 was killed (SIGKILL); with --keep-going the other nodes go on"
                continue
            while "it is down" not in ground.said:
                assert ground.wait_a_little()
            assert "node 1 was killed (SIGKILL): it is down, kw playground node start 1 starts it again" in ground.said
            assert ground.kw("call", "Metadata", "-b", place, "--timeout", "2s").returncode == Exit.UNREACHABLE
            started = ground.kw("playground", "node", "start", "1", "--timeout", "60s")
            assert (started.returncode, started.stderr) == (0, "")
            assert ground.kw("call", "Metadata", "-b", place).returncode == 0
            assert ground.end(signal.SIGINT) == 0
            assert ground.left() == []
        finally:
            ground.end(signal.SIGKILL)
