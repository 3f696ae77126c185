"""Files and folders that only the user may read, and the removal of files that killed processes left.

They are for what kw records of other people's traffic. A regular file that was there before becomes private too:
whoever reads it at its place would read the new traffic. A folder that is there already keeps its mode. Devices, FIFOs
and descriptors (/dev/stdout, /dev/fd/3) are others' and stay as they are.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from contextlib import suppress
from typing import IO, Final

__all__ = [
    "ScratchFolder",
    "StagedFile",
    "can_be_changed_by_others",
    "create_private_folder",
    "is_path_of_open_descriptor",
    "is_unlocked",
    "lock_file",
    "open_private_file",
    "remove_abandoned_files",
    "remove_abandoned_folders",
    "write_private_file",
]

_FILE: Final = 0o600
_FOLDER: Final = 0o700
# A folder whose entries are the open files of a process; /dev/stdout, /dev/fd are links into it on Linux.
_DESCRIPTORS: Final = re.compile(r"/dev/fd|/proc/[^/]+(/task/\d+)?/fd")
_LINKS_MAX: Final = 40  # as Linux follows


def open_private_file(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file that only its owner may read; for `opener=` of open() and FileIO.

    A regular file is private before anything is written to it. OSError where it is another user's, who could read on.
    """
    handle = os.open(path, (flags & ~os.O_TRUNC) | os.O_CLOEXEC, _FILE)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return handle
        if stat.S_IMODE(status.st_mode) != _FILE and not is_path_of_open_descriptor(path):
            try:
                os.fchmod(handle, _FILE)
            except PermissionError:
                if status.st_uid != os.geteuid():
                    raise
                # Ours, on a file system without modes.
        if flags & os.O_TRUNC:
            os.ftruncate(handle, 0)
    except BaseException:
        os.close(handle)
        raise
    return handle


def is_path_of_open_descriptor(path: str | os.PathLike[str]) -> bool:
    """Whether a path means an open file of a process, as /dev/stdout and /dev/fd/3 do."""
    at = os.path.abspath(path)
    for _ in range(_LINKS_MAX):
        folder = os.path.dirname(at)
        if _DESCRIPTORS.fullmatch(folder) or _DESCRIPTORS.fullmatch(os.path.realpath(folder)):
            return True
        try:
            at = os.path.join(folder, os.readlink(at))
        except OSError:  # no link
            return False
    return False


def can_be_changed_by_others(status: os.stat_result) -> bool:
    """Whether users other than the owner can write a file, or replace files of a folder.

    The group of a user alone, with which files are made where the umask is 002, has no others in it.
    """
    mode = status.st_mode
    if stat.S_ISDIR(mode) and mode & stat.S_ISVTX:
        return False  # others can only add to it
    return bool(mode & stat.S_IWOTH) or bool(mode & stat.S_IWGRP and not _is_private_group(status.st_gid))


def _is_private_group(group: int) -> bool:
    """Whether the user is the only member of a group: it has the user's name, as distributions make it."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and user.pw_name == found.gr_name and set(found.gr_mem) <= {user.pw_name}


def create_private_folder(path: str) -> None:
    """Make a folder, and missing folders above it, for the owner alone; the folder may exist already."""
    above = os.path.dirname(path)
    if above and above != path and not os.path.exists(above):
        create_private_folder(above)
    try:
        os.mkdir(path, _FOLDER)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


# Files that get their name when they are whole


_STAGED: Final = re.compile(r".+\.kw-[0-9a-f]{8}", re.DOTALL)
_NONCE_SIZE: Final = 4


class StagedFile:
    """A file that is written under another name, `path`, and gets its own when it is whole.

    A link is followed: the file that it leads to is replaced. What is no regular file is written at its place.

    The file is written beside its place as NAME.kw-12345678, under a lock that the kernel drops with its process,
    however that ends. So a file of this form that nobody has locked was left by a process that was killed; the next
    StagedFile in the folder removes it. Process numbers would not do: another machine or container may share the
    folder.
    """

    def __init__(self, name: str) -> None:
        """Make the file. Raises OSError."""
        self._name: str | None = None
        self.path = name
        try:
            is_file = stat.S_ISREG(os.stat(name).st_mode)  # stat, unlike readlink, minds whose a link in /tmp is
        except FileNotFoundError:
            is_file = True
        if not is_file or is_path_of_open_descriptor(name):
            self.file: IO[bytes] = open(name, "wb", opener=open_private_file)  # noqa: SIM115  # until `give_final_name`
            return
        self._name = os.path.realpath(name)
        remove_abandoned_files(os.path.dirname(self._name))
        while True:
            self.path = f"{self._name}.kw-{os.urandom(_NONCE_SIZE).hex()}"
            self.file = open(self.path, "xb", opener=open_private_file)  # noqa: SIM115  # until `give_final_name`
            lock_file(self.file.fileno())
            with suppress(FileNotFoundError):  # a sweep has found it before it was locked
                if os.path.samestat(os.stat(self.path), os.fstat(self.file.fileno())):
                    return
            self.file.close()

    def give_final_name(self) -> None:
        """Give the file, which is whole, its name, and close it. Raises OSError."""
        self.file.flush()
        if self._name is not None:
            os.replace(self.path, self._name)
        self._name, self.path = None, self._name or self.path
        self.file.close()

    def delete_unfinished(self) -> None:
        """Delete the file, unless it has its name already."""
        with suppress(OSError):
            self.file.close()
        if self._name is not None:
            with suppress(OSError):
                os.unlink(self.path)
            self._name = None


def write_private_file(name: str, data: bytes) -> None:
    """Write a whole private file: the old content stays until the new one is there. Raises OSError."""
    staged = StagedFile(name)
    try:
        staged.file.write(data)
        staged.give_final_name()
    finally:
        staged.delete_unfinished()


def remove_abandoned_files(folder: str) -> None:
    """Remove the user's files of a folder that a StagedFile left whose process was killed."""
    try:
        names = os.listdir(folder or os.curdir)
    except OSError:
        return
    for name in filter(_STAGED.fullmatch, names):
        path = os.path.join(folder, name)
        with suppress(OSError):
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and is_unlocked(path):
                os.unlink(path)


def lock_file(handle: int) -> None:
    """Lock an open file for its process, as far as the file system has locks."""
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_unlocked(path: str) -> bool:
    """Whether nobody has locked a regular file; False also where that cannot be found out."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


# Folders that go with their process


_MARK: Final = ".kw-scratch"


class ScratchFolder:
    """A new folder, `name`, for this process; removed by `delete_folder`, at the latest when the program ends.

    It is in the system's temporary folder, and holds a file that is locked as a StagedFile is. So the next folder of
    this prefix can tell that a process was killed, and it removes what that process left, which may be gigabytes of
    other people's traffic.
    """

    def __init__(self, prefix: str) -> None:
        """Make the folder, and remove those of killed processes. Raises OSError."""
        import tempfile
        import weakref

        remove_abandoned_folders(tempfile.gettempdir(), prefix)
        self.name = tempfile.mkdtemp(prefix=prefix)  # of mode 0700
        handles: list[int] = []
        self._remove = weakref.finalize(self, _remove_scratch_folder, self.name, handles)
        mark = os.path.join(self.name, _MARK)
        handles.append(open_private_file(f"{mark}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL))
        lock_file(handles[0])
        os.rename(f"{mark}.new", mark)  # it is locked from the moment that it has the name

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_: object) -> None:
        self.delete_folder()

    def delete_folder(self) -> None:
        """Remove the folder with all that is in it."""
        self._remove()


def _remove_scratch_folder(folder: str, handles: list[int]) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    for handle in handles:
        os.close(handle)


def remove_abandoned_folders(folder: str, prefix: str) -> None:
    """Remove the user's folders of a ScratchFolder whose process was killed."""
    import shutil

    made = re.compile(re.escape(prefix) + r"[a-z0-9_]{8}")  # as tempfile names them
    for name in filter(made.fullmatch, os.listdir(folder)):
        path = os.path.join(folder, name)
        with suppress(OSError):
            status = os.lstat(path)
            own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
            if own and is_unlocked(os.path.join(path, _MARK)):
                shutil.rmtree(path, ignore_errors=True)
