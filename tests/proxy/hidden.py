"""A cluster whose brokers advertise names that only its proxy can resolve: any leaked name fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from kwcli.playground.broker_properties import NodePlan
from kwcli.playground.free_ports import find_free_ports
from tests.broker.cluster import Cluster

ROOT = Path(__file__).resolve().parents[2]
START_S = 60.0


class HiddenCluster(Cluster):
    """Brokers with the listeners INTERNAL (for brokers) and PLAINTEXT (for clients, by names of `.invalid`)."""

    def _make_server_properties(self, node: NodePlan) -> dict[str, str]:
        lines = super()._make_server_properties(node)
        host, ports = self.options.host, node.ports
        own = f"INTERNAL://{host}:{ports['INTERNAL']}"
        lines["advertised.listeners"] = f"{own},PLAINTEXT://kafka-{node.id}.invalid:{ports['PLAINTEXT']}"
        return lines

    @property
    def dial_map(self) -> list[str]:
        """Options that give the proxy the brokers' addresses."""
        words = []
        for node in self.nodes:
            port = node.ports["PLAINTEXT"]
            words += ["--dial-map", f"kafka-{node.id}.invalid:{port}={self.options.host}:{port}"]
        return words


class Behind:
    """The address of a proxy as a cluster's, for plays that ask only for the bootstrap address."""

    def __init__(self, place: str) -> None:
        self.place = place

    def bootstrap(self, _listener: str = "PLAINTEXT") -> str:
        return self.place


def port_base(nodes: int) -> int:
    """The first of a row of free ports: for the bootstrap listener, node 0 and up to node `nodes`."""
    return find_free_ports(nodes + 2)[0]


class ProxyProcess:
    """`kw proxy` as a child; a context manager that ends it by SIGTERM and keeps its standard error.

    `output` is the file for its standard output.
    """

    def __init__(self, words: Sequence[str], base: int, output: Path | None = None) -> None:
        self.bootstrap = f"127.0.0.1:{base}"
        self._output = output or Path(os.devnull)
        self._words = [*words, "--port-base", str(base)]
        self.code: int | None = None
        self.said = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._log = Path(f"/tmp/kw-proxy-{os.getpid()}-{base}.log")

    def __enter__(self) -> Self:
        with self._log.open("wb") as log, self._output.open("wb") as output:
            command = [sys.executable, "-m", "kwcli.main", "proxy", *self._words]
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=log)
        deadline = time.monotonic() + START_S
        while f"ready {self.bootstrap}" not in self._log.read_text():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"the proxy did not start: {self.said}")
            time.sleep(0.02)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def signal(self) -> None:
        """Send SIGTERM."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    @property
    def log(self) -> str:
        """The standard error so far."""
        return self._log.read_text()

    def stop(self) -> None:
        """End the proxy; then `code` and `said` are known."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self.signal()
        try:
            self.code = self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self.code = self._process.wait()
        self._process = None
        self.said = self._log.read_text()
        self._log.unlink()
