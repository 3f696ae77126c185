"""A watch of commands that write captures: their rows, what is kept of them meanwhile, and what a kill leaves."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from kwcli.pipeline.watch import spool_live_captures, watch_captures
from kwcli.pipeline.watch.decode_batch import BatchInput, TaskReport
from kwcli.run_environment import Exit, Failure
from tests.cli.worlds import Outcome, kw
from tests.pipeline.jobs import rows_in
from tests.pipeline.watched import run_over, tables_in
from tests.reading.test_live_places import cat, is_running
from tests.waiting import until

CAPTURES: Final = Path(__file__).resolve().parents[2] / "captures"
FIRST, SECOND = CAPTURES / "first-steps.pcapng", CAPTURES / "sasl-framed.pcapng"
# What depends on the file that holds a packet.
IN_FILES: Final = re.compile("packet|file|place")


def watch(out: Path, *words: str) -> Outcome:
    return kw("pipeline", "watch", "--out", str(out), "--interval", "1ms", *words)


def rows_of(out: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of all tables but for the numbers of packets."""
    found = {}
    for name, rows in tables_in(out).items():
        kept = [{key: value for key, value in row.items() if not IN_FILES.search(key)} for row in rows]
        found[name] = sorted(kept, key=lambda row: (row["time_ns"], repr(row)))
    return found


def spooled(out: Path) -> list[Path]:
    return sorted((out / "_kw" / "live").rglob("*.pcapng"))


def test_the_rows_of_commands_are_those_of_a_run_over_their_captures(tmp_path: Path) -> None:
    """Each place counts apart, also where two see the same connections."""
    out = tmp_path / "out"
    words = [word for name in ("b1", "b2") for word in ("--on", f"{name}={cat(SECOND)}")]
    outcome = watch(out, *words, "--on", f"c={cat(FIRST)}", "--finish")
    assert outcome.code == Exit.DONE, outcome.err
    (tmp_path / "copy.pcapng").write_bytes(SECOND.read_bytes())
    run_over([], tmp_path / "run", ("b1", str(SECOND)), ("b2", str(tmp_path / "copy.pcapng")), ("c", str(FIRST)))
    expected = rows_of(tmp_path / "run")
    assert len(expected["exchanges"]) > 100
    assert rows_of(out) == expected
    assert {row["source_file"] for row in rows_in(out, "exchanges") if row["point"] == "b1"} == {"b1"}
    assert "watching: b1, b2, c; engine local" in outcome.err
    assert spooled(out) == []


def test_packets_wait_in_files_for_their_owner_until_a_commit_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that fails is read again, though its commands have ended; small files are deleted one by one."""
    monkeypatch.setattr(spool_live_captures, "FILE_MAX", 20_000)
    monkeypatch.setattr(watch_captures, "RETRY_S", 0.01)
    decode, seen = watch_captures._decode_locally, []

    def decode_at_last(batch: BatchInput, points: Any) -> list[TaskReport]:
        files = spooled(tmp_path / "out")
        seen.append(len(files))
        assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
        assert {path.parent.stat().st_mode & 0o777 for path in files} == {0o700}
        if len(seen) < 3:
            raise Failure("the disk is full")
        return decode(batch, points)

    monkeypatch.setattr(watch_captures, "_decode_locally", decode_at_last)
    outcome = watch(tmp_path / "out", "--on", f"...={cat(FIRST)}", "--on", f"b1={cat(FIRST)}")
    assert outcome.code == Exit.DONE, outcome.err
    assert "the disk is full; trying again" in outcome.err
    assert seen[-1] > 6
    watch(tmp_path / "out", "--finish", "nothing.pcap")
    run_over([], tmp_path / "run", ("b1", str(FIRST)))
    found, expected = rows_of(tmp_path / "out"), rows_of(tmp_path / "run")
    for name, rows in found.items():
        assert [row for row in rows if row["point"] == "b1"] == expected[name]
    assert spooled(tmp_path / "out") == []


def test_one_command_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    fails = shlex.join(("sh", "-c", "echo no such device >&2; exit 3"))
    outcome = watch(tmp_path / "out", "--on", f"bad={fails}", "--on", f"good={cat(FIRST)}", "--once")
    assert outcome.code == Exit.FAILURE
    assert "kw: bad: no such device\n" in outcome.err
    assert "it ended with exit code 3" in outcome.err
    assert {row["point"] for row in rows_in(tmp_path / "out", "exchanges")} == {"good"}


def test_a_defect_in_the_thread_that_captures_ends_the_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_spool: object, *_: object) -> None:
        raise TypeError("of the program itself")

    monkeypatch.setattr(spool_live_captures.LiveSpool, "add_piece", fail)
    outcome = watch(tmp_path / "out", "--on", f"b1={cat(FIRST)}")
    assert outcome.code == Exit.FAILURE
    assert "kw: defect: TypeError: of the program itself" in outcome.err


def test_keys_in_a_capture_serve_all_later_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_live_captures, "FILE_MAX", 2000)
    capture, tls = tmp_path / "with-keys.pcapng", CAPTURES / "tls" / "librdkafka-jsse"
    words = ["--keylog", f"{tls}.keys", "-w", str(capture), "--with-keys", "--whole-connections"]
    assert kw("sniff", f"{tls}.pcap", *words).code == Exit.DONE
    outcome = watch(tmp_path / "out", "--on", f"b1={cat(capture)}", "--finish")
    assert outcome.code == Exit.DONE, outcome.err
    run_over([], tmp_path / "run", ("b1", str(capture)))
    assert rows_of(tmp_path / "run")["exchanges"]
    assert rows_of(tmp_path / "out") == rows_of(tmp_path / "run")


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_that_was_taken_is_lost_when_a_watch_ends(tmp_path: Path, number: signal.Signals) -> None:
    """Nothing of it runs on; the next watch tells from when until when nobody has captured."""
    mark = f"kw-test-{os.getpid()}-{tmp_path.name}"
    out = tmp_path / "out"
    command = "sh -c " + shlex.quote(f"cat {FIRST}; sleep 300 & sleep 300; # {mark}")
    words = [sys.executable, "-m", "kwcli", "pipeline", "watch", "--out", str(out), "--on", f"b1={command}"]
    with subprocess.Popen([*words, "--interval", "1h"], stderr=subprocess.PIPE) as process:
        until(lambda: sum(path.stat().st_size for path in spooled(out)) >= FIRST.stat().st_size)
        assert is_running(mark)
        process.send_signal(number)
        until(lambda: not is_running(mark))
        process.communicate(timeout=60)
    if number is signal.SIGINT:
        assert process.returncode == Exit.DONE
        assert rows_in(out, "exchanges")
    assert bool(spooled(out)) == (number is signal.SIGKILL)
    outcome = watch(out, "--on", f"b1={cat(SECOND)}", "--finish", "--strict")
    assert "kw: b1: was not captured from 20" in outcome.err
    assert ": no watch was running" in outcome.err
    assert outcome.code == Exit.LOSSY
    run_over([], tmp_path / "run", ("b1", str(FIRST)), ("b2", str(SECOND)))
    assert len(rows_in(out, "exchanges")) == len(rows_in(tmp_path / "run", "exchanges"))
    assert spooled(out) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give captures: files, globs or URLs"),
        (("--on", "cat x", "--restart", "--once"), "has no effect with --restart"),
        (("-i", "lo", "--finish"), "has no effect with --interface"),
        (("--on", "cat x", "--bpf", "port 1"), "--bpf needs --interface"),
        (("x.pcap", "--restart"), "--restart needs --on"),
        (("--on", "b1=cat x", "--point", "b1=x.pcap"), "b1: two places have this name"),
        (("--on", "b1=cat 'x"), "no closing quotation"),
    ],
)
def test_options_that_clash(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    outcome = watch(tmp_path / "out", *words)
    assert outcome.code == Exit.USAGE
    assert said in outcome.err
