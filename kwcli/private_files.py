"""A path in, a file or folder out that only its owner may read: what kw writes down of other people's traffic.

Only what is made here is private: a file or folder that is there already keeps its mode, so whoever wants to share one
makes it first, or changes it afterwards.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

__all__ = ["keep_mode", "make_folder", "open_private"]

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
