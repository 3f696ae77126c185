"""The user's folders, files that only the user may read, and what killed processes left in them."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

__all__ = ["began", "is_alive", "keep_mode", "make_folder", "open_private", "own_folder", "sweep"]

Kind = Literal["cache", "config", "state"]
# The variable that names the folder of all programs, and where in the user's home it is without.
_HOMES: Final[dict[Kind, tuple[str, str]]] = {
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "config": ("XDG_CONFIG_HOME", ".config"),
    "state": ("XDG_STATE_HOME", ".local/state"),
}


def own_folder(kind: Kind, variables: Mapping[str, str]) -> Path:
    """`$XDG_CACHE_HOME/kw`, or `~/.cache/kw`: it need not be there yet."""
    name, usual = _HOMES[kind]
    stated = variables.get(name)
    return (Path(stated) if stated else Path(variables.get("HOME") or os.path.expanduser("~"), usual)) / "kw"


# A path in, a file or folder out that only its owner may read: what kw writes down of other people's traffic.
#
# Only what is made here is private: a file or folder that is there already keeps its mode, so whoever wants to share
# one makes it first, or changes it afterwards.


_FILE: Final = 0o600
_FOLDER: Final = 0o700


def open_private(path: str | os.PathLike[str], flags: int) -> int:
    """For `opener=` of open() and FileIO."""
    return os.open(path, flags | getattr(os, "O_CLOEXEC", 0), _FILE)


def make_folder(path: str) -> None:
    """A folder, with those above it that are missing; it may be there."""
    above = os.path.dirname(path)
    if above and above != path and not os.path.exists(above):
        make_folder(above)
    try:
        os.mkdir(path, _FOLDER)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def keep_mode(path: str, of: str) -> None:
    """Give a file, which is to take the place of another, the other's mode; where there is none it keeps its own."""
    with suppress(OSError):
        os.chmod(path, os.stat(of).st_mode & 0o7777)


# A process's number in, whether it runs and when it began out; and the files that killed ones left are removed.


# Nobody takes as long as this to write a small file.
_WRITING_S: Final = 60.0


def is_alive(process: int) -> bool:
    """Whether there is such a process, of whichever user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def began(process: int) -> str:
    """When a process began, in the system's own units: process numbers are used again. Empty where it does not say."""
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
