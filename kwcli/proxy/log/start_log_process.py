"""A plan in; the log's process, started, and the queue of messages to it (`queue`) out.

The process is a fresh interpreter, so it shares nothing with the data path but the socket pair, standard output and
standard error. The process lives until the pair is closed: Ctrl-C and SIGTERM are for the proxy, which drains first.
After a defect, or when it is killed, the queue has it started again.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, Final

from kwcli.private_files import open_private_file
from kwcli.proxy.log.log_protocol import DEFECT, HEAD, LogPlan, MessageKind
from kwcli.proxy.log.log_queue import HELD_MOST, RESTARTS_S, LogQueue, Overflow, Restarts
from kwcli.run_environment import Environment, Exit, Failure

__all__ = ["Log", "start"]

# The code that the interpreter is started with: it takes our search path, then runs the log.
_CODE: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from kwcli.proxy.log.log_process import main; main(int(sys.argv[1]))"
)
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# How long the process may write what it was given, at the end; and where the program was told to end at once.
FINISH_S: Final = 30.0
HURRIED_S: Final = 2.0
# The size of the sockets' send buffers.
_BUFFER: Final = 1 << 20


class Log:
    """The log's running process, with the queue of messages to it. Raises OSError where no process can be started."""

    def __init__(
        self,
        plan: LogPlan,
        make_log_queue: Callable[[socket.socket, Restarts], LogQueue],
        *,
        stdout: IO[Any] | int | None,
        stderr: IO[Any] | int | None,
        pauses_s: tuple[float, ...],
    ) -> None:
        self._plan = plan
        self._streams = (stdout, stderr)
        self._plans = 0  # how many were sent
        ours, self.process = self._start_process()
        self.queue = make_log_queue(ours, Restarts(self._make_plan_message, self._restart_process, pauses_s))
        self.queue.queue_packed(self._make_plan_message(0))

    def _make_plan_message(self, connections: int) -> bytes:
        """The first message to a process: the plan, after so many connections."""
        content = self._plan._replace(restarted=self._plans, connections=connections).to_json()
        self._plans += 1
        return HEAD.pack(MessageKind.PLAN, 0, 0, len(content)) + content

    def _restart_process(self) -> socket.socket | None:
        """Start another process; returns its socket, or None where the last one has ended as it should.

        A process has no other reason to close the socket than its end, so one that is still there is killed.
        """
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if 0 <= self.process.returncode != DEFECT:
            return None
        try:
            ours, self.process = self._start_process()
        except OSError:
            return None
        return ours

    def _start_process(self) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        for each in (ours, theirs):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        # Blocked here, so the child inherits that, until it ignores them.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", _CODE, str(theirs.fileno()), json.dumps(sys.path)],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=self._streams[0],
                stderr=self._streams[1],
            )
        except OSError:
            ours.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()
        return ours, process

    def run_while_logging(self, env: Environment, work: Callable[[], int]) -> int:
        """Do `work`, whose traffic is logged, then give the log the time to write what it has; the exit code."""
        code: int = Exit.INTERRUPTED
        try:
            code = work()
        finally:
            at_work = self.queue.alive
            done = self.finish(HURRIED_S if code == Exit.INTERRUPTED else FINISH_S)
            if at_work and not done:
                env.report("kw: the log process did not finish: its last lines are missing")
            if code == Exit.DONE and (self.failed or (at_work and not done)):
                code = Exit.FAILURE
        return code

    def finish(self, timeout: float = FINISH_S) -> bool:
        """Send the rest of the messages, and wait for the process to end. Blocks.

        False when the rest was not taken, or the process did not end by itself. Rows and packets that were taken but
        could not be written are reported by the process: see `failed`.
        """
        done = self.queue.finish(timeout)
        try:
            return self.process.wait(timeout) >= 0 and done
        except subprocess.TimeoutExpired:
            self.kill()
            return False

    @property
    def failed(self) -> bool:
        """Whether a process has ended without writing everything that was asked for."""
        return self.queue.restarted > 0 or self.process.returncode not in (None, 0)

    def kill(self) -> None:
        """Kill the process."""
        self.queue.close()
        with suppress(OSError):
            self.process.kill()
        self.process.wait()


def start(
    plan: LogPlan,
    *,
    overflow: Overflow = "drop",
    most: int = HELD_MOST,
    pause: Callable[[bool], None] = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
    stdout: IO[Any] | int | None = None,
    stderr: IO[Any] | int | None = None,
    pauses_s: tuple[float, ...] = RESTARTS_S,
) -> Log:
    """Start the log's process, by default with our `stdout` and `stderr`. Raises Failure: the file cannot be made."""
    if plan.write is not None:
        _check_writable(plan.write)

    def make_log_queue(sock: socket.socket, restarts: Restarts) -> LogQueue:
        return LogQueue(sock, overflow=overflow, most=most, pause=pause, say=say, restarts=restarts)

    return Log(plan, make_log_queue, stdout=stdout, stderr=stderr, pauses_s=pauses_s)


def _check_writable(name: str) -> None:
    """Raise Failure where the file cannot be written, before the proxy listens."""
    try:
        open(name, "ab", opener=open_private_file).close()
    except OSError as error:
        raise Failure(f"{name}: {(error.strerror or str(error)).lower()}") from None
