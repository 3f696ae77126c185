"""Files of a run that kill who uses them, once (a worker, or an executor with its workers), or that have a defect."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Literal

from kwcli.pipeline.store.files import OutputFolder

Victim = Literal["worker", "executor"]


class DeadlyFiles(OutputFolder):
    """The first process that touches a path with `word` in it ends there, or the JVM does that it works for."""

    def __init__(self, root: str, word: str, victim: Victim, marker: Path) -> None:
        super().__init__(root)
        self._word = word
        self._victim = victim
        self._marker = str(marker)
        self._home = os.getpid()

    def path(self, path: str) -> str:
        """Where that is, for those who live to see it."""
        if self._word in path and os.getpid() != self._home and not os.path.exists(self._marker):
            Path(self._marker).touch()
            if self._victim == "executor":
                os.kill(_parent(os.getppid()), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().path(path)


class ClumsyFiles(OutputFolder):
    """No other process gets a path with `word` in it: a defect."""

    def __init__(self, root: str, word: str) -> None:
        super().__init__(root)
        self._word = word
        self._home = os.getpid()

    def path(self, path: str) -> str:
        """Where that is."""
        if self._word in path and os.getpid() != self._home:
            raise ValueError(f"clumsy with {self._word}")
        return super().path(path)


def _parent(process: int) -> int:
    """The JVM: a worker's parent is the daemon that forked it."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
