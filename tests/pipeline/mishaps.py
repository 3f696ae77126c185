"""Output files that kill the process using them, once (a worker, or an executor with its workers), or that fail."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Literal

from kwcli.pipeline.store.output_folder import OutputFolder

Victim = Literal["worker", "executor"]


class DeadlyFiles(OutputFolder):
    """Files that kill the first process that uses a path with `word` in it, or the JVM above it."""

    def __init__(self, root: str, word: str, victim: Victim, marker: Path) -> None:
        super().__init__(root)
        self._word = word
        self._victim = victim
        self._marker = str(marker)
        self._home = os.getpid()

    def full_path(self, path: str) -> str:
        """The place of a path, after the process was killed if the path is the deadly one."""
        if self._word in path and os.getpid() != self._home and not os.path.exists(self._marker):
            Path(self._marker).touch()
            if self._victim == "executor":
                os.kill(_parent(os.getppid()), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().full_path(path)


class ClumsyFiles(OutputFolder):
    """Files on which any other process fails that uses a path with `word` in it, as by a defect."""

    def __init__(self, root: str, word: str) -> None:
        super().__init__(root)
        self._word = word
        self._home = os.getpid()

    def full_path(self, path: str) -> str:
        """The place of a path. Raises ValueError for a path with `word` in other processes."""
        if self._word in path and os.getpid() != self._home:
            raise ValueError(f"clumsy with {self._word}")
        return super().full_path(path)


def _parent(process: int) -> int:
    """The process id of the JVM: a worker's parent is the daemon that forked it."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
