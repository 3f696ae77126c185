"""A folder of other files is refused and left alone; each file that cannot be written or read is named in one line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kwcli.pipeline.store.replace_folders_of_tables import find_tables, open_store
from kwcli.run_environment import Failure
from tests.pipeline.stores import NEW, put


def _file(folder: Path) -> None:
    folder.write_text("no folder")


def _captures(folder: Path) -> None:
    folder.mkdir()
    (folder / "a.pcap").write_bytes(b"")


def _control(folder: Path) -> None:
    (folder / "_kw").mkdir(parents=True)
    (folder / "_kw" / "notes.txt").write_text("mine")


def _later(folder: Path) -> None:
    (folder / "_kw").mkdir(parents=True)
    (folder / "_kw" / "kw.json").write_text('{"kw": "99.0", "format": 99}')


def _stranger(folder: Path) -> None:
    with open_store(str(folder)) as store:
        put(store, "a", 3)
    (folder / "exchanges" / "mine.parquet").write_bytes(b"")


def _damaged(folder: Path) -> None:
    with open_store(str(folder)) as store:
        put(store, "a", 3)
        (folder / "_kw" / "manifest.json").write_bytes(b"{")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_file, "not a folder"),
        (_captures, "not empty (a.pcap) and no folder of tables"),
        (_control, "not empty (_kw/notes.txt) and no folder of tables"),
        (_later, "written by a later kw (99.0)"),
        (_stranger, "exchanges/mine.parquet is not from kw"),
        (_damaged, "_kw/manifest.json is damaged"),
    ],
)
def test_a_folder_that_is_something_else_is_refused_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    folder = tmp_path / "out"
    make(folder)
    before = sorted(path for path in tmp_path.rglob("*") if path.name != "lock")
    with pytest.raises(Failure, match="out: ") as caught, open_store(str(folder)):
        pass
    assert said in caught.value.text
    assert "\n" not in caught.value.text
    assert sorted(path for path in tmp_path.rglob("*") if path.name != "lock") == before


def test_a_url_is_refused() -> None:
    with (
        pytest.raises(Failure, match="s3://bucket/out: tables are written to a local or mounted folder"),
        open_store("s3://bucket/out"),
    ):
        pass


def test_reading_where_there_are_no_tables_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with pytest.raises(Failure, match="out: no such folder"):
        find_tables(str(folder))
    _captures(folder)
    with pytest.raises(Failure, match="out: no tables; kw pipeline run makes them"):
        find_tables(str(folder))
    shutil.rmtree(folder)
    with open_store(str(folder)), pytest.raises(Failure, match="out: no tables yet"):
        find_tables(str(folder))
    with open_store(str(folder)) as store:
        manifest = put(store, "new", NEW)
    path = manifest.tables["exchanges"].files[0]
    (folder / path).unlink()
    with pytest.raises(Failure, match=f"out: {path} is missing"):
        find_tables(str(folder))


@pytest.mark.parametrize("path", ["out/exchanges", "elsewhere", "out-of-here/x"])
def test_what_the_system_refuses_names_the_folder_or_what_else_it_was(tmp_path: Path, path: str) -> None:
    folder, file = tmp_path / "out", tmp_path / path
    with pytest.raises(Failure) as caught, open_store(str(folder)):
        file.open().close()
    assert caught.value.text == f"{folder if path.startswith('out/') else file}: no such file or directory"
