"""Dates that are over become few files: no reader sees a row twice or misses one, whatever is killed meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow.dataset as ds
import pytest

from kwcli.pipeline.store.compact_tables import Compacted, compact_tables
from kwcli.pipeline.store.finish_commits import finish_steps_of_commit, replace_folder
from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.store.replace_folders_of_tables import find_tables
from tests.captures.shipped import capture_bytes
from tests.pipeline.odd import packets
from tests.pipeline.watched import Watched, tables_in

RAW: Final = capture_bytes("sasl-raw.pcap")
LATENESS: Final = timedelta(hours=1)


def days(folder: Path, *moved_by: int) -> Iterator[Path]:
    """Files of the same traffic moved by some days, three files a day."""
    kept = list(packets(RAW))
    for day in moved_by:
        moved = [(int.from_bytes(one[:4], "little") + day * 86_400).to_bytes(4, "little") + one[4:] for one in kept]
        for part in range(3):
            path = folder / f"{day}-{part}.pcap"
            path.write_bytes(RAW[:24] + b"".join(moved[part * len(moved) // 3 : (part + 1) * len(moved) // 3]))
            yield path


def watched_days(tmp_path: Path, *moved_by: int, renames: bool = True) -> Watched:
    """A watch that has read each file in its own batch."""
    (tmp_path / "in").mkdir(exist_ok=True)
    watched = Watched([str(tmp_path / "in")], tmp_path / "out", renames=renames)
    with watched.started() as watching:
        for _ in days(tmp_path / "in", *moved_by):
            watched.clock.now += 1
            assert watching.run_next_batch() is not None
    return watched


def done(out: Path, **more: Any) -> list[Compacted]:
    return list(compact_tables(str(out), LATENESS, more.get("keep_days", 0)))


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("renames", [True, False])
def test_dates_that_are_over_are_one_file_each(tmp_path: Path, renames: bool) -> None:
    watched_days(tmp_path, 0, 2, renames=renames)
    out = tmp_path / "out"
    before = tables_in(out)
    first, last = sorted({row["time"].date() for row in before["exchanges"]})
    found = done(out)
    assert {(one.day, one.now) for one in found} == {(first, 1)}
    assert "exchanges" in {one.table for one in found}
    assert tables_in(out) == before
    assert len(list((out / "exchanges" / f"date={first}").iterdir())) == 1
    assert len(list((out / "exchanges" / f"date={last}").iterdir())) == 3
    assert find_tables(str(out))[1].tables["exchanges"].rows == len(before["exchanges"])
    assert not done(out)


@pytest.mark.long
def test_a_watch_goes_on_behind_a_compaction_and_a_batch_between_is_kept(tmp_path: Path) -> None:
    watched = watched_days(tmp_path, 0, 2)
    out = tmp_path / "out"
    going = compact_tables(str(out), LATENESS, 0)
    next(going)
    with watched.started() as watching:  # it sweeps, and adds rows to the date that is over
        late = list(days(tmp_path / "in", 3))
        watched.clock.now += 1
        assert late
        assert watching.run_next_batch() is not None
    assert list(going)
    rows = tables_in(out)
    assert find_tables(str(out))[1].tables["exchanges"].rows == len(rows["exchanges"])


@pytest.mark.long
def test_a_plain_reader_in_a_loop_sees_all_rows_or_an_error_never_some(tmp_path: Path) -> None:
    watched_days(tmp_path, *range(8), 12)
    out = tmp_path / "out"
    expected = len(tables_in(out)["exchanges"])
    seen: set[int] = set()
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            try:
                seen.add(ds.dataset(out / "exchanges", partitioning="hive").count_rows())
            except OSError:  # a listed file has been replaced: ask again
                seen.add(expected)

    reader = threading.Thread(target=read)
    reader.start()
    found = done(out)
    over.set()
    reader.join()
    assert len({one.day for one in found}) == 8
    assert seen == {expected}


@pytest.mark.parametrize("steps", range(4))
def test_a_swap_that_stops_at_any_step_is_ended(tmp_path: Path, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    files = OutputFolder(str(tmp_path))
    for folder, name in (("old", "a"), ("new", "mark")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(b"")
    monkeypatch.setattr("kwcli.pipeline.store.finish_commits._exchange_folders", lambda *_: False)
    left = [steps]

    def counted(step: Any) -> Any:
        def called(*words: Any) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            step(*words)

        return called

    stopping = OutputFolder(str(tmp_path))
    for name in ("rename", "unlink", "remove_folder"):
        monkeypatch.setattr(stopping, name, counted(getattr(stopping, name)))
    with suppress(KeyboardInterrupt):
        replace_folder(stopping, "new", "old", "mark")
    for _ in range(2):
        finish_steps_of_commit(files, {"moves": [], "gone": ["old/a"], "swaps": [["new", "old", "mark"]]})
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert [path.name for path in (tmp_path / "old").iterdir()] == ["mark"]


def test_dates_that_are_not_kept_go(tmp_path: Path) -> None:
    watched_days(tmp_path, 0, 40)
    done(tmp_path / "out", keep_days=30)
    assert len({row["time"].date() for row in tables_in(tmp_path / "out")["exchanges"]}) == 1
