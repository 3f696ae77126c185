"""Processes of a measurement: a broker, a relay, `kw proxy` with its log, and processes that keep the machine awake.

Their processor time is read from /proc, so that a figure can tell which process was the bottleneck.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final

from tests.proxy.hidden import port_base

_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
# Runs only when no other process wants to, and gives way at once.
_SPIN: Final = "import os\nos.nice(19)\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"
END_S: Final = 60.0


@contextmanager
def child(words: Sequence[str], stdout: IO[bytes] | int = subprocess.PIPE) -> Iterator[subprocess.Popen[bytes]]:
    """A Python module as a process that is terminated at the end."""
    process = subprocess.Popen([sys.executable, "-m", *words], stdout=stdout, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=END_S)


def first_port(process: subprocess.Popen[bytes]) -> int:
    """The port that a process prints as its first line."""
    assert process.stdout is not None
    return int(process.stdout.readline())


@contextmanager
def awake(wanted: bool) -> Iterator[None]:
    """Keep every processor from going to sleep, by processes that give way to all others (SCHED_IDLE).

    A virtual processor that sleeps is woken by its host, which takes 50 µs or more: longer than a turn of a broker, a
    proxy and a client together. Without this, a measurement with few requests in flight measures the host.
    """
    with ExitStack() as stack:
        for _ in range((os.cpu_count() or 1) if wanted else 0):
            spinner = subprocess.Popen([sys.executable, "-c", _SPIN])
            stack.callback(spinner.wait)
            stack.callback(spinner.kill)
        yield


class Proxied:
    """`kw proxy` in front of a broker, its standard output and standard error in files."""

    def __init__(self, folder: Path, name: str, broker: int, words: Sequence[str]) -> None:
        self.port = port_base(1)
        self.out, self.err = folder / f"{name}.out", folder / f"{name}.err"
        command = [sys.executable, "-m", "kwcli.main", "proxy", "-b", f"127.0.0.1:{broker}"]
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self._process = subprocess.Popen([*command, "--port-base", str(self.port), *words], stdout=out, stderr=err)
        while b"ready" not in self.err.read_bytes():
            if self._process.poll() is not None:
                raise RuntimeError(self.err.read_text())
            time.sleep(0.02)

    @property
    def pids(self) -> list[int]:
        """The ids of the proxy's process and of its log's process."""
        pid = self._process.pid
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]

    def close(self) -> None:
        """End the proxy; its last lines are then in its file."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(END_S)

    @property
    def said(self) -> list[str]:
        """The lines on standard error after the line that says it is ready."""
        return self.err.read_text().rpartition("ready")[2].splitlines()[1:]


def busy() -> float:
    """Processor seconds of all processes so far, without interrupts and nice processes (such as those of `awake`)."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (int(fields[1]) + int(fields[3])) * _TICK_S


def resident(pid: int) -> float:
    """Resident memory of a process in MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE / (1 << 20)


def spent(pid: int) -> float:
    """Processor seconds of a process so far, all its threads: by the clock that Linux keeps for each process."""
    return time.clock_gettime(~pid << 3 | 2)
