"""Commands that capture on hosts over ssh: their rows are those of captures on the spot, whatever happens to some."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bench.watch import process_tree
from tests.cli.worlds import kw
from tests.reading.hosts import PORT, Hosts, explain_missing_programs
from tests.reading.test_live_places import is_running, rows, without
from tests.waiting import until

_LACKING = explain_missing_programs()
pytestmark = [pytest.mark.full, pytest.mark.skipif(_LACKING is not None, reason=_LACKING or "")]

# What depends on the order of places, or on the file of a packet.
CHANGED = (
    "packets connection point file network_ms closed time latency_ms duration_ms"  # each tcpdump has its own times
)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with Hosts(8, tmp_path_factory.mktemp("hosts")) as started:
        yield started


def sniff(hosts: Hosts, folder: Path, *commands: str, more: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
    """kw on host 0; its rows and what it says are in the files `out` and `err`."""
    words = [sys.executable, "-m", "kwcli", "sniff", "-o", "ndjson", *more]
    words += [word for command in commands for word in ("--on", command)]
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        return hosts.start(0, *words, stdout=out, stderr=err)


def count_tcpdumps(word: str = f"port {PORT}") -> int:
    """The processes of tcpdump that run, in all namespaces."""
    found = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            found += words.startswith("tcpdump ") and word in words
    return found


def ended(process: subprocess.Popen[bytes], folder: Path) -> tuple[list[dict[str, Any]], str]:
    """End kw with Ctrl-C; its rows, and what it has said."""
    process.send_signal(signal.SIGINT)
    process.wait(60)
    return rows((folder / "out").read_text()), (folder / "err").read_text()


@pytest.mark.parametrize("count", [1, 2])
def test_rows_are_those_of_captures_on_the_spot(hosts: Hosts, count: int, tmp_path: Path) -> None:
    numbers = list(hosts.numbers)[:count]
    files = [tmp_path / f"{number}.pcap" for number in numbers]
    before = count_tcpdumps()
    for number, file in zip(numbers, files, strict=True):
        hosts.start(number, "tcpdump", "-U", "-i", "eth0", "-w", str(file), f"port {PORT}")
    process = sniff(hosts, tmp_path, *(f"b{number}={hosts.tcpdump(number)}" for number in numbers))
    until(lambda: count_tcpdumps() >= before + 2 * count)
    time.sleep(2)  # tcpdump listens a moment after it was started
    assert hosts.ask(50, 0.01, *numbers).returncode == 0
    time.sleep(4)
    found, said = ended(process, tmp_path)
    expected = rows(kw("sniff", *map(str, files)).out)
    assert len(expected) == 50 * count, said
    assert without(CHANGED, found) == without(CHANGED, expected), said
    assert {row["point"] for row in found} == {f"b{number}" for number in numbers} or count == 1


def test_what_happens_to_one_host_is_told_and_the_others_go_on(hosts: Hosts, tmp_path: Path) -> None:
    """A link is cut, an sshd with its sessions is killed; the third host is read as before."""
    before = count_tcpdumps()
    process = sniff(hosts, tmp_path, *(f"b{number}={hosts.tcpdump(number)}" for number in (6, 7, 8)))
    until(lambda: count_tcpdumps() >= before + 3)
    time.sleep(2)
    hosts.ask(5, 0.01, 6, 7, 8)
    hosts.cut(7)
    for pid in reversed(process_tree(hosts.sshds[8].pid)):
        os.kill(pid, signal.SIGKILL)
    for _ in range(20):
        hosts.ask(5, 0.1, 6)
    time.sleep(4)
    found, said = ended(process, tmp_path)
    assert len([row for row in found if row["broker"] == f"{hosts.address(6)}:{PORT}"]) == 105, said
    assert "kw: b8: " in said
    assert "kw: b7: " in said


def test_a_clock_that_is_ahead_is_told(hosts: Hosts, tmp_path: Path) -> None:
    """Namespaces share the clock: the times of one place are shifted by a filter behind its tcpdump."""
    shift = tmp_path / "shift.py"
    shift.write_text(
        "import struct, sys\nsource, out = sys.stdin.buffer, sys.stdout.buffer\nout.write(source.read(24))\n"
        "while head := source.read(16):\n    s, us, held, wire = struct.unpack('<IIII', head)\n"
        "    out.write(struct.pack('<IIII', s + 5, us, held, wire) + source.read(held)); out.flush()\n"
    )
    here = f"tcpdump -U -i h1 -w - port {PORT}"
    process = sniff(hosts, tmp_path, f"here={here}", f"b1={hosts.tcpdump(1, f' | {sys.executable} {shift}')}")
    until(lambda: count_tcpdumps("-i h1") == 1)
    time.sleep(3)
    hosts.ask(50, 0.02, 1)
    time.sleep(2)
    found, said = ended(process, tmp_path)
    assert "kw: b1 is about 5.00s ahead of here" in said, said
    assert len(found) == 50
    assert all(0 <= row["latency_ms"] < 1000 for row in found)


def test_a_kill_leaves_nothing_here_and_nothing_there_after_the_next_packet(hosts: Hosts, tmp_path: Path) -> None:
    before = count_tcpdumps()
    process = sniff(hosts, tmp_path, *(f"b{number}={hosts.tcpdump(number)}" for number in (1, 2, 3)))
    until(lambda: count_tcpdumps() >= before + 3)
    time.sleep(2)
    hosts.ask(5, 0.01, 1, 2, 3)
    until(lambda: (tmp_path / "out").read_bytes())
    key = str(hosts._folder / "key")
    assert is_running(key)
    os.kill(process.pid, signal.SIGKILL)  # ip netns exec has become kw
    begun = time.monotonic()
    until(lambda: not _runs_ssh(key))
    assert time.monotonic() - begun < 2
    hosts.ask(5, 0.01, 1, 2, 3)
    asked = time.monotonic()
    until(lambda: count_tcpdumps() <= before)
    assert time.monotonic() - asked < 10


def _runs_ssh(key: str) -> bool:
    """Whether an ssh with this key runs."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0] == b"ssh" and key.encode() in words:
                return True
    return False
