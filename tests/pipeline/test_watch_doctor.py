"""Findings of a watch: those of kw doctor over the same packets, printed once each, and again when they get worse."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.analysis.doctor.doctor import Doctor
from decoders.analysis.doctor.find_problems import ABOUT
from decoders.analysis.doctor.thresholds import Thresholds
from decoders.wire.format_and_escape_text import format_rfc3339
from kwcli.pipeline.watch.diagnose_each_date import DAY_NS, DailyDoctors, WatchFindings, identify_finding
from tests.analysis.test_doctor import metadata_asked
from tests.captures.shipped import FOLDER, capture_bytes
from tests.cli.worlds import kw
from tests.pipeline.jobs import rows_in
from tests.pipeline.odd import packets
from tests.pipeline.test_watch import ring
from tests.pipeline.watched import Watched

SCHEMA: Final = jsonschema.Draft202012Validator(
    json.loads((FOLDER.parent / "decoders" / "messages" / "doctor.schema.json").read_bytes())
)
DAY_S: Final = 86_400


def told(watched: Watched) -> list[dict[str, Any]]:
    """The lines on standard output, each valid by its schema, without commands, which the table does not have."""
    lines = [json.loads(line) for line in watched.written.splitlines()]
    for line in lines:
        SCHEMA.validate(line)
        line.pop("command", None)
    return lines


def as_line(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the table of findings as the printed line."""
    line = {name: row[name] for name in ("kind", "schema", "id", "severity", "title", "count", "meaning", "remedy")}
    line |= {name: row[name] for name in ABOUT if row[name] is not None}
    line |= {name: row[f"{name}_ns"] and format_rfc3339(row[f"{name}_ns"]) for name in ("first", "last")}
    return line | {"evidence": json.loads(row["evidence"])}


def last_of_each(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last line of each finding."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        found[repr([row["last"][:10], identify_finding(row)])] = row
    return list(found.values())


def are_those_of(rows: list[dict[str, Any]], expected: list[dict[str, Any]]) -> bool:
    """Whether the last rows of the table, by batch, equal kw doctor's findings over all packets."""
    lines = last_of_each([as_line(row) for row in sorted(rows, key=lambda row: row["batch"])])
    for row in [*lines, *expected]:
        row.pop("command", None)
        for each in row["evidence"]:
            del each["packets"], each["file"]  # packets are numbered in each file
    return in_order(lines) == in_order(expected)


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def doctor_of(path: Path, *words: str) -> list[dict[str, Any]]:
    """The findings of kw doctor in a capture, without those about the capture itself."""
    ran = kw("doctor", str(path), "-o", "ndjson", *words)
    rows = [json.loads(line) for line in ran.out.splitlines()]
    return [row for row in rows if not row["id"].startswith("capture")]


@pytest.mark.long
def test_the_last_row_of_each_finding_is_that_of_kw_doctor_whenever_the_watch_is_killed(tmp_path: Path) -> None:
    capture = capture_bytes("old-clients.pcap.gz")
    kept = ring(tmp_path / "aside", capture, 6)
    (tmp_path / "in").mkdir()
    watched = Watched([str(tmp_path / "in")], tmp_path / "out", doctor=True)
    for number, path in enumerate(kept):
        shutil.copy(path, tmp_path / "in" / path.name)
        watched.clock.now += 1
        with watched.started() as watching:
            if number % 2:  # the watch is killed right before its commit
                watching._store.commit_batch = _fails  # type: ignore[method-assign]
                with pytest.raises(OSError, match="no more"):
                    watching.run_next_batch()
        with watched.started() as watching:
            assert watching.run_next_batch() is not None
    watched.finish()
    whole = tmp_path / "whole.pcap"
    whole.write_bytes(capture)
    expected = doctor_of(whole)
    assert {"connection-churn", "old-format"} <= {row["id"] for row in expected}
    rows = sorted(rows_in(tmp_path / "out", "findings"), key=lambda row: row["batch"])
    assert are_those_of(rows, expected)
    assert len(expected) < len(rows) < 4 * len(expected)  # some findings have grown


def _fails(*_: Any, **__: Any) -> Any:
    raise OSError("no more")


def test_lines_are_the_rows_of_the_table_and_each_date_has_its_own(tmp_path: Path) -> None:
    capture = capture_bytes("sasl-raw.pcap")
    (tmp_path / "in").mkdir()
    watched = Watched([str(tmp_path / "in")], tmp_path / "out", doctor=True, once=True)
    for days in range(4):
        moved = [
            (int.from_bytes(one[:4], "little") + days * DAY_S).to_bytes(4, "little") + one[4:]
            for one in packets(capture)
        ]
        (tmp_path / "in" / f"{days}.pcap").write_bytes(capture[:24] + b"".join(moved))
        with watched.started() as watching:
            watching.run_batches()
    watched.finish()
    lines = told(watched)
    rows = rows_in(tmp_path / "out", "findings")
    assert in_order(list(map(as_line, rows))) == in_order([line for line in lines if line["count"]])
    by_day: dict[str, list[str]] = {}
    for row in last_of_each(lines):
        by_day.setdefault(row["last"][:10], []).append(f"{row['id']} {row['count']}")
    assert len(by_day) == 4
    assert len({tuple(sorted(found)) for found in by_day.values()}) == 1
    dates = {path.name for path in (tmp_path / "out" / "findings").iterdir()}
    assert {f"date={day}" for day in by_day} <= dates


def test_a_finding_is_told_again_when_it_is_ten_times_as_frequent_or_worse_and_at_the_end() -> None:
    watching = WatchFindings(Thresholds({"metadata.least": 1, "metadata.rate": 0}))
    counts: list[int] = []
    for row in metadata_asked(40, 0.2).rows(Doctor()):
        doctors = DailyDoctors()
        doctors.add_row(row)
        counts += [row["count"] for _, row in watching.merge_folds(doctors.export(["a.pcap"]), ends=False)]
    assert counts == [1, 10]
    state = watching.export()
    watching.resume(state)
    assert watching.export() == state
    assert [(at % DAY_NS, row["count"]) for at, row in watching.merge_folds((), ends=True)] == [(0, 40)]
    assert not watching.resume(state[:-1])
    assert watching.merge_folds((), ends=True) == []


def test_the_command_of_a_finding_shows_its_evidence(tmp_path: Path) -> None:
    port = kw("sniff", str(FOLDER / "faults" / "sequence-broken.pcap.zst"), "-e", "broker").out.split()[0][-5:]
    folder = tmp_path / "a ring"
    folder.mkdir()
    for path in ring(tmp_path / "aside", capture_bytes("faults/sequence-broken.pcap.zst"), 3):
        shutil.copy(path, folder / path.name)
    source, out = str(folder), str(tmp_path / "out")
    ran = kw("pipeline", "watch", source, "--out", out, "--doctor", "--finish", "-q", "--port", f"9092,{port}")
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert {"sequence-broken", "coordinator-moved"} <= {row["id"] for row in found}
    for row in found:
        program, *words = shlex.split(row["command"])
        assert (program, words[-1]) == ("kw", "-v")
        assert f"9092,{port}" in words
        shown = kw(*words[:-1], "-o", "ndjson")
        times = [json.loads(line)["time"] for line in shown.out.splitlines()]
        assert {each["time"] for each in row["evidence"]} == set(times)
