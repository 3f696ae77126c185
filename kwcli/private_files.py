"""Files and folders that only the user may read, and the removal of files that killed processes left."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["began", "is_alive", "keep_mode", "make_folder", "open_private", "sweep"]

# A path in, a file or folder out that only its owner may read: for what kw records of other people's traffic.
#
# Only what is made here is private: a file or folder that is there already keeps its mode, so whoever wants to share
# one makes it first, or changes it afterwards.


_FILE: Final = 0o600
_FOLDER: Final = 0o700


def open_private(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file that only its owner may read; for `opener=` of open() and FileIO."""
    return os.open(path, flags | getattr(os, "O_CLOEXEC", 0), _FILE)


def make_folder(path: str) -> None:
    """Make a folder, and missing folders above it, for the owner alone; the folder may exist already."""
    above = os.path.dirname(path)
    if above and above != path and not os.path.exists(above):
        make_folder(above)
    try:
        os.mkdir(path, _FOLDER)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def keep_mode(path: str, of: str) -> None:
    """Give the file `path`, which is to replace the file `of`, the mode of that file where it exists."""
    with suppress(OSError):
        os.chmod(path, os.stat(of).st_mode & 0o7777)


# A process number in, whether the process runs and when it began out; and the removal of killed processes' files.


# Longer than any process takes to write a small file.
_WRITING_S: Final = 60.0


def is_alive(process: int) -> bool:
    """Whether a process with this number exists, of any user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def began(process: int) -> str:
    """When a process began, in the system's own units: process numbers are reused. Empty where unknown."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def sweep(pattern: str) -> None:
    """Remove the files NAME.PROCESS of this pattern whose process was killed while it wrote them."""
    import glob

    for left in glob.glob(pattern):
        number = left.rpartition(".")[2]
        with suppress(OSError):
            late = time.time() - os.stat(left).st_mtime > _WRITING_S  # its number may be another process's by now
            if number.isdecimal() and (late or not is_alive(int(number))):
                os.unlink(left)
