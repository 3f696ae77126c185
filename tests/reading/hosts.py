"""Hosts that are network namespaces, each with a real sshd, behind one router; nothing of the machine's own network.

kw, ssh, clients ── router (namespace PREFIX-0) ──┬── h1, 10.77.1.100 ── eth0, 10.77.1.1: PREFIX-1 with sshd, a broker
                                                  ├── h2, 10.77.2.100 ── eth0, 10.77.2.1: PREFIX-2 …
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

__all__ = ["Hosts", "explain_missing_programs"]

ROOT: Final = Path(__file__).resolve().parents[2]
SSHD: Final = "/usr/sbin/sshd"
PORT: Final = 9092
# A broker that answers ApiVersions v0, and a client that asks some brokers so many times, so long apart.
_BROKER: Final = """
import socketserver, struct, sys
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while head := self.rfile.read(4):
            frame = self.rfile.read(struct.unpack(">I", head)[0])
            self.wfile.write(struct.pack(">I4shI6x", 16, frame[4:8], 0, 1))
socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer((sys.argv[1], 9092), Handler).serve_forever()
"""
_CLIENT: Final = """
import socket, sys, time, decoders
count, pause, *hosts = sys.argv[1:]
asked = [(socket.create_connection((host, 9092)), host) for host in hosts]
for number in range(int(count)):
    for broker, host in asked:
        frame = decoders.encode_request(18, 0, {}, correlation_id=number, client_id="c")
        broker.sendall(len(frame).to_bytes(4, "big") + frame)
        broker.recv(100)
    time.sleep(float(pause))
"""


def explain_missing_programs() -> str | None:
    """Why there can be no such hosts here, in a sentence; None where there can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs Linux and root"
    missing = [name for name in ("ip", "ssh", "ssh-keygen", "tcpdump", SSHD) if shutil.which(name) is None]
    if missing:
        return f"needs {', '.join(missing)} (iproute2, openssh-server, openssh-client, tcpdump)"
    probe = subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False)
    return "needs the right to make network namespaces" if probe.returncode else None


class Hosts:
    """`with Hosts(3, folder) as hosts`: three hosts, 1 to 3; `folder` gets keys and logs."""

    def __init__(self, count: int, folder: Path) -> None:
        self._folder = folder
        self._prefix = f"kw{os.getpid()}"
        self._ending = ExitStack()
        self.numbers = range(1, count + 1)
        self.sshds: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._ending.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ending.close()

    def _start(self) -> None:
        key = self._folder / "key"
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
        shutil.copy(f"{key}.pub", self._folder / "authorized")
        Path("/run/sshd").mkdir(exist_ok=True)
        self._add_namespace(0)
        self.run(0, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward").check_returncode()
        for number in self.numbers:
            self._add_namespace(number)
            here, there = self.name(0), self.name(number)
            _run("ip", "-n", here, "link", "add", f"h{number}", "type", "veth", "peer", "name", "eth0", "netns", there)
            _run("ip", "-n", here, "addr", "add", f"10.77.{number}.100/24", "dev", f"h{number}")
            _run("ip", "-n", here, "link", "set", f"h{number}", "up")
            _run("ip", "-n", there, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
            _run("ip", "-n", there, "link", "set", "eth0", "up")
            _run("ip", "-n", there, "route", "add", "default", "via", f"10.77.{number}.100")
            options = ["ListenAddress=" + self.address(number), f"HostKey={key}", "UsePAM=no", "StrictModes=no"]
            options += [f"AuthorizedKeysFile={self._folder / 'authorized'}", "PermitRootLogin=yes", "PidFile=none"]
            words = [SSHD, "-D", "-e", "-f", "/dev/null", *(word for each in options for word in ("-o", each))]
            self.sshds[number] = self.start(number, *words)
            self.start(number, sys.executable, "-c", _BROKER, self.address(number))
        for number in self.numbers:
            self._wait_for(number)

    def _add_namespace(self, number: int) -> None:
        _run("ip", "netns", "add", self.name(number))
        self._ending.callback(_run, "ip", "netns", "del", self.name(number))
        _run("ip", "-n", self.name(number), "link", "set", "lo", "up")

    def _wait_for(self, number: int) -> None:
        end = time.monotonic() + 60
        while self.run(0, *self.ssh(number), "true").returncode or self.ask(1, 0, number).returncode:
            assert time.monotonic() < end, f"host {number} does not answer"

    def name(self, number: int) -> str:
        """The name of a host's namespace."""
        return f"{self._prefix}-{number}"

    @staticmethod
    def address(number: int) -> str:
        """The address of a host."""
        return f"10.77.{number}.1"

    def ssh(self, number: int) -> list[str]:
        """The words in front of those of a command on a host, to be run on host 0."""
        options = ["BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"]
        options += ["ServerAliveInterval=2", "ServerAliveCountMax=2"]
        words = ["ssh", "-i", str(self._folder / "key"), *(word for each in options for word in ("-o", each))]
        return [*words, self.address(number)]

    def tcpdump(self, number: int, behind: str = "", what: str = f"port {PORT}") -> str:
        """The command that captures on a host, as a line; its output goes through the command `behind` there."""
        return shlex.join([*self.ssh(number), f"tcpdump -U -i eth0 -w - {what} 2>/dev/null{behind}"])

    def start(self, number: int, *words: str, **more: Any) -> subprocess.Popen[bytes]:
        """Start a program on a host; it is killed at the end."""
        asked: dict[str, Any] = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "cwd": ROOT, **more}
        process = subprocess.Popen(["ip", "netns", "exec", self.name(number), *words], **asked)
        self._ending.callback(_kill, process)
        return process

    def run(self, number: int, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program on a host."""
        command = ["ip", "netns", "exec", self.name(number), *words]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)

    def ask(self, count: int, pause_s: float, *numbers: int) -> subprocess.CompletedProcess[str]:
        """Ask the brokers of some hosts from host 0."""
        addresses = map(self.address, numbers)
        return self.run(0, sys.executable, "-c", _CLIENT, str(count), str(pause_s), *addresses)

    def cut(self, number: int) -> None:
        """Take the link of a host down."""
        _run("ip", "-n", self.name(0), "link", "set", f"h{number}", "down")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        process.kill()
    process.wait()


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)
