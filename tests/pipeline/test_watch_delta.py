"""Tables of a watch as Delta tables: whatever is killed when, the log names each file of the tables once."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kwcli.pipeline.store.compact_tables import compact_tables
from kwcli.pipeline.store.delta_log_writer import DeltaLogs
from kwcli.pipeline.store.finish_commits import read_newest_commit
from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.tables.table_columns import TABLES
from tests.captures.shipped import capture_bytes
from tests.pipeline.test_watch import ring
from tests.pipeline.test_watch_compaction import days
from tests.pipeline.watched import Watched, run_over, tables_in

RAW: Final = capture_bytes("sasl-raw.pcap")


def rows_of(out: Path, table: str) -> list[str]:
    """The rows that a reader of Delta sees, without the names of files."""
    rows = DeltaTable(out / table).to_pyarrow_table().to_pylist()
    assert all(row["date"] == row["time"].date() for row in rows)
    return shown(rows)


def paths_of(out: Path, table: str) -> list[str]:
    found: list[str] = pa.table(DeltaTable(out / table).get_add_actions(flatten=True))["path"].to_pylist()
    return sorted(found)


def shown(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr([value for name, value in row.items() if not name.endswith(("_file", "date"))]) for row in rows)


def is_the_commit(out: Path, *more: str) -> bool:
    """Whether the logs name exactly the files of the newest commit."""
    value = read_newest_commit(OutputFolder(str(out)))
    assert value is not None
    named = sorted(f"{table}/{path}" for table in (*TABLES, *more) for path in paths_of(out, table))
    return named == sorted(value["sizes"])


@pytest.mark.long
@pytest.mark.parametrize("renames", [True, False])
def test_a_reader_of_delta_sees_the_rows_of_a_run_whenever_a_watch_dies(
    tmp_path: Path, renames: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ring(tmp_path / "aside", RAW, 5)
    (tmp_path / "in").mkdir()
    out = tmp_path / "out"
    watched = Watched([str(tmp_path / "in")], out, renames=renames, table_format="delta")
    for number, path in enumerate(kept):
        shutil.copy(path, tmp_path / "in" / path.name)
        watched.clock.now += 1
        with watched.started() as watching, monkeypatch.context() as patch:
            if number in (0, 2):  # the watch is killed after its commit, before the logs
                patch.setattr(DeltaLogs, "apply_commit_to_logs", dies)
            elif number in (1, 3):  # the watch is killed after the log of one table
                patch.setattr(DeltaLogs, "_apply_commit_to_log", dies_after_one(DeltaLogs._apply_commit_to_log))
            if number < 4:
                with pytest.raises(RuntimeError, match="killed"):
                    watching.run_next_batch()
                assert not is_the_commit(out) if number else not (out / "skipped" / "_delta_log").exists()
            else:
                assert watching.run_next_batch() is not None
        with watched.started() as watching:
            assert watching.batch == number + 1
            assert is_the_commit(out)
    watched.finish()
    run_over([str(tmp_path / "aside")], tmp_path / "run")
    expected = tables_in(tmp_path / "run")
    assert expected["exchanges"]
    for table in TABLES:
        assert rows_of(out, table) == shown(expected[table])
    history = DeltaTable(out / "exchanges").history()
    assert [each["kw_commit"] for each in history if "kw_commit" in each] == [
        "5",
        "4",
        "3",
        "2",
        "1",
    ]  # no connection was open at the end


def dies(*_: Any) -> None:
    raise RuntimeError("killed")


def dies_after_one(follow: Any) -> Any:
    done: list[str] = []

    def dies(self: DeltaLogs, table: str, *more: Any) -> None:
        if done:
            raise RuntimeError("killed")
        follow(self, table, *more)
        done.append(table)

    return dies


@pytest.mark.long
def test_dates_that_are_compacted_or_dropped_are_so_in_the_log(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    out = tmp_path / "out"
    watched = Watched([str(tmp_path / "in")], out, table_format="delta")
    with watched.started() as watching:
        for number, _ in enumerate(days(tmp_path / "in", 0, 2, 4)):
            watched.clock.now += 1
            assert watching.run_next_batch() is not None
            if number == 5:  # another process, while the watch runs
                before = rows_of(out, "exchanges")
                assert list(compact_tables(str(out), timedelta(hours=1), 0))
                assert is_the_commit(out)
                assert rows_of(out, "exchanges") == before
    assert is_the_commit(out)
    last = sorted((out / "exchanges" / "_delta_log").glob("*.json"))[-4]
    actions = [json.loads(line) for line in last.read_text().splitlines()]
    changes = [each["dataChange"] for action in actions for each in action.values() if "dataChange" in each]
    assert changes[0] is False  # the same rows in another file
    assert len(set(changes)) == 1
    list(compact_tables(str(out), timedelta(hours=1), 3))
    assert is_the_commit(out)
    assert len({path.partition("/")[0] for path in paths_of(out, "exchanges")} - {"date=1970-01-01"}) == 2
