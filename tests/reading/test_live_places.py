"""Several inputs that are read as they come: FIFOs, and commands that write a capture."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.live import capture_commands, live_inputs
from kwcli.reading.live.capture_commands import CaptureCommand, CommandProcess, parse_and_name_capture_commands
from kwcli.reading.live.capture_commands import skip_text_before_capture as skip_text
from kwcli.reading.live.live_inputs import LiveInput
from kwcli.reading.live.merged_live_inputs import LivePlaces, MergeOptions
from kwcli.run_environment import Exit, Failure
from tests.cli.worlds import Outcome, kw, world, written
from tests.waiting import until

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
FIRST, SECOND = CAPTURES / "first-steps.pcapng", CAPTURES / "sasl-framed.pcapng"
# Longer than anything takes, even on a busy machine.
LONG_S = 60.0
# A message of the day, and a prompt, which has no end of line.
PROMPT = "printf 'Welcome\\n[sudo] password for x: ';"


def rows(out: str) -> list[dict[str, Any]]:
    return [row for row in map(json.loads, out.splitlines()) if row["kind"] == "exchange"]


def cat(*paths: Path, first: str = "", then: str = "") -> str:
    return f"sh -c {shlex.quote(f'{first} cat {shlex.join(map(str, paths))}; {then}')}"


def is_running(word: str) -> bool:
    """Whether a process has this word in its command line."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                if word.encode() in (folder / "cmdline").read_bytes():
                    return True
            except OSError:
                continue
    return False


def without(names: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(
        ({key: value for key, value in row.items() if key not in names.split()} for row in found), key=json.dumps
    )


# FIFOs.


def test_rows_of_all_pipes_come_while_their_writers_go_on(tmp_path: Path) -> None:
    env = world()
    pipes = [tmp_path / "one", tmp_path / "two"]
    for pipe in pipes:
        os.mkfifo(pipe)
    shown: list[set[str]] = []

    def write(pipe: Path, capture: Path) -> None:
        with pipe.open("wb", buffering=0) as file:
            file.write(capture.read_bytes())
            until(lambda: len(shown) or points_shown() == {str(each) for each in pipes})
            shown.append(points_shown())

    def points_shown() -> set[str]:
        return {json.loads(line)["point"] for line in written(env.stdout).splitlines()[:-1]}

    writers = [Thread(target=write, args=pair) for pair in zip(pipes, (FIRST, SECOND), strict=True)]
    for writer in writers:
        writer.start()
    outcome = kw("sniff", *map(str, pipes), env=env)
    for writer in writers:
        writer.join()
    assert outcome.code == Exit.DONE, outcome.err
    assert shown[0] == {str(each) for each in pipes}
    expected = kw("sniff", str(FIRST), str(SECOND))
    assert without("point", rows(outcome.out)) == without("", rows(expected.out))
    assert expected.err.split(" · ")[:3] == outcome.err.split(" · ")[:3]


def test_rows_of_silent_pipes_wait_for_one_delay_of_kws_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writers write no more, and do not close. All that has an answer is shown a second after it came.

    The clock stands still until kw has read everything, and then at this second: how fast the machine is says nothing.
    """
    captures = {tmp_path / "one": FIRST, tmp_path / "two": SECOND}
    expected = rows(kw("sniff", str(FIRST), str(SECOND), "-f", "status == complete").out)
    came = dict.fromkeys(map(str, captures), 0)
    add_piece = LivePlaces.add_piece

    def count_bytes(self: LivePlaces, place: LiveInput, piece: bytes, now_s: float) -> object:
        problem = add_piece(self, place, piece, now_s)
        came[place.name] += len(piece)
        return problem

    monkeypatch.setattr(LivePlaces, "add_piece", count_bytes)
    clock = [100.0]
    env = world()
    env.monotonic = lambda: clock[0]
    shown: list[list[dict[str, Any]]] = []

    def write_and_wait() -> None:
        with ExitStack() as ending:
            for pipe, capture in captures.items():
                file = ending.enter_context(pipe.open("wb", buffering=0))
                file.write(capture.read_bytes())
            try:
                until(lambda: came == {str(pipe): capture.stat().st_size for pipe, capture in captures.items()})
                clock[0] += MergeOptions().delay_s
                until(lambda: written(env.stdout).count(b"\n") >= len(expected))
            finally:
                shown.append(rows(written(env.stdout).decode()))

    for pipe in captures:
        os.mkfifo(pipe)
    writer = Thread(target=write_and_wait)
    writer.start()
    outcome = kw("sniff", *map(str, captures), "-f", "status == complete", env=env)
    writer.join()
    assert outcome.code == Exit.DONE, outcome.err
    assert without("point", shown[0]) == without("", expected)
    assert MergeOptions().delay_s + live_inputs.TICK_S < 2


@pytest.mark.long
def test_a_pipe_of_records_is_read_as_well(tmp_path: Path) -> None:
    pipes = [tmp_path / "one", tmp_path / "two"]
    records = kw("sniff", str(SECOND)).out.encode()
    for pipe, data in zip(pipes, (FIRST.read_bytes(), records), strict=True):
        os.mkfifo(pipe)
        Thread(target=pipe.write_bytes, args=(data,), daemon=True).start()
    outcome = kw("sniff", *map(str, pipes))
    assert outcome.code == Exit.DONE, outcome.err
    both = rows(kw("sniff", str(FIRST), str(SECOND)).out)
    assert len(rows(outcome.out)) == len(both)


# Commands.


def test_commands_give_the_rows_of_their_captures_with_their_names() -> None:
    outcome = kw("sniff", "--on", f"b1={cat(FIRST)}", "--on", f"b2={cat(SECOND)}")
    assert outcome.code == Exit.DONE, outcome.err
    found = rows(outcome.out)
    assert without("point", found) == without("", rows(kw("sniff", str(FIRST), str(SECOND)).out))
    assert {row["point"] for row in found} == {"b1", "b2"}
    assert "kw: reading b1, b2; Ctrl-C ends" in outcome.err
    assert "kw: b1: has ended" in outcome.err


@pytest.mark.one_in(4)
@pytest.mark.parametrize("words", ["stats --by point", "clients", "doctor", "topics", "audit", "groups", "brokers"])
def test_answers_take_commands_too(words: str) -> None:
    asked = words.split()
    outcome = kw(*asked, "--on", cat(FIRST), "--on", cat(SECOND))
    files = kw(*(each for each in asked if each not in ("--by", "point")), str(FIRST), str(SECOND))
    assert outcome.code == files.code, outcome.err
    if "point" in words:
        assert {row["point"] for row in map(json.loads, outcome.out.splitlines())} == {"sh", "sh-2"}
    else:
        assert len(outcome.out.splitlines()) == len(files.out.splitlines())


@pytest.mark.parametrize("command", ["echo hello world", "no-such-program", "true"])
def test_where_no_capture_came_nothing_is_said_of_its_packets(command: str) -> None:
    outcome = kw("sniff", "--on", command)
    assert outcome.err.count("\n") == 3, outcome.err  # the greeting, the end, the summary
    assert "0 exchanges" in outcome.err
    assert "check its filter" not in outcome.err


@pytest.mark.long
def test_tables_of_a_query_have_the_places() -> None:
    query = "select point, count(*) from exchanges where kind = 'exchange' group by 1 order by 1"
    found = kw("sql", "--on", f"b1={cat(FIRST)}", "--on", f"b2={cat(SECOND)}", query, "-o", "csv")
    counts = [f"b{number},{len(rows(kw('sniff', str(file)).out))}" for number, file in enumerate((FIRST, SECOND), 1)]
    assert found.out.splitlines()[1:] == counts, found.err


def test_what_two_places_see_counts_once() -> None:
    outcome = kw("sniff", "--on", f"b1={cat(SECOND)}", "--on", f"b2={cat(SECOND)}")
    assert without("point network_ms", rows(outcome.out)) == without("", rows(kw("sniff", str(SECOND)).out))
    assert "packets with payload were seen at several places; each counts once" in outcome.err
    assert "capture on one of them" not in outcome.err


def test_a_filter_and_a_column_for_the_place() -> None:
    words = ("--on", f"b1={cat(FIRST)}", "--on", f"b2={cat(SECOND)}")
    found = kw("sniff", *words, "-f", "point == b2", "-o", "csv", "--columns", "point,api")
    assert {line.split(",")[0] for line in found.out.splitlines()[1:]} == {"b2"}


def test_what_goes_wrong_at_one_place_is_a_line_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "cut.pcapng").write_bytes(SECOND.read_bytes()[:-150])
    pcap = bytes.fromhex("d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000")
    (tmp_path / "mixed").write_bytes(pcap + b"tcpdump: listening on eth0\r\n")
    outcome = kw(
        *("sniff", "--on", f"good={cat(FIRST)}"),
        *("--on", f"motd={cat(SECOND, first='echo Last login: today;')}"),
        *("--on", f"prompt={cat(SECOND, first=PROMPT)}"),
        *("--on", f"cut={cat(tmp_path / 'cut.pcapng')}"),
        *("--on", f"terminal={shlex.join(('sh', '-c', f'cat {tmp_path}/mixed', '-t'))}"),
        *("--on", "text=echo hello world"),
        *("--on", f"fails={shlex.join(('sh', '-c', 'echo no such device >&2; exit 3'))}"),
        *("--on", "absent=no-such-program -w -"),
    )
    assert outcome.code == Exit.FAILURE
    assert {row["point"] for row in rows(outcome.out)} >= {"good", "motd"}
    for said in (
        "kw: motd: before its capture: Last login: today\n",
        "kw: prompt: before its capture: Welcome [sudo] password for x:\n",
        "kw: text: no capture in what it writes: hello world",
        "kw: cut: cut off at byte ",
        "kw: terminal: no packet record: a packet of ",
        " bytes at byte 24; give it no terminal (-t)",
        "kw: fails: no such device\n",
        "kw: fails: empty: there is no capture in it; it ended with exit code 3: sh -c",
        "kw: absent: no-such-program: no such file or directory; the others go on\n",
    ):
        assert said in outcome.err, outcome.err
    assert outcome.err.index("kw: fails: no such device") < outcome.err.index("kw: fails: empty")
    assert "Traceback" not in outcome.err


def test_a_prompt_that_waits_for_an_answer_is_told_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt has no end of line, and nothing follows it: neither on standard output nor on standard error."""
    monkeypatch.setattr(capture_commands, "_QUIET_S", 0.05)
    env = world()

    def is_told() -> None:
        until(lambda: written(env.stderr).count(b"password for") == 2 and b"has ended" in written(env.stderr))
        signal.raise_signal(signal.SIGINT)

    told = Thread(target=is_told)
    told.start()
    asks = [f"sh -c {shlex.quote(f'{PROMPT[:-1]} {where}; sleep 300')}" for where in ("", ">&2")]
    outcome = kw("sniff", "--on", f"a={asks[0]}", "--on", f"b={asks[1]}", "--on", cat(FIRST), env=env)
    told.join()
    assert without("point", rows(outcome.out)) == without("", rows(kw("sniff", str(FIRST)).out))
    assert "kw: a: no capture yet, but: Welcome [sudo] password for x:\n" in outcome.err
    assert "kw: b: [sudo] password for x:\n" in outcome.err


def test_a_compressed_capture_may_stand_behind_text(tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(gzip.compress(FIRST.read_bytes()))
    outcome = kw("sniff", "--on", f"b1={cat(tmp_path / 'packed', first=PROMPT)}")
    assert outcome.code == Exit.DONE, outcome.err
    assert rows(outcome.out) == [row | {"point": "b1"} for row in rows(kw("sniff", str(FIRST)).out)]


@pytest.mark.long
def test_packets_are_kept_with_an_interface_for_each_place(tmp_path: Path) -> None:
    kept = tmp_path / "kept.pcapng"
    outcome = kw("sniff", "--on", f"b1={cat(FIRST)}", "--on", f"b2={cat(SECOND)}", "-w", str(kept))
    assert outcome.code == Exit.DONE, outcome.err
    assert kept.stat().st_mode & 0o777 == 0o600
    again = kw("sniff", str(kept))
    expected = rows(kw("sniff", str(FIRST), str(SECOND)).out)
    changed = "packets connection point"
    assert without(changed, rows(again.out)) == without(changed, expected)
    assert b"b1" in kept.read_bytes()[:200]
    assert b"b2" in kept.read_bytes()


@pytest.mark.long
def test_files_of_a_ring_are_readable_alone(tmp_path: Path) -> None:
    kept = tmp_path / "kept.pcapng"
    outcome = kw("sniff", "--on", cat(FIRST), "--on", cat(SECOND), "-w", str(kept), "--rotate-size", "40kB")
    assert outcome.code == Exit.DONE, outcome.err
    files = sorted(tmp_path.iterdir())
    assert len(files) > 3
    assert all(rows(kw("sniff", str(each), "-q").out) for each in files[1:-1])
    changed = "packets connection point"
    expected = rows(kw("sniff", str(FIRST), str(SECOND)).out)
    assert without(changed, rows(kw("sniff", *map(str, files)).out)) == without(changed, expected)


def test_a_command_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first time it gives one capture, the second time nothing, the third time another capture."""
    monkeypatch.setattr(live_inputs, "_RESTART_S", (0.02, 0.05))
    tries = tmp_path / "tries"
    gives = f"echo x >> {tries}; case $(wc -l < {tries}) in 1) cat {FIRST};; 3) cat {SECOND};; 6) kill $PPID;; esac"
    source = f"import subprocess, sys; subprocess.run(['sh', '-c', {gives!r}])"
    command = shlex.join((sys.executable, "-c", source))
    both = rows(kw("sniff", str(FIRST), str(SECOND)).out)
    complete = sum(row["status"] == "complete" for row in both)
    outcome = kw("sniff", "--on", f"b1={command}", "--restart", "-f", "status == complete", "--limit", str(complete))
    assert outcome.code == Exit.DONE, outcome.err[-2000:]
    assert "kw: b1: has ended; it is started again in 0 s" in outcome.err
    assert len(re.findall(r"kw: b1: a capture again after \d+ s\n", outcome.err)) == 1
    assert len(rows(outcome.out)) == complete


def test_a_silent_place_is_told_and_so_is_its_return(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_inputs, "SILENT_S", 0.3)
    go = tmp_path / "go"
    quiet = "sh -c " + shlex.quote(f"cat {SECOND}; while ! test -e {go}; do sleep 0.05; done; cat {SECOND}")
    env = world()

    def let_go() -> None:
        try:
            until(lambda: b"quiet: silent for" in written(env.stderr))
        finally:
            go.touch()

    told = Thread(target=let_go)
    told.start()
    # Pieces so small that they last until the other place was told to be silent; then the rest.
    source = "import sys, time, pathlib\ndata = pathlib.Path(sys.argv[1]).read_bytes()\n"
    source += "out = sys.stdout.buffer\nat = 0\nwhile not pathlib.Path(sys.argv[2]).exists():\n"
    source += "    out.write(data[at:at + 20]); out.flush(); at += 20; time.sleep(0.02)\n"
    source += "out.write(data[at:])\n"
    drip = shlex.join((sys.executable, "-c", source, str(FIRST), str(go)))
    outcome = kw("sniff", "--on", f"busy={drip}", "--on", f"quiet={quiet}", env=env)
    told.join()
    assert "kw: quiet: silent for 0 s; the others go on" in outcome.err
    assert "kw: quiet: packets again after" in outcome.err


def test_packets_that_come_too_late_are_shown_counted_and_told() -> None:
    """The second place begins after the first has given packets of later times."""
    late = "sh -c " + shlex.quote(f"sleep 0.7; cat {FIRST}")
    first, second = rows(kw("sniff", str(FIRST)).out), rows(kw("sniff", str(SECOND)).out)
    assert max(row["time"] for row in first) < max(row["time"] for row in second)
    outcome = kw("sniff", "--on", f"b1={late}", "--on", f"b2={cat(SECOND)}", "--merge-delay", "200ms")
    assert outcome.code == Exit.DONE
    assert len(rows(outcome.out)) == len(first) + len(second)
    assert "kw: b1: " in outcome.err
    assert "packets came after later ones of other places, by up to" in outcome.err
    assert "--merge-delay" in outcome.err.split("came after later ones")[1]


def test_ctrl_c_ends_the_commands_and_what_they_have_started(tmp_path: Path) -> None:
    mark = f"kw-test-{os.getpid()}-{tmp_path.name}"
    command = "sh -c " + shlex.quote(f"cat {FIRST}; sleep 300 & exec -a {mark} sleep 300; # {mark}")
    words = [sys.executable, "-m", "kwcli", "sniff", "--on", f"b1={command}", "-o", "ndjson"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert is_running(mark)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LONG_S)
    assert process.returncode == Exit.INTERRUPTED, err
    until(lambda: not is_running(mark))


def test_nothing_is_left_when_kw_is_killed(tmp_path: Path) -> None:
    mark = f"kw-test-{os.getpid()}-{tmp_path.name}"
    command = "sh -c " + shlex.quote(f"cat {FIRST}; sleep 300 & sleep 300; # {mark}")
    words = [sys.executable, "-m", "kwcli", "sniff", "--on", f"b1={command}", "-o", "ndjson"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    until(lambda: not is_running(mark))


# The words of --on, and the text before a capture.


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (("ssh b1 tcpdump", "ssh b2 tcpdump", "x=ssh b3 tcpdump"), "ssh ssh-2 x"),
        (("b-1.dc_2=kubectl exec b -- tcpdump",), "b-1.dc_2"),
        (("/usr/bin/docker exec b tcpdump -w -",), "docker"),
        (("cat 'a = b.pcap'",), "cat"),
    ],
)
def test_names_of_places(texts: tuple[str, ...], names: str) -> None:
    assert " ".join(command.name for command in parse_and_name_capture_commands(texts)) == names


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (("b1=",), "no command in it"),
        (("",), "no command in it"),
        (("ssh 'b1 tcpdump",), "no closing quotation"),
        (("b1=cat a", "b1=cat b"), "two places have this name"),
    ],
)
def test_words_that_are_no_commands(texts: tuple[str, ...], said: str) -> None:
    with pytest.raises(Failure, match=said) as failure:
        parse_and_name_capture_commands(texts)
    assert failure.value.code is Exit.USAGE


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a.pcap", "--on", "cat x"), "a.pcap and --on cat x: not both"),
        (("a.pcap", "--restart"), "--restart starts the commands of --on again"),
        (("a.pcap", "--merge-delay", "2s"), "--merge-delay is for several inputs"),
        (("--on", "cat x", "--bpf", "port 1"), "--bpf is for a live capture: it needs -i IFACE"),
        (("--on", "cat x", "--follow"), "leave --follow out"),
        (("-i", "lo", "-i", "eth0", "-i", "lo"), "-i lo is given more than once"),
        (("-i", "lo", "--on", "lo=cat x"), "--on lo=: two places have this name"),
    ],
)
def test_options_that_clash(words: tuple[str, ...], said: str) -> None:
    outcome: Outcome = kw("sniff", *words)
    assert outcome.code == Exit.USAGE
    assert said in outcome.err


@pytest.mark.parametrize("step", [1, 3, 7, 10**6])
def test_text_before_a_capture_is_skipped_and_told(step: int) -> None:
    data = b"Last login:\n\r\r\n  today\x1b[0m\r\n" + FIRST.read_bytes()[:4000]
    told: list[str] = []
    pieces = (data[at : at + step] for at in range(0, len(data), step))
    assert b"".join(skip_text("b1", pieces, told.append)) == FIRST.read_bytes()[:4000]
    assert told == ["before its capture: Last login: today\x1b[0m"]


def test_text_is_told_where_nothing_follows_it() -> None:
    told: list[str] = []
    capture = FIRST.read_bytes()[:4000]
    pieces = [b"", b"Password", b": ", b"", b"", b"wrong\nPassword: " + capture[:700], b"", capture[700:], b""]
    assert b"".join(skip_text("b1", iter(pieces), told.append)) == capture
    assert told == ["no capture yet, but: Password:", "before its capture: wrong Password:"]


def test_text_without_end_is_no_capture() -> None:
    with pytest.raises(InputProblem, match="b1: no capture in what it writes: yes yes"):
        list(skip_text("b1", iter([b"yes\n" * 5000] * 100), lambda _: None))


def test_lines_of_standard_error_are_told_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_commands, "_LINES_TOLD", 2)
    told: list[str] = []
    command = CaptureCommand("b1", ("sh", "-c", "for i in 1 2 3 4; do echo line $i >&2; done"))
    process = CommandProcess(command, told.append)
    assert not list(filter(None, process.read_pieces()))
    process.close_output()
    process.wait_for_words()
    assert process.describe_end() == ("has ended", False)
    assert told == ["line 1", "line 2", "more lines of its standard error are not shown"]
    process.stop()
    process.stop()
