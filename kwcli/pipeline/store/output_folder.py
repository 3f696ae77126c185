"""Reads and writes below one folder, by relative paths: all access to the folder of tables goes through here.

Each method is one step that is done or not done when the process is killed; longer operations are made of such steps.
One writer at a time holds a lock on the folder, which the kernel releases when its process ends, in whichever way.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO, Final

from kwcli.private_files import create_private_folder, open_private_file
from kwcli.run_environment import Failure

_LOOK_S: Final = 0.02
# Open handles. A process made by a fork has them too, and would keep the lock when its parent is gone.
_HELD: Final[set[int]] = set()


def _close_locks_of_parent_process() -> None:
    while _HELD:
        os.close(_HELD.pop())


os.register_at_fork(after_in_child=_close_locks_of_parent_process)


class Lock:
    """A lock between processes, held from `acquire` to `release`. Its file says which process has it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._handle: int | None = None

    def acquire(self) -> bool:
        """Take the lock if it is free; whether it was."""
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

    def acquire_or_fail(self, folder: str) -> None:
        """Take the lock. Raises Failure, which says who has it, where another process holds it."""
        if not self.acquire():
            raise Failure(
                f"{folder}: another run writes to it ({self.describe_holder()}); wait for it or use another folder"
            )

    def wait(self, folder: str, patience_s: float) -> None:
        """Take the lock as soon as it is released, which never takes long. Failure after `patience_s` seconds."""
        until = time.monotonic() + patience_s
        while not self.acquire():
            if time.monotonic() > until:
                raise Failure(
                    f"{folder}: {self.describe_holder()} has been writing to it for {patience_s:.0f} s: try again"
                )
            time.sleep(_LOOK_S)

    def describe_holder(self) -> str:
        """The process that took the lock last, in words."""
        try:
            with open(self._path, encoding="utf-8", errors="replace") as file:
                return file.read(200).strip() or "just starting"
        except OSError:
            return "unknown"

    def release(self) -> None:
        """Release the lock, if it is held."""
        if self._handle in _HELD:
            _HELD.remove(self._handle)
            os.close(self._handle)
        self._handle = None


# Files that must outlive a power cut are synced before the step that relies on them. New files are for the owner only.


# The ending of a file that is not whole yet.
PARTIAL: Final = ".partial"


class OutputFolder:
    """A local folder (or one that is mounted). Paths are relative, with slashes. Can be pickled."""

    def __init__(self, root: str) -> None:
        self.root = root

    def full_path(self, path: str) -> str:
        """The path with the folder in front, for code that does not know the folder."""
        return os.path.join(self.root, path) if path else self.root

    # -- looking -------------------------------------------------------------------------------------------------------

    def exists(self, path: str) -> bool:
        """Whether a file, folder or link has this path."""
        return os.path.lexists(self.full_path(path))

    def size(self, path: str) -> int | None:
        """The bytes of a file; None where there is none."""
        try:
            return os.stat(self.full_path(path)).st_size
        except FileNotFoundError:
            return None

    def is_folder(self, path: str) -> bool:
        """Whether a folder has this path."""
        return os.path.isdir(self.full_path(path))

    def list_names(self, path: str) -> list[str]:
        """The names in a folder, in order; none where there is no folder."""
        try:
            return sorted(os.listdir(self.full_path(path)))
        except FileNotFoundError:
            return []

    def list_files_below(self, path: str) -> Iterator[str]:
        """All files below a folder, in order."""
        for name in self.list_names(path):
            inner = f"{path}/{name}"
            if self.is_folder(inner) and not os.path.islink(self.full_path(inner)):
                yield from self.list_files_below(inner)
            else:
                yield inner

    def read(self, path: str) -> bytes | None:
        """A whole file; None where there is none."""
        try:
            with open(self.full_path(path), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    # -- steps ---------------------------------------------------------------------------------------------------------

    def create_folder(self, path: str) -> None:
        """Make a folder and the folders above it, for their owner only; it may be there already."""
        create_private_folder(self.full_path(path))

    def open_new(self, path: str) -> BinaryIO:
        """A new file, synced when it is closed; its folder is made."""
        self.create_folder(os.path.dirname(path))
        return io.BufferedWriter(_Synced(self.full_path(path), "xb", opener=open_private_file))

    def open_temporary(self, path: str, buffering: int = io.DEFAULT_BUFFER_SIZE) -> BinaryIO:
        """A new file that need not outlive a power cut; its folder is made."""
        self.create_folder(os.path.dirname(path))
        return io.BufferedWriter(io.FileIO(self.full_path(path), "xb", opener=open_private_file), buffering)

    def rename(self, path: str, to: str) -> None:
        """Move a file over another, or a folder to where nothing is."""
        os.replace(self.full_path(path), self.full_path(to))

    def unlink(self, path: str) -> None:
        """Delete a file; it may be gone."""
        with suppress(FileNotFoundError):
            os.unlink(self.full_path(path))

    def remove_folder(self, path: str) -> None:
        """Delete an empty folder; it may be gone, and one that a late writer has put something into stays."""
        try:
            os.rmdir(self.full_path(path))
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
                raise

    def sync(self, path: str) -> None:
        """Have a file, or the names in a folder, outlive a power cut."""
        handle = os.open(self.full_path(path), os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    # -- made of steps -------------------------------------------------------------------------------------------------

    def replace(self, path: str, data: bytes) -> None:
        """Write a whole file at once: after a crash the old content or the new."""
        partial = path + PARTIAL
        self.unlink(partial)
        with self.open_new(partial) as file:
            file.write(data)
        self.rename(partial, path)
        self.sync(os.path.dirname(path))

    def move(self, path: str, to: str) -> None:
        """Rename into a folder that may have to be made."""
        self.create_folder(os.path.dirname(to))
        self.rename(path, to)

    def sync_tree(self, path: str) -> None:
        """Sync a folder and all below it."""
        for name in self.list_names(path):
            if self.is_folder(f"{path}/{name}"):
                self.sync_tree(f"{path}/{name}")
        self.sync(path)

    def remove(self, path: str) -> None:
        """Delete a folder with all that is in it."""
        if self.is_folder(path) and not os.path.islink(self.full_path(path)):
            for name in self.list_names(path):
                self.remove(f"{path}/{name}")
            self.remove_folder(path)
        else:
            self.unlink(path)


class _Synced(io.FileIO):
    """A file that is on the disk when it is closed."""

    def close(self) -> None:
        """Sync, then close."""
        if not self.closed:
            try:
                os.fsync(self.fileno())
            finally:
                super().close()


def require_local_folder(place: str) -> str:
    """The absolute path of the folder that `--out` names. Failure for a URL, where no folder can be swapped whole."""
    scheme, colon, rest = place.partition("://")
    if colon and scheme != "file":
        raise Failure(
            f"{place}: tables are written to a local or mounted folder, whose files can be swapped in one step; "
            f"copy them to {scheme}:// when the run is over"
        )
    return os.path.abspath(rest if colon else place)
