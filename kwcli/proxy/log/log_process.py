"""The log's process: messages from the data path in, rows on standard output and a capture file out, to the last byte.

The process ends when the data path closes the socket pair; it ignores signals, which are meant for the proxy. After
each piece of messages it tells how many bytes it has worked off, so that the data path knows what a defect has cost.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from decoders.messages.build_body_json import Options
from kwcli.malloc_trim import TRIM_S, Trimmer, set_malloc_thresholds
from kwcli.proxy.log.log_protocol import DEFECT, LogPlan, MessageKind, Parser
from kwcli.proxy.log.log_queue import Reporter
from kwcli.proxy.log.record_messages import Recorder
from kwcli.run_environment import SELDOM_COLLECTIONS, Environment, Failure, SecretHidingStderr

__all__ = ["main"]

# How many bytes are decoded at once: their rows take some twelve times as much memory.
READ: Final = 256 << 10
_PATIENCE: Final = struct.pack("ll", int(TRIM_S), 0)
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(descriptor: int) -> None:
    """Run the log until the socket pair is closed, then end the process."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    set_malloc_thresholds()
    gc.freeze()
    gc.set_threshold(*SELDOM_COLLECTIONS)
    env = Environment.of_process()
    sys.stderr = SecretHidingStderr(env)
    code = 0
    try:
        with socket.socket(fileno=descriptor) as sock:
            code = _run_log(env, sock)
    except Failure as failure:
        env.report(f"kw: {failure.text}")
        code = int(failure.code)
    except Exception as defect:  # no caller would report it
        if env.debug:
            for line in traceback.format_exc().splitlines():
                env.report(line)
        env.report(f"kw: defect in the log: {type(defect).__name__}: {defect} (--debug shows where)")
        code = DEFECT
    with suppress(OSError):
        env.stdout.flush()
    os._exit(code)  # a normal exit would complain about a closed standard output


def _run_log(env: Environment, sock: socket.socket) -> int:
    parser = Parser()
    keeping: Recorder | None = None
    reporter: Reporter | None = None
    taken = 0
    for data in _receive_pieces(sock):
        taken += len(data)
        messages = parser.feed(data)
        if keeping is None and messages:
            kind, _, _, content = messages.pop(0)
            if kind != MessageKind.PLAN:
                return 2
            plan = LogPlan.from_json(content)
            env.debug = plan.debug
            plan.settings.prepare_output(env)
            shown = plan.settings
            told = Options(shown.records, shown.reveal_secrets, names=shown.names) if plan.report_records else None
            reporter = Reporter(sock, told)
            keeping = Recorder(env, plan, reporter if plan.report else None)
        if keeping is not None:
            keeping.record_messages(messages)
            assert reporter is not None
            reporter.send_reports(taken)
            if keeping.is_over:
                break
    else:
        if keeping is not None:
            keeping.finish()
    return int(keeping is not None and keeping.failed)


def _receive_pieces(sock: socket.socket) -> Iterator[bytes]:
    """Bytes from the socket until its end; gives free memory back now and then, and when no bytes come."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _PATIENCE)  # settimeout would let sending wait as well
    trimmer = Trimmer()
    due = 0.0
    while True:
        try:
            data = sock.recv(READ)
        except BlockingIOError:
            trimmer.trim_if_grown()
            continue
        except ConnectionResetError:  # the proxy has ended, and did not read all that it was told
            return
        if not data:
            return
        yield data
        now = time.monotonic()
        if now >= due:
            trimmer.trim_if_grown()
            due = now + TRIM_S
