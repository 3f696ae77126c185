"""`python -m tests.bench.instructions TREE…`: instructions that this tree and others take, for small differences.

Times of short runs differ by a tenth from run to run on a machine with neighbours, counts of instructions by less than
a percent. valgrind counts them (and makes programs fifty times slower). A TREE is a checkout of another commit, as
`git worktree add ../before COMMIT` makes it; its commands run in the environment of this one. Each case prints the
millions of instructions of every tree, and the ratio to the first TREE; of a request for the proxy, and of an exchange
for the doctor, thousands.

What is not counted: system calls, waiting, and how well the processor's caches are used.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench import volume
from tests.bench.fake_broker import LOADS
from tests.bench.processes import child, first_port
from tests.calling.scripted import Node, metadata
from tests.proxy.hidden import port_base

ROOT: Final = Path(__file__).resolve().parent.parent.parent
TOUR: Final = str(ROOT / "captures" / "tour.pcapng")
THREE_NODES: Final = str(ROOT / "captures" / "three-nodes.pcapng.zst")
NO_CONNECTION: Final = str(ROOT / "captures" / "faults" / "no-connection.pcap.zst")
# Captures that are made: bytes, profile, connections.
CAPTURES: Final = {
    "small": (6_000_000, "small", 40),
    "blend": (12_000_000, "blend", 40),
    "mixed": (3_000_000, "mixed", 40),
    "readings": (3_000_000, "readings", 40),
    "many": (3_000_000, "blend", 4000),
}
# The part of these bytes that the shorter capture has by which the work of an exchange is told from that of the start.
_SHORT: Final = 3
# valgrind counts each byte that one instruction copies; so libraries are to copy without it.
_COPY: Final = {"GLIBC_TUNABLES": "glibc.cpu.x86_rep_movsb_threshold=1000000000"}
_TOOL: Final = (
    "valgrind",
    "--trace-children=yes",
    "--tool=cachegrind",
    "--cache-sim=no",
    "--cachegrind-out-file=/dev/null",
)
_REFS: Final = re.compile(r"I\s+refs:\s+([\d,]+)")
_READY_S: Final = 60.0
# Requests in flight, and the rounds of two runs whose difference is counted.
_IN_FLIGHT: Final = 5
_ROUNDS: Final = (200, 1000)

Measure = Callable[[Path], float]


class Capture(NamedTuple):
    """A capture that is made: its file, and how many exchanges are in it."""

    file: str
    exchanges: int


def start(tree: Path, folder: Path, words: Sequence[str], out: Path) -> subprocess.Popen[bytes]:
    """`kw WORDS…` of a tree under valgrind, on one processor, so that it decodes in one process; for `counted`."""
    env = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    env |= {**_COPY, "PYTHONPATH": str(tree), "PYTHONHASHSEED": "0", "HOME": str(folder), "KW_COMPLETION_LIMIT": "600"}
    kw = [sys.executable, "-m", "kwcli.main", *words]
    command = ["taskset", "-c", "0", *_TOOL, f"--log-file={folder}/%p.count", *kw]
    with out.open("wb") as said:
        return subprocess.Popen(command, cwd=tree, env=env, stdout=subprocess.DEVNULL, stderr=said)


def counted(folder: Path) -> int:
    """The instructions of all processes that have ended since the last call."""
    total = 0
    for log in folder.glob("*.count"):
        found = _REFS.search(log.read_text())
        total += int(found[1].replace(",", "")) if found else 0
        log.unlink()
    return total


def command(*words: str) -> Measure:
    """The measure of a whole command, in millions; it runs twice, since the first run may write compiled modules."""

    def measure(tree: Path) -> float:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for _ in range(2):
                counted(folder)
                said = folder / "said"
                process = start(tree, folder, [word.replace("FOLDER", f"{name}/out") for word in words], said)
                if process.wait():
                    sys.exit(f"kw {' '.join(words)} of {tree}: {said.read_text()}")
                shutil.rmtree(folder / "out", ignore_errors=True)
            return counted(folder) / 1e6

    return measure


def exchange(short: Capture, whole: Capture) -> Measure:
    """The measure of one exchange for `kw doctor`, in thousands: what a capture takes more than a shorter one."""

    def measure(tree: Path) -> float:
        few, many = (command("doctor", its.file, "--fail-on", "never")(tree) for its in (short, whole))
        return (many - few) * 1e3 / (whole.exchanges - short.exchanges)

    return measure


def requests(broker: int, *words: str) -> Measure:
    """The measure of one small request through `kw proxy`, in thousands."""

    def run(tree: Path, rounds: int) -> int:
        port = port_base(1)
        with tempfile.TemporaryDirectory() as name:
            said = Path(name) / "said"
            listen = ["proxy", "-b", f"127.0.0.1:{broker}", "--port-base", str(port), *words]
            process = start(tree, Path(name), listen, said)
            until = time.monotonic() + _READY_S
            while b"ready" not in said.read_bytes():
                if process.poll() is not None or time.monotonic() > until:
                    sys.exit(f"kw proxy of {tree}: {said.read_text()}")
                time.sleep(0.1)
            ask(port, rounds)
            time.sleep(1.0)
            process.send_signal(signal.SIGINT)
            process.wait()
            return counted(Path(name))

    def measure(tree: Path) -> float:
        few, many = (run(tree, rounds) for rounds in _ROUNDS)
        return (many - few) / ((_ROUNDS[1] - _ROUNDS[0]) * _IN_FLIGHT) / 1e3

    return measure


def ask(port: int, rounds: int) -> None:
    """Send requests together and wait for their answers, round after round, on one connection."""
    asked, answer = LOADS["small"]()
    with socket.create_connection(("127.0.0.1", port)) as link:
        for _ in range(rounds):
            link.sendall(asked * _IN_FLIGHT)
            left = len(answer) * _IN_FLIGHT
            while left:
                left -= len(link.recv(left))


def make_captures(folder: Path, part: int) -> dict[str, Capture]:
    """Make CAPTURES with a part of their bytes."""
    found = {}
    for title, (size, profile, connections) in CAPTURES.items():
        path = folder / f"{title}.{part}.pcap"
        made = volume.write(path, size // part, profile=profile, connections=connections)
        found[title] = Capture(str(path), made.exchanges)
    return found


def cases(
    captures: Mapping[str, Capture], short: Mapping[str, Capture], node: Node, broker: int
) -> Iterator[tuple[str, Measure]]:
    """The cases with their names; `captures`, and `short` ones of the same kinds, are made by tests.bench.volume."""
    made = {title: capture.file for title, capture in captures.items()}
    yield "kw --version", command("--version")
    yield "kw --help", command("--help")
    yield "TAB, an option", command("__complete", "fish", "", "sniff", "--col")
    yield "TAB, a field", command("__complete", "zsh", "", "call", "Metadata", "topics[].n")
    yield "TAB, a property", command("__complete", "property", "secur", "call", "-X")
    for title, file in (("tour", TOUR), *((name, made[name]) for name in ("small", "blend"))):
        for output in ("text", "ndjson"):
            yield f"kw sniff, {title}, {output}", command("sniff", file, "-o", output)
        yield f"kw stats, {title}", command("stats", file)
        yield f"kw pipeline run, {title}", command("pipeline", "run", file, "--out", "FOLDER", "--engine", "local")
    for title, file in {"no-connection": NO_CONNECTION, "tour": TOUR, "three-nodes": THREE_NODES, **made}.items():
        yield f"kw doctor, {title}", command("doctor", file, "--fail-on", "never")
    for title, capture in captures.items():
        yield f"kw doctor, an exchange, {title}", exchange(short[title], capture)
    for api in ("Metadata", "ApiVersions"):
        yield f"kw call {api}", command("call", api, "-b", node.server, "-o", "ndjson")
    yield "a request, no log", requests(broker, "--no-log")
    yield "a request, NDJSON", requests(broker, "-o", "ndjson")


def main() -> int:
    """Measure the cases whose names have WORDS in them, all without; print them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    parser.add_argument("--only", default="", metavar="WORDS", help="cases with these words in their name")
    asked = parser.parse_args()
    trees = [*(tree.resolve() for tree in asked.trees), ROOT]
    node = Node({3: (0, 12)}, {})
    with tempfile.TemporaryDirectory() as name, node, child(["tests.bench.fake_broker"]) as broker:
        node.answers = {3: metadata(node)}
        captures, short = (make_captures(Path(name), part) for part in (1, _SHORT))
        print("   ".join(["case".ljust(32), *(f"{tree.name:>18}" for tree in trees)]))
        for title, measure in cases(captures, short, node, first_port(broker)):
            if asked.only in title:
                found = [measure(tree) for tree in trees]
                shown = [f"{each:10.1f} ({each / found[0]:.3f})" for each in found]
                print("   ".join([title.ljust(32), *shown]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
