"""A commit of tables that grow by batches in, its files in their places out; batch_store.py explains commits."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from typing import Any, Final

import orjson

from kwcli.pipeline.store.output_folder import Lock, OutputFolder
from kwcli.pipeline.store.staging_folder import CONTROL
from kwcli.pipeline.tables.upgrade_table_rows import refuse_newer_tables

__all__ = ["COMMITS", "COMMIT_LOCK", "finish_newest_commit", "finish_steps_of_commit", "read_newest_commit"]

COMMITS: Final = f"{CONTROL}/commits"
COMMIT_LOCK: Final = f"{CONTROL}/commit.lock"


def read_newest_commit(files: OutputFolder) -> dict[str, Any] | None:
    """The last commit that was written to its end, of tables that grow by batches; None where there is none."""
    for name in reversed(files.list_names(COMMITS)):
        if name.endswith(".json"):
            try:
                value = orjson.loads(files.read(f"{COMMITS}/{name}") or b"")
            except orjson.JSONDecodeError:
                continue  # its writer was killed, or is not ready yet
            if isinstance(value, dict):
                return value
    return None


def finish_steps_of_commit(files: OutputFolder, value: Mapping[str, Any] | None) -> bool:
    """Do the steps of a commit that have not happened yet; whether there were any."""
    if value is None:
        return False
    folders = set()
    done = False
    for path, to in value["moves"]:
        if files.exists(path):
            files.move(path, to)
            folders.add(os.path.dirname(to))
            done = True
    for new, partition, mark in value["swaps"]:
        if files.exists(new) or files.exists(_make_path_for_replaced_folder(new)):
            replace_folder(files, new, partition, mark)
            folders.add(os.path.dirname(partition))
            done = True
    for path in value["gone"]:
        if files.exists(path):
            files.unlink(path)
            files.remove_folder(os.path.dirname(path))
            done = True
    for folder in sorted(folders):
        files.sync(folder)
    return done


# renameat2(2): both names change what they name at once.
_EXCHANGE: Final = 2
_HERE: Final = -100


def replace_folder(files: OutputFolder, new: str, old: str, mark: str) -> None:
    """Put the folder `new` where `old` is, and delete what was there: at once where the system can.

    Every step may have happened already: the folder with the file `mark` is the new one, under either name.
    """
    aside = _make_path_for_replaced_folder(new)
    if files.exists(f"{new}/{mark}") and not (
        files.exists(old) and _exchange_folders(files.full_path(new), files.full_path(old))
    ):
        if files.exists(old):
            files.rename(old, aside)
        files.move(new, old)
    for path in (new, aside):  # what was there before
        files.remove(path)


def _make_path_for_replaced_folder(new: str) -> str:
    """The path of a folder that is being replaced, for a moment."""
    return f"{new}.old"


def _exchange_folders(new: str, old: str) -> bool:
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return bool(call(_HERE, os.fsencode(new), _HERE, os.fsencode(old), _EXCHANGE) == 0)


def finish_newest_commit(files: OutputFolder) -> None:
    """Finish the newest commit where the process that wrote it is gone. Raises NewerTables."""
    lock = Lock(files.full_path(COMMIT_LOCK))
    if lock.acquire():
        try:
            value = read_newest_commit(files)
            refuse_newer_tables((value or {}).get("tables_version"), files.root)
            finish_steps_of_commit(files, value)
        finally:
            lock.release()
