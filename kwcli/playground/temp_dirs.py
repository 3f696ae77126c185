"""Folders of playgrounds in the user's state folder: made, removed, and cleaned when their owner is gone.

A playground that is killed at once (kill -9) cannot clean up; the kernel ends its brokers, and the next playground
removes its folder. The owner of a folder is identified by its process number and the time when that process began.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from kwcli.playground.process_liveness import is_process_alive, read_process_start
from kwcli.user_folders import own_folder

__all__ = ["PlaygroundFolder", "find_playgrounds_folder", "remove_abandoned_folders"]

OWNER: Final = "owner"


def find_playgrounds_folder(variables: Mapping[str, str]) -> Path:
    """The folder in which all playgrounds of this user have their folders (XDG base directories: state)."""
    return own_folder("state", variables) / "playgrounds"


class PlaygroundFolder:
    """One playground's folder, removed at the end of the `with` block."""

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=home))
        (self.folder / OWNER).write_text(f"{os.getpid()} {read_process_start(os.getpid())}\n")

    def __enter__(self) -> Path:
        return self.folder

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def remove_abandoned_folders(home: Path, forget: Callable[[Path], None]) -> list[Path]:
    """Remove the folders whose owner is gone, each after `forget` has undone what was done for it elsewhere."""
    gone = []
    for folder in sorted(home.glob("*-*")) if home.is_dir() else []:
        if not _has_living_owner(folder):
            forget(folder)
            shutil.rmtree(folder, ignore_errors=True)
            gone.append(folder)
    return gone


def _has_living_owner(folder: Path) -> bool:
    try:
        number, _, since = (folder / OWNER).read_text().strip().partition(" ")
        process = int(number)
    except (OSError, ValueError):
        # No owner yet: another playground is just making the folder. An older folder was never finished.
        return False if not folder.exists() else _is_younger_than_start(folder)
    return is_process_alive(process) and read_process_start(process) == since


def _is_younger_than_start(folder: Path) -> bool:
    try:
        number = int(folder.name.partition("-")[0])
    except ValueError:
        return True  # not a folder of kw
    return is_process_alive(number)
