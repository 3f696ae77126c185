"""One Java program as a child process that cannot outlive kw, and whether the broker in it serves requests."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import socket
import struct
import subprocess
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from decoders import DecodeError, decode_response, encode_request
from decoders.protocol_facts.api_keys import API_VERSIONS, METADATA

__all__ = ["JAVA_FLAGS", "Process", "fetch_known_broker_ids", "is_kafka_answering", "run_java"]

JAVA_FLAGS: Final = ("-Xms64m", "-Duser.timezone=UTC", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")

# The exit code of Java programs after SIGTERM.
_TERMINATED: Final = 128 + signal.SIGTERM
_alive: weakref.WeakSet[Process] = weakref.WeakSet()
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def _die_with_parent() -> None:
    # PR_SET_PDEATHSIG: the kernel kills the child when kw is killed, where atexit never runs.
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
        """Whether the process runs and is stopped by `pause`."""
        return self._paused and self.running

    @property
    def end(self) -> str:
        """How the process ended: `was killed (SIGKILL)`, `ended with exit code 1` and so on; "" while it runs."""
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
        """Stop the process for a while (SIGSTOP), like a machine that hangs."""
        if self.running:
            self._child.send_signal(signal.SIGSTOP)
            self._paused = True

    def unpause(self) -> None:
        """Let a paused process go on."""
        if self.running:
            self._child.send_signal(signal.SIGCONT)
        self._paused = False

    def terminate(self) -> None:
        """Ask the process to end (SIGTERM); `wait` must follow."""
        if self.running:
            self._child.terminate()
            self.unpause()  # a stopped process does not handle the signal

    def kill(self) -> None:
        """Kill the process at once, as a crash would."""
        if self.running:
            self._child.kill()
        self._child.wait()

    def wait(self, timeout_s: float = 30.0) -> int:
        """Wait for the end of the process, and kill it after the timeout; returns the exit code."""
        try:
            return self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._child.wait()

    def tail(self, size: int = 3000) -> str:
        """The last characters of the process's output."""
        return self.log.read_text(errors="replace")[-size:] if self.log.exists() else ""


def run_java(command: Sequence[str]) -> str:
    """Run a short Java program to its end and return its output. Raises RuntimeError with the output where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[-6:])} failed: {(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


@atexit.register
def _kill_living_processes() -> None:
    for process in list(_alive):
        process.kill()


# Requests to a broker without TLS: ApiVersions, the only proof that it serves requests; Metadata, for brokers it knows.


_METADATA_VERSION = 4  # it can be told to create no topics
# More than the answer of nine brokers; another program may have the port by now.
_ANSWER_MAX = 1 << 20


def is_kafka_answering(host: str, port: int, *, timeout_s: float = 2.0) -> bool:
    """Whether a Kafka listener without TLS answers ApiVersions v0 (SASL listeners do, before authentication)."""
    try:
        frame = _send_and_receive_frame(
            host, port, encode_request(API_VERSIONS, 0, {}, correlation_id=1, client_id="kw"), timeout_s
        )
        correlation_id, error_code = struct.unpack_from(">ih", frame)
    except (OSError, EOFError, struct.error):
        return False
    return bool(correlation_id == 1 and error_code == 0)


def fetch_known_broker_ids(host: str, port: int, *, timeout_s: float = 2.0) -> set[int]:
    """The ids of the brokers that the broker at a listener without TLS and SASL knows; empty without an answer."""
    request = {"topics": [], "allow_auto_topic_creation": False}
    try:
        frame = _send_and_receive_frame(
            host,
            port,
            encode_request(METADATA, _METADATA_VERSION, request, correlation_id=1, client_id="kw"),
            timeout_s,
        )
        body = decode_response(frame, METADATA, _METADATA_VERSION).body
    except (OSError, EOFError, DecodeError):
        return set()
    return {row["node_id"] for row in body["brokers"]}


def _send_and_receive_frame(host: str, port: int, request: bytes, timeout_s: float) -> bytes:
    """Send a request frame; returns the response frame, both without their size fields."""
    with socket.create_connection((host, port), timeout=timeout_s) as connection:
        connection.settimeout(timeout_s)
        connection.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", _read_exactly(connection, 4))
        if not 4 <= size <= _ANSWER_MAX:
            raise EOFError
        return _read_exactly(connection, size)


def _read_exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)
