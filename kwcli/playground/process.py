"""One Java program as a child that cannot outlive us: started, watched, stopped (SIGTERM, then SIGKILL)."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Final

__all__ = ["JAVA_FLAGS", "Process", "run_java"]

JAVA_FLAGS: Final = ("-Xms64m", "-Duser.timezone=UTC", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")

# How Java's programs end after SIGTERM.
_TERMINATED: Final = 128 + signal.SIGTERM
_alive: weakref.WeakSet[Process] = weakref.WeakSet()
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def _die_with_parent() -> None:
    # PR_SET_PDEATHSIG: the kernel kills the child when we are killed, where atexit never runs.
    if _libc is not None:
        _libc.prctl(1, signal.SIGKILL)


class Process:
    """A running command whose output goes to `log`."""

    def __init__(self, command: Sequence[str], log: Path, *, environment: dict[str, str] | None = None) -> None:
        self.log = log
        self._paused = False
        with open(log, "ab") as output:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **(environment or {})},
                preexec_fn=_die_with_parent,
            )
        _alive.add(self)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def running(self) -> bool:
        return self._child.poll() is None

    @property
    def paused(self) -> bool:
        """Whether `pause` has stopped it for a while."""
        return self._paused and self.running

    @property
    def end(self) -> str:
        """How it ended: `was killed (SIGKILL)`, `was stopped (SIGTERM)`, `ended with exit code 1`; "" while it runs."""
        code = self._child.poll()
        if code is None:
            return ""
        if code in (-signal.SIGTERM, _TERMINATED):
            return "was stopped (SIGTERM)"
        if code >= 0:
            return f"ended with exit code {code}"
        try:
            return f"was killed ({signal.Signals(-code).name})"
        except ValueError:
            return f"was killed (signal {-code})"

    def pause(self) -> None:
        """Let it do nothing for a while, as a machine that hangs."""
        if self.running:
            self._child.send_signal(signal.SIGSTOP)
            self._paused = True

    def unpause(self) -> None:
        """Let it go on."""
        if self.running:
            self._child.send_signal(signal.SIGCONT)
        self._paused = False

    def terminate(self) -> None:
        """Ask it to end (SIGTERM); `wait` follows."""
        if self.running:
            self._child.terminate()
            self.unpause()  # it could not hear it

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self.running:
            self._child.kill()
        self._child.wait()

    def wait(self, timeout_s: float = 30.0) -> int:
        """Wait for its end, kill it when it does not come; gives the exit code."""
        try:
            return self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._child.wait()

    def tail(self, size: int = 3000) -> str:
        """The last characters that it said."""
        return self.log.read_text(errors="replace")[-size:] if self.log.exists() else ""


def run_java(command: Sequence[str]) -> str:
    """Run a short Java program to its end and give its output; its words are in the error when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[-6:])} failed: {(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


@atexit.register
def _end_all() -> None:
    for process in list(_alive):
        process.kill()
