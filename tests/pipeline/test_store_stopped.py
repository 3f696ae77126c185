"""A folder of tables is the old one or the new one, at whatever step a run is stopped: killed, or by a full disk."""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.store.replace_folders_of_tables import JOURNAL, TableStore, find_tables, open_store
from kwcli.run_environment import Failure
from tests.pipeline.stores import NAMES, NEW, OLD, Quick, check_whole, put, seen


class Crash(BaseException):
    """The process is killed."""


class Crashing(Quick):
    """Files that stop the run at the step with this number: before it, or in the middle of a write."""

    left = 0

    def _step(self) -> None:
        Crashing.left -= 1
        if Crashing.left < 0:
            raise Crash

    def create_folder(self, path: str) -> None:
        self._step()
        super().create_folder(path)

    def open_new(self, path: str) -> BinaryIO:
        if Crashing.left == 0:
            super().create_folder(os.path.dirname(path))
            Path(self.full_path(path)).write_bytes(b"{torn")
        self._step()
        return super().open_new(path)

    def rename(self, path: str, to: str) -> None:
        self._step()
        super().rename(path, to)

    def unlink(self, path: str) -> None:
        self._step()
        super().unlink(path)

    def remove_folder(self, path: str) -> None:
        self._step()
        super().remove_folder(path)

    def sync(self, path: str) -> None:
        self._step()
        super().sync(path)


def stopped_at(folder: Path, step: int, spec: Callable[[TableStore], object]) -> bool:
    """Whether work on a folder was stopped at this step, as if the process was killed: only its lock is removed."""
    store = TableStore(Crashing(str(folder)), str(folder))
    Crashing.left = step
    try:
        store.open()
        spec(store)
    except Crash:
        return True
    finally:
        store.close()
    return False


@pytest.fixture
def old(tmp_path: Path) -> Path:
    folder = tmp_path / "old"
    with open_store(str(folder)) as store:
        put(store, "old", OLD, (*NAMES, "connections"))
    return folder


@pytest.mark.long
@pytest.mark.parametrize(
    "before", [True, pytest.param(False, marks=pytest.mark.full)], ids=["over old tables", "into a new folder"]
)
def test_a_run_that_is_killed_at_any_step_leaves_the_old_or_the_new_tables(
    tmp_path: Path, old: Path, before: bool
) -> None:
    tags = []
    for step in range(1000):
        folder = tmp_path / "out"
        shutil.rmtree(folder, ignore_errors=True)
        if before:
            shutil.copytree(old, folder)
        killed = stopped_at(folder, step, lambda store: put(store, "new", NEW))
        tags.append(check_whole(folder))
        if not killed:
            break
    assert len(tags) > 40
    assert tags == sorted(tags, key=["old", "", "new"].index)
    assert set(tags) == {"old" if before else "", "new"}


@pytest.mark.long
def test_who_mends_may_be_killed_at_any_step_too(tmp_path: Path, old: Path) -> None:
    def overdue(folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(old, folder)
        for step in range(1000):
            stopped_at(folder, step, lambda store: put(store, "new", NEW))
            if (folder / JOURNAL).exists():
                return

    kept = tmp_path / "kept"
    overdue(kept)
    for step in range(1000):
        folder = tmp_path / "out"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(kept, folder)
        killed = stopped_at(folder, step, lambda _: None)
        assert check_whole(folder) == "new"
        if not killed:
            break
    assert step > 10


@pytest.mark.long
def test_a_reader_ends_what_a_killed_run_had_begun(old: Path) -> None:
    for step in range(1000):
        stopped_at(old, step, lambda store: put(store, "new", NEW))
        if (old / JOURNAL).exists():
            break
    _, manifest = find_tables(str(old))
    assert manifest.options["tag"] == "new"
    assert seen(old)["exchanges"] == NEW


# -- a full disk -------------------------------------------------------------------------------------------------------


class Full(OutputFolder):
    """Files on a disk that is full after some files."""

    left = 0

    def open_new(self, path: str) -> BinaryIO:
        Full.left -= 1
        return io.BufferedWriter(io.FileIO("/dev/full", "wb")) if Full.left < 0 else super().open_new(path)


@pytest.mark.parametrize("files", range(5))
def test_a_full_disk_is_one_line_and_the_old_tables_stay(old: Path, files: int) -> None:
    Full.left = files
    before = sorted(old.rglob("*"))
    with pytest.raises(Failure) as caught, open_store(str(old), Full) as store:
        put(store, "new", NEW)
    assert caught.value.text == f"{old}: {os.strerror(errno.ENOSPC).lower()}"
    assert sorted(old.rglob("*")) == before
    assert check_whole(old) == "old"
