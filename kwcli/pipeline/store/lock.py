"""One writer at a time: a lock on the folder that the kernel lets go of when its process is gone, however it ended."""

from __future__ import annotations

import fcntl
import os
import socket
from typing import Final

from kwcli.exits import Failure

# Open handles. A process made by a fork has them too, and would keep the lock when its parent is gone.
_HELD: Final[set[int]] = set()


def _forget() -> None:
    while _HELD:
        os.close(_HELD.pop())


os.register_at_fork(after_in_child=_forget)


class Lock:
    """Held from `take` to `release`. The file says who has it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._handle: int | None = None

    def take(self) -> bool:
        """Whether nobody else has it."""
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle
        _HELD.add(handle)
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        return True

    def require(self, folder: str) -> None:
        """Take it, or say who has it. Raises Failure."""
        if not self.take():
            raise Failure(f"{folder}: another run writes to it ({self.holder()}); wait for it or use another folder")

    def holder(self) -> str:
        """Who took it last."""
        try:
            with open(self._path, encoding="utf-8", errors="replace") as file:
                return file.read(200).strip() or "just starting"
        except OSError:
            return "unknown"

    def release(self) -> None:
        """Let go of it."""
        if self._handle in _HELD:
            _HELD.remove(self._handle)
            os.close(self._handle)
        self._handle = None
