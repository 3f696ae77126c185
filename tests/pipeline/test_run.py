"""`kw pipeline run` as a whole, in one process: what is selected, what is added, what is left after a failure."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import shutil
import struct
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow.dataset as ds
import pytest

from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.tables.table_columns import TABLES
from kwcli.run_environment import Exit
from tests.cli.worlds import Outcome, kw

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
TOUR = CAPTURES / "tour.pcapng"
RAW = CAPTURES / "sasl-raw.pcap"
# Columns with the names of files, which differ between folders.
NAMES = ("source_file", "request_end_file", "response_file", "response_end_file")
Rows = list[dict[str, Any]]


def run(*words: str | Path, code: Exit = Exit.DONE) -> Outcome:
    """Run `kw pipeline run WORDS…`; asserts its exit code."""
    outcome = kw("pipeline", "run", *map(str, words))
    assert outcome.code == code, outcome.err
    return outcome


def rows(out: Path, table: str = "exchanges", *, names: bool = True) -> Rows:
    """The rows of a table as another reader sees them, sorted; dates come from the names of folders."""
    found: Rows = ds.dataset(out / table, partitioning="hive").to_table().to_pylist()
    for row in found:
        for name in () if names else NAMES:
            row.pop(name, None)
    return sorted(found, key=lambda row: json.dumps(row, default=str, sort_keys=True))


def every_table(out: Path) -> dict[str, Rows]:
    return {table: rows(out, table) for table in TABLES}


def sniffed(*words: str | Path) -> Rows:
    """The exchanges that `kw sniff` prints."""
    found = [json.loads(line) for line in kw("sniff", *map(str, words), "-o", "ndjson").out.splitlines()]
    return [row for row in found if row["kind"] == "exchange"]


def known(found: Rows) -> list[tuple[Any, ...]]:
    """Exchanges by the keys that both forms have, sorted."""
    keys = ("client", "broker", "api", "correlation_id", "status", "request_size", "response_size", "latency_ms")
    return sorted(tuple(str(row[key]) for key in keys) for row in found)


def untouched(out: Path) -> dict[str, bytes]:
    """The content of all files below a folder, by path."""
    return {str(path): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file() and path.name != "lock"}


# -- what is in the tables ---------------------------------------------------------------------------------------------


def test_the_tables_have_what_sniff_shows(tmp_path: Path) -> None:
    outcome = run(TOUR, "--out", tmp_path / "out")
    assert outcome.out == ""
    assert known(rows(tmp_path / "out")) == known(sniffed(TOUR))
    summary, tables = outcome.err.splitlines()
    assert summary.startswith(
        "193 exchanges, 13 clients, 3 brokers, 50 connections, 8 errors, 20 expected errors, 1 unanswered · 2026-11-21 "
    )
    assert " · 945 packets · engine local (171.5kB of captures" in summary
    assert tables.startswith(f"{tmp_path}/out: exchanges 193 rows, ")


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "words",
    [
        ["-f", "latency > 100ms"],
        ["--api", "Produce,Fetch", "--client-id", "billing*"],
        ["--topic", "orders"],
        ["--errors"],
        ["--port", "9092"],
        ["-f", "request.max_wait_ms >= 500"],
        ["-f", "partition == 1 and records > 3"],
        ["-f", "key like *1* or value ~ '[13]'"],
        ["-f", "not side == response"],
    ],
)
def test_filters_are_those_of_sniff(tmp_path: Path, words: list[str]) -> None:
    run(TOUR, "--out", tmp_path / "out", *words)
    wanted = sniffed(TOUR, *words)
    assert 0 < len(wanted) < 193
    assert known(rows(tmp_path / "out")) == known(wanted)
    places = {(row["client"], row["place"]) for row in rows(tmp_path / "out")}
    assert {(row["client"], row["place"]) for row in rows(tmp_path / "out", "topic_partitions")} <= places


def test_a_filter_may_ask_for_the_file(tmp_path: Path) -> None:
    run(TOUR, RAW, "--out", tmp_path / "out", "-f", "file like '*sasl-raw*'")
    assert known(rows(tmp_path / "out")) == known(sniffed(RAW))


def test_times_select_exchanges_and_keep_their_answers(tmp_path: Path) -> None:
    run(TOUR, "--out", tmp_path / "out", "--since", "2026-11-21T17:34:57", "--until", "2026-11-21T17:34:57.6Z")
    wanted = [row for row in sniffed(TOUR) if "17:34:57" <= row["time"][11:] < "17:34:57.6"]
    assert any(row["latency_ms"] and row["latency_ms"] > 1000 for row in wanted)  # the answer comes much later
    assert known(rows(tmp_path / "out")) == known(wanted)
    connections = rows(tmp_path / "out", "connections")
    assert {(row["client"], row["connection_began_ns"]) for row in rows(tmp_path / "out")} <= {
        (row["client"], row["connection_began_ns"]) for row in connections
    }
    assert len(connections) < 51


def test_only_the_tables_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(TOUR, "--out", out, "--tables", "connections,exchanges", "--bodies")
    assert sorted(os.listdir(out)) == ["_kw", "connections", "exchanges"]
    bodies = [json.loads(row["request_body"]) for row in rows(out) if row["api"] == "EndTxn"]
    assert {"transactional_id", "producer_id", "producer_epoch", "committed"} == set(bodies[0])
    run(TOUR, "--out", out, "--tables", "exchanges")
    assert sorted(os.listdir(out)) == ["_kw", "exchanges"]
    assert rows(out)[0]["request_body"] is None


def test_secrets_stay_secret_unless_asked(tmp_path: Path) -> None:
    words: list[str | Path] = [
        CAPTURES / "sasl-framed.pcapng",
        "--tables",
        "exchanges",
        "--bodies",
        "--api",
        "SaslAuthenticate",
    ]
    run(*words, "--out", tmp_path / "hidden")
    assert all("redacted" in row["request_body"] for row in rows(tmp_path / "hidden"))
    run(*words, "--out", tmp_path / "shown", "--reveal-secrets")
    assert not any("redacted" in row["request_body"] for row in rows(tmp_path / "shown"))


@pytest.mark.long
def test_points_are_kept_apart(tmp_path: Path) -> None:
    points = ["--point", f"one={TOUR}", "--point", f"two={RAW}"]
    run(*points, CAPTURES / "first-steps.pcapng", "--out", tmp_path / "out")
    by_point = {point: [row for row in rows(tmp_path / "out") if row["point"] == point] for point in ("", "one", "two")}
    assert known(by_point["one"]) == known(sniffed(TOUR))
    assert known(by_point["two"]) == known(sniffed(RAW))
    assert known(by_point[""]) == known(sniffed(CAPTURES / "first-steps.pcapng"))
    assert {row["source_file"] for row in by_point["two"]} == {str(RAW)}


# -- again, and more ---------------------------------------------------------------------------------------------------


def test_the_same_run_again_changes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(TOUR, RAW, "--out", out)
    before = untouched(out)
    both, one = "these 2 captures", "this capture and 1 other"
    for words, which in (
        ([TOUR, RAW], both),
        ([RAW, TOUR], both),
        ([RAW], one),
        ([TOUR, RAW, "--split-size", "1MB"], both),
        ([TOUR, "--engine", "local"], one),
    ):
        outcome = run(*words, "--out", out)
        assert outcome.err == f"kw: {out}: covers {which} already: nothing to do\n"
        assert untouched(out) == before


@pytest.mark.long
def test_further_captures_join_those_that_are_there(tmp_path: Path) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    run(TOUR, "--out", out)
    run(RAW, "--point", f"other={CAPTURES / 'first-steps.pcapng'}", "--out", out)
    run(RAW, TOUR, "--point", f"other={CAPTURES / 'first-steps.pcapng'}", "--out", whole)
    assert every_table(out) == every_table(whole)
    assert len(rows(out)) > 193


def test_other_options_make_all_of_it_anew(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(TOUR, RAW, "--out", out)
    run(TOUR, "--out", out, "--api", "Fetch")
    assert known(rows(out)) == known(sniffed(TOUR, RAW, "--api", "Fetch"))


def test_a_capture_that_has_grown_is_read_again(tmp_path: Path) -> None:
    data = RAW.read_bytes()
    capture = tmp_path / "growing.pcap"
    capture.write_bytes(data[: _records(data, 200)])
    run(capture, "--out", tmp_path / "out")
    few = len(rows(tmp_path / "out"))
    capture.write_bytes(data)
    run(capture, "--out", tmp_path / "out")
    assert few < len(rows(tmp_path / "out"))
    assert known(rows(tmp_path / "out")) == known(sniffed(RAW))


def test_a_capture_that_is_gone_is_missed(tmp_path: Path) -> None:
    capture = tmp_path / "soon-gone.pcap"
    shutil.copy(RAW, capture)
    run(capture, "--out", tmp_path / "out")
    capture.unlink()
    before = untouched(tmp_path / "out")
    outcome = run(TOUR, "--out", tmp_path / "out", code=Exit.FAILURE)
    assert outcome.err == (
        f"kw: {tmp_path}/out: its tables cover {capture}, which cannot be read any more; bring it back, or use "
        "another folder\n"
    )
    assert untouched(tmp_path / "out") == before


def _records(data: bytes, count: int) -> int:
    """The offset at which the first `count` packets of a pcap end."""
    order = "<" if data[:4] in (bytes.fromhex("d4c3b2a1"), bytes.fromhex("4d3cb2a1")) else ">"
    at = 24
    for _ in range(count):
        at += 16 + struct.unpack_from(order + "I", data, at + 8)[0]
    return at


# -- what is wrong -----------------------------------------------------------------------------------------------------


def test_the_good_part_of_a_damaged_capture_is_in_the_tables(tmp_path: Path) -> None:
    data = RAW.read_bytes()
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(data[: _records(data, 200) + 9])
    zipped = tmp_path / "cut.pcap.gz"
    zipped.write_bytes(gzip.compress(TOUR.read_bytes())[:-2000])
    outcome = run(cut, zipped, CAPTURES / "first-steps.pcapng", "--out", tmp_path / "out")
    said = outcome.err.splitlines()
    assert sum(line.startswith(f"kw: {cut}: cut off at byte ") for line in said) == 1
    assert sum(line.startswith(f"kw: {zipped}: the gzip data is cut off ") for line in said) == 1
    assert "2 damaged captures" in outcome.err
    shown = kw("sniff", str(cut), str(zipped), str(CAPTURES / "first-steps.pcapng"), "-o", "ndjson").out
    wanted = [row for row in map(json.loads, shown.splitlines()) if row["kind"] == "exchange"]
    assert known(rows(tmp_path / "out")) == known(wanted)
    again = run(cut, zipped, "--out", tmp_path / "out", "--strict", code=Exit.LOSSY)
    assert again.err == f"kw: {tmp_path}/out: covers these 2 captures and 1 other, 2 damaged, already: nothing to do\n"
    run(cut, "--out", tmp_path / "strict", "--strict", code=Exit.LOSSY)


def test_captures_that_cannot_be_had_are_told_and_the_others_done(tmp_path: Path) -> None:
    outcome = run(tmp_path / "missing.pcap", TOUR, "--out", tmp_path / "out", code=Exit.FAILURE)
    assert outcome.err.splitlines()[0] == f"kw: {tmp_path}/missing.pcap: no such file"
    assert len(rows(tmp_path / "out")) == 193


def test_captures_that_may_not_be_read_are_told_and_the_others_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = tmp_path / "locked.pcap"
    locked.write_bytes(RAW.read_bytes())
    asking, opening = os.access, os.open

    def refused(path: str, *rest: Any, **more: Any) -> int:
        """Raise PermissionError for the locked path, also for root, whom the system would let pass."""
        if str(path) == str(locked):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return opening(path, *rest, **more)

    monkeypatch.setattr(os, "open", refused)
    monkeypatch.setattr(os, "access", lambda path, *rest, **more: path != str(locked) and asking(path, *rest, **more))
    outcome = run(locked, TOUR, "--out", tmp_path / "out", code=Exit.FAILURE)
    assert outcome.err.splitlines()[0] == f"kw: {locked}: no permission to read it"
    assert len(rows(tmp_path / "out")) == 193
    assert kw("stats", str(locked), str(TOUR)).out.count("\n") > 10


@pytest.mark.parametrize("word", [".", "**", "*"])
def test_tables_among_their_captures_are_no_captures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    shutil.copy(RAW, tmp_path / "a.pcap")
    monkeypatch.chdir(tmp_path)
    run(word, "--out", "tables")
    assert run(word, "--out", "tables").err == "kw: tables: covers this capture already: nothing to do\n"
    shutil.copy(TOUR, tmp_path / "b.pcapng")
    outcome = run(word, "--out", "tables")
    assert outcome.err.splitlines()[1].startswith("tables: exchanges 462 rows, ")
    assert run("tables", "--out", "other", code=Exit.FAILURE).err == "kw: tables: no captures in it\n"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("missing.pcap", None, "no such file"),
        ("empty.pcap", b"", "empty: there is no capture in it"),
        ("notes.txt", b"these are my notes\n", 'not a capture: starts with "thes"'),
    ],
)
def test_nothing_is_made_of_nothing(tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    outcome = run(tmp_path / name, "--out", tmp_path / "out", code=Exit.FAILURE)
    assert outcome.err.startswith(f"kw: {tmp_path / name}: {said}")
    assert not (tmp_path / "out" / "exchanges").exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    before = untouched(tmp_path)
    outcome = run(TOUR, "--out", tmp_path, code=Exit.FAILURE)
    assert outcome.err == f"kw: {tmp_path}: not empty (thesis.tex) and no folder of tables; use another one\n"
    run(TOUR, "--out", tmp_path, "--explain", code=Exit.FAILURE)
    assert untouched(tmp_path) == before


def test_a_full_disk_leaves_the_tables_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    run(TOUR, "--out", out)
    before = every_table(out)

    class Full(io.FileIO):
        def write(self, data: object) -> int:
            del data
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def open_new(files: OutputFolder, path: str) -> BinaryIO:
        files.create_folder(os.path.dirname(path))
        return io.BufferedWriter(Full(files.full_path(path), "xb"), 1)

    monkeypatch.setattr(OutputFolder, "open_new", open_new)
    outcome = run(RAW, "--out", out, code=Exit.FAILURE)
    assert outcome.err.splitlines()[-1] == f"kw: {out}: no space left on device"
    monkeypatch.undo()
    assert every_table(out) == before
    run(RAW, "--out", out)
    assert len(rows(out)) > 193


def test_a_table_that_somebody_has_changed_is_made_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(TOUR, "--out", out)
    before = every_table(out)
    (file,) = (out / "exchanges").rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:-1])
    outcome = kw("pipeline", "report", str(out))
    assert outcome.code == Exit.FAILURE
    assert outcome.err == f"kw: {out}: a file of exchanges was changed; the same kw pipeline run makes it again\n"
    assert "covers 1 capture, but its tables are not whole: it is read" in run(TOUR, "--out", out, "--explain").out
    run(TOUR, "--out", out)
    assert every_table(out) == before


def test_an_interrupted_run_leaves_the_tables_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kwcli.pipeline import local_engine

    out = tmp_path / "out"
    run(TOUR, "--out", out)
    before = every_table(out)

    def interrupted(*_: object, **_more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(local_engine, "decode_splits_into_tables", interrupted)
    run(RAW, "--out", out, code=Exit.INTERRUPTED)
    monkeypatch.undo()
    assert every_table(out) == before
    assert not (out / "_kw" / "staging").exists()
    assert "nothing to do" in run(TOUR, "--out", out).err


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "x"], "give captures: files, globs or URLs, or --point NAME=GLOB"),
        (["a.pcap"], "missing option '--out'"),
        (["a.pcap", "--out", ""], "--out is empty"),
        (["a.pcap", "--out", "x", "--since", "2026-11-22", "--until", "2026-11-21"], "--since is not before --until"),
        (["a.pcap", "--out", "x", "--engine", "local", "--master", "local[2]"], "--master is for Spark"),
        (["a.pcap", "--out", "x", "--engine", "shuffle"], "'shuffle' is not one of 'auto', 'local', 'stitch'"),
        (["a.pcap", "--out", "x", "--tables", "findings"], "'findings' is no table"),
        (["a.pcap", "--out", "x", "-f", "latency >"], "-f: "),
        (["a.pcap", "--out", "x", "--split-size", "7"], "'7' is too little for a file"),
        (["ftp://host/a.pcap", "--out", "x"], "kw cannot read ftp://"),
    ],
)
def test_words_that_mean_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run(*words, code=Exit.USAGE)
    assert said in outcome.err
    assert outcome.err.count("\n") == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.long
def test_explaining_says_what_would_be_done_and_does_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words: list[str | Path] = [
        "--point",
        f"b1={TOUR}",
        RAW,
        "--out",
        out,
        "--since",
        "2026-11-21T17:00",
        "--api",
        "Fetch",
        "--slower-than",
        "500us",
        "--explain",
    ]
    lines = run(*words).out.splitlines()
    assert not out.exists()
    found = {line.split()[0]: line for line in lines if not line.startswith(" ")}
    assert list(found) == ["sources", "splits", "select", "tables", "out", "engine", "java"]
    assert found["sources"] == "sources  2 captures, 311.1kB"
    assert found["splits"] == "splits   none: one process reads each capture from end to end"
    assert found["select"] == 'select   since 2026-11-21T17:00:00Z; api in ("Fetch") and latency > 0.5ms'
    assert found["out"] == f"out      {out}: new"
    assert found["engine"].startswith("engine   local: 311.1kB of captures")
    assert any(line.startswith(f"  –   {RAW}") for line in lines)
    assert any(line.startswith(f"  b1  {TOUR}") and "2026-11-21 17:34:43–17:35:32" in line for line in lines)
    shutil.copy(TOUR, tmp_path / "copy.pcapng")
    said = run(tmp_path / "copy.pcapng", TOUR, "--out", out, "--explain").out
    assert "splits   none: one process reads each capture from end to end, those that overlap in time side" in said
    said = run(tmp_path / "copy.pcapng", TOUR, RAW, "--out", out, "--explain", "--engine", "stitch").out
    assert "splits   2 splits of at most 268.4MB, 1 of them of captures that overlap in time\n" in said
    assert "1 split  " in said
    run(TOUR, "--out", out)
    before = untouched(out)
    assert f"out      {out}: covers this capture already: nothing to do" in run(TOUR, "--out", out, "--explain").out
    assert (
        f"out      {out}: covers 1 capture with other options: all 2 are"
        in run(RAW, "--bodies", "--out", out, "--explain").out
    )
    assert (
        f"{out}: covers 1 capture with other options: it is"
        in run(TOUR, "-q", "--bodies", "--out", out, "--explain").out
    )
    assert f"out      {out}: covers 1 capture, 1 is new or has changed" in run(RAW, "--out", out, "--explain").out
    assert untouched(out) == before


def test_quiet_says_nothing_but_what_is_wrong(tmp_path: Path) -> None:
    assert run(TOUR, "--out", tmp_path / "out", "-q").err == ""
    assert run(TOUR, "--out", tmp_path / "out", "-q").err == ""
    told = run(tmp_path / "missing", TOUR, "--out", tmp_path / "out", "-q", code=Exit.FAILURE).err
    assert told == f"kw: {tmp_path}/missing: no such file\n"


# -- names -------------------------------------------------------------------------------------------------------------


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    """A sound capture, a damaged one and another file, all with names that are not UTF-8."""
    folder, out = tmp_path / "captures", tmp_path / "out"
    folder.mkdir()
    for name, data in (
        (b"b\xe9\xff.pcapng", TOUR.read_bytes()),
        (b"cut\xff.pcap", RAW.read_bytes()[:-1000]),
        (b"none\xfe.txt", b"no capture"),
    ):
        (folder / os.fsdecode(name)).write_bytes(data)
    cut = f"cut off at byte {RAW.stat().st_size - 1000:,} inside a packet"
    first = run(folder, "--out", out)
    assert first.err.splitlines()[:2] == [
        f"kw: {folder}: 1 file passed over: no capture",
        f"kw: {folder}/cut\\xff.pcap: {cut}; what was read of it is in the tables",
    ]
    names = {row["source_file"] for row in rows(out)}
    assert names == {f"{folder}/b\\udce9\\udcff.pcapng", f"{folder}/cut\\udcff.pcap"}
    assert "nothing to do" in run(folder, "--out", out).err
    # What the tables have already is found again by the name that the folder keeps of it.
    shutil.copy(RAW, folder / "third.pcap")
    assert "covers 2 captures" in run(folder / "third.pcap", "--out", out, "--explain").out
    run(folder / "third.pcap", "--out", out)
    assert {row["source_file"] for row in rows(out)} == names | {f"{folder}/third.pcap"}
    assert json.loads((out / "_kw" / "manifest.json").read_bytes())["facts"]["damaged"] == 1
    run(folder, "--out", out, "--filter", os.fsdecode(b'client_id == "\xff"'))
    assert rows(out) == []


def test_a_folder_of_tables_whose_name_is_not_utf8(tmp_path: Path) -> None:
    out = tmp_path / os.fsdecode(b"out\xff")
    run(TOUR, "--out", out)
    for words in (["report", str(out)], ["sql", str(out), "select 1"]):
        told = kw("pipeline", *words)
        assert told.code == Exit.FAILURE
        assert told.err == (
            f"kw: {tmp_path}/out\\xff: nothing reads Parquet from a folder whose name is not UTF-8: rename it\n"
        )
