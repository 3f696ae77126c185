"""Records loopback traffic of some ports into a pcap file with tcpdump, whole packets, nothing dropped."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from kwcli.playground.java_process import Process

__all__ = ["CannotRecord", "Recorder", "cannot_record"]


class CannotRecord(RuntimeError):
    """tcpdump is missing, or not allowed to listen, or the kernel dropped packets."""


def cannot_record() -> str | None:
    """The reason why recording is not possible here, as one sentence, or None."""
    if shutil.which("tcpdump") is None:
        return "needs tcpdump on the PATH"
    probe = ["tcpdump", "-i", _loopback(), "-c", "1", "-d", "tcp"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        return "needs the right to capture on the loopback interface"
    return None


class Recorder:
    """`with Recorder(file, ports): …` — the file is complete when the block ends.

    Packets that the kernel dropped are an error, unless `may_drop`: the capture then lacks them.
    """

    # tcpdump writes its last ring-buffer block only after one second.
    LINGER_S = 2.0

    def __init__(self, file: Path, ports: Iterable[int], *, expression: str = "", may_drop: bool = False) -> None:
        self.file = file
        self._may_drop = may_drop
        self._words = expression or " or ".join(f"tcp port {port}" for port in sorted(ports))
        self._process: Process | None = None
        self._log = Path(tempfile.mkdtemp(prefix="kw-record-")) / "tcpdump.log"

    def __enter__(self) -> Recorder:
        command = ["tcpdump", "-i", _loopback(), "-n", "-s", "0", "-B", "131072", "--immediate-mode"]
        command += ["-Z", "root"] if sys.platform == "linux" and _is_root() else []
        command += ["-U", "-w", str(self.file), self._words]
        self._process = Process(command, self._log)
        deadline = time.monotonic() + 30
        while "listening on" not in self._process.tail():
            if not self._process.running or time.monotonic() > deadline:
                raise CannotRecord(self._process.tail().strip())
            time.sleep(0.02)
        time.sleep(0.2)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process is not None
        time.sleep(self.LINGER_S)
        self._process.terminate()
        self._process.wait()
        said = self._process.tail()
        shutil.rmtree(self._log.parent, ignore_errors=True)
        dropped = re.search(r"(\d+) packets dropped by kernel", said)
        if dropped and int(dropped[1]) and kind is None and not self._may_drop:
            raise CannotRecord(f"the kernel dropped {dropped[1]} packets: {said}")


def _loopback() -> str:
    return "lo" if sys.platform == "linux" else "lo0"


def _is_root() -> bool:
    return os.geteuid() == 0
