"""Clients that are not Python: built once from their sources here into the cache, then run in place of this process."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.broker.jars import find_jar_cache_folder

__all__ = ["become", "built"]


def built(name: str, folder: Path, command: Sequence[str]) -> Path:
    """A copy of `folder` in the cache, after `command` has run in it; one copy for each state of the sources."""
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.is_file():
            digest.update(file.name.encode() + file.read_bytes())
    place = find_jar_cache_folder() / f"{name}-{digest.hexdigest()[:16]}"
    find_jar_cache_folder().mkdir(parents=True, exist_ok=True)
    with open(find_jar_cache_folder() / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.is_dir():
            scratch = place.with_suffix(".building")
            shutil.rmtree(scratch, ignore_errors=True)
            shutil.copytree(folder, scratch)
            subprocess.run(command, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
            scratch.rename(place)
    return place


def become(command: list[str]) -> None:
    """Replace this process (the signals meant for it reach the client)."""
    os.execvp(command[0], command)
