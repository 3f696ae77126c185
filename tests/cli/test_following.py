"""`--follow`: a growing capture and the next files of its writer give what one whole capture gives.

A `CaptureFollower` is played step by step: a look that finds nothing ends a step, so that no test waits for a clock.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

import pytest

from decoders.capture.read_capture import CaptureReader
from kwcli.reading import follow_captures as following
from kwcli.reading import packet_sources
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.follow_captures import CaptureFollower
from kwcli.reading.ring_file_names import find_ring
from kwcli.run_environment import Exit
from tests.captures.shipped import FOLDER
from tests.cli.test_live import may_capture
from tests.cli.worlds import kw, world, written
from tests.waiting import until

ROOT: Final = Path(__file__).resolve().parents[2]
CAPTURE: Final = (FOLDER / "sasl-raw.pcap").read_bytes()
TOUR: Final = FOLDER / "tour.pcapng"
HEADER: Final = CAPTURE[:24]


def records(data: bytes) -> list[bytes]:
    """The records of a little-endian pcap."""
    out, at = [], 24
    while at < len(data):
        end = at + 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        out.append(data[at:end])
        at = end
    return out


RECORDS: Final = records(CAPTURE)
THIRD: Final = len(RECORDS) // 3
PARTS: Final = [
    HEADER + b"".join(RECORDS[:THIRD]),
    HEADER + b"".join(RECORDS[THIRD : 2 * THIRD]),
    HEADER + b"".join(RECORDS[2 * THIRD :]),
]


def segments_of(data: bytes) -> list[tuple[Any, ...]]:
    """The segments of a capture without packet numbers, which begin anew in each file."""
    reader = CaptureReader()
    return [plain(segment) for segment in [*reader.feed(data), *reader.finish()]]


def plain(segment: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*segment[:2], *segment[3:])


WHOLE: Final = segments_of(CAPTURE)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_SCAN_S", 0.0)
    monkeypatch.setattr(following, "_SCAN_SHARE", 0)
    monkeypatch.setattr(packet_sources, "BUSY_S", 0.0)


class Steps:
    """A `CaptureFollower` over files that a test writes, its segments in `taken`."""

    def __init__(self, word: Path | str) -> None:
        self.env = world()
        self.follower = CaptureFollower(str(word), self.env.report)
        self._stream = self.follower.read_batches()
        self.taken: list[tuple[Any, ...]] = []

    def look(self) -> Steps:
        """Read until a look finds nothing three times; the first empty look may be at a file that was just left."""
        empty = 0
        while empty < 3:
            segments, _ = next(self._stream)
            self.taken += map(plain, segments)
            empty = 0 if segments else empty + 1
        return self

    @property
    def said(self) -> str:
        return written(self.env.stderr).decode()


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.mark.parametrize(("count", "step"), [(3, 1), (20, 7), (len(RECORDS), 9001)])
def test_a_file_that_grows_cut_anywhere(tmp_path: Path, count: int, step: int) -> None:
    """The first packets are written byte by byte, the next ones in larger pieces."""
    path = tmp_path / "x.pcap"
    steps = Steps(path)
    assert steps.follower.greeting.startswith("waiting for ")
    assert steps.look().taken == []
    data = HEADER + b"".join(RECORDS[:count])
    whole = {24 + sum(map(len, RECORDS[:number])) for number in range(1, count + 1)}
    for at in range(0, len(data), step):
        append(path, data[at : at + step])
        steps.look()
        assert steps.taken == segments_of(data[: at + step])
        partial = steps.follower.closing_remarks()
        assert (partial == []) == (min(at + step, len(data)) in whole or at + step < min(whole))
    assert len(steps.taken) == len(segments_of(data))
    assert steps.said == ""


# The name given to --follow, and the names that a writer uses.
RINGS: Final = [
    ("dump.pcap", ["dump.pcap", "dump.pcap1", "dump.pcap2"]),  # tcpdump -C
    ("dump.pcap", ["dump.pcap0", "dump.pcap1", "dump.pcap2"]),  # tcpdump -C -W
    ("dump.pcap0", ["dump.pcap0", "dump.pcap1", "dump.pcap0"]),  # it comes round
    ("dump.pcap08", ["dump.pcap08", "dump.pcap09", "dump.pcap10"]),
    ("d-20260101-000000.pcap", ["d-20260101-000000.pcap", "d-20260101-001000.pcap", "d-20260102-000000.pcap"]),  # -G
    ("d-%Y%m%d-%H%M%S.pcap", ["d-20260101-000000.pcap", "d-20260101-001000.pcap", "d-20260102-000000.pcap"]),
    ("d-%H.pcap", ["d-22.pcap", "d-23.pcap", "d-00.pcap"]),
    ("d-1767225600.pcap", ["d-1767225600.pcap", "d-1767225600.pcap1", "d-1767225660.pcap"]),  # -G and -C
    ("d-*.pcap", ["d-b.pcap", "d-a.pcap", "d-c.pcap"]),
    (".", ["one.pcap", "b", "a.cap"]),
    ("n.pcap", ["n_00001_20260101000000.pcap", "n_00002_20260101000001.pcap", "n_00003_20260101000002.pcap"]),
    ("n_00009_20260101.pcap", ["n_00009_20260101.pcap", "n_00010_20260101.pcap", "n_00011_20260102.pcap"]),
    ("n.pcap", ["n_20260101000000_00001.pcap", "n_20260101000001_00002.pcap", "n_20260101000002_00003.pcap"]),
    ("same.pcap", ["same.pcap", "same.pcap", "same.pcap"]),  # tcpdump -G without a time in its name
]  # fmt: skip


@pytest.mark.parametrize(("word", "names"), RINGS, ids=[f"{word} {names[-1]}" for word, names in RINGS])
@pytest.mark.parametrize("torn", [False, True])
def test_a_ring_gives_what_one_capture_gives(tmp_path: Path, word: str, names: list[str], torn: bool) -> None:
    steps = Steps(tmp_path / word)
    for name, part in zip(names, PARTS, strict=True):
        (tmp_path / name).write_bytes(b"")  # the file as opened, before its first buffer is written
        steps.look()
        half = len(part) // 2 if torn else len(part)
        append(tmp_path / name, part[:half])
        steps.look()
        append(tmp_path / name, part[half:])
        steps.look()
    assert steps.taken == WHOLE
    assert steps.follower.packet_counts()["packets"] == len(RECORDS)
    assert steps.said == ""
    assert not steps.follower.is_broken


# Rings of three files that exist at the same time.
WHOLE_RINGS: Final = [(word, names) for word, names in RINGS[:6] if len(set(names)) == 3]


@pytest.mark.parametrize(("word", "names"), WHOLE_RINGS, ids=[f"{word} {names[-1]}" for word, names in WHOLE_RINGS])
def test_files_that_are_there_before(tmp_path: Path, word: str, names: list[str]) -> None:
    """Files are read from the named one onward, or from the oldest; earlier files are not read."""
    for name, part in zip(names, PARTS, strict=True):
        (tmp_path / name).write_bytes(part)
    assert Steps(tmp_path / word).look().taken == WHOLE
    assert Steps(tmp_path / names[1]).look().taken == WHOLE[len(segments_of(PARTS[0])) :]


def test_a_file_that_is_moved_away_and_begun_anew(tmp_path: Path) -> None:
    """logrotate without copytruncate: the writer's last bytes go to the renamed file."""
    path = tmp_path / "x.pcap"
    cut = len(PARTS[0]) - 40
    append(path, PARTS[0][:cut])
    steps = Steps(path).look()
    path.rename(tmp_path / "x.pcap.1")
    append(tmp_path / "x.pcap.1", PARTS[0][cut:])
    append(path, PARTS[1][:10])  # not a packet yet
    steps.look()
    append(path, PARTS[1][10:])
    steps.look()
    path.unlink()
    steps.look()
    append(path, PARTS[2])
    assert steps.look().taken == WHOLE
    assert steps.said == ""


def test_a_file_that_is_emptied_under_a_writer_who_stays_where_he_was(tmp_path: Path) -> None:
    """logrotate's copytruncate: zeros stand before the next bytes."""
    path = tmp_path / "x.pcap"
    with path.open("wb", buffering=0) as writer:
        writer.write(PARTS[0])
        steps = Steps(path).look()
        os.truncate(path, 0)
        steps.look()
        writer.write(b"".join([*RECORDS[THIRD:]]))
        assert path.read_bytes()[:4] == bytes(4)
        assert steps.look().taken == WHOLE
    assert steps.said == ""


def test_a_folder_that_is_away_for_a_while_is_not_read_again(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, part in zip(("x.pcap", "x.pcap1"), PARTS[:2], strict=True):
        append(tmp_path / "in" / name, part)
    steps = Steps(tmp_path / "in" / "x.pcap").look()
    (tmp_path / "in").rename(tmp_path / "away")
    steps.look()
    (tmp_path / "away").rename(tmp_path / "in")
    append(tmp_path / "in" / "x.pcap2", PARTS[2])
    assert steps.look().taken == WHOLE
    assert steps.said == ""


def test_a_writer_that_was_killed_is_told_when_another_goes_on(tmp_path: Path) -> None:
    append(tmp_path / "x.pcap", PARTS[0][:-5])
    steps = Steps(tmp_path / "x.pcap").look()
    unfinished = f"x.pcap: its last packet is not whole yet: {len(RECORDS[THIRD - 1]) - 5} bytes of it are written"
    assert steps.follower.closing_remarks()[0].endswith(unfinished)
    (tmp_path / "x.pcap").write_bytes(PARTS[1])  # begun anew
    steps.look()
    assert steps.taken == WHOLE[: THIRD - 1] + segments_of(PARTS[1])
    assert (
        f"x.pcap: cut off at byte {len(PARTS[0]) - 5:,} inside a packet; the writer has begun another file"
        in steps.said
    )
    assert steps.follower.is_broken


def test_what_is_corrupt_is_told_at_once_and_the_next_file_is_read(tmp_path: Path) -> None:
    append(tmp_path / "x.pcap", PARTS[0] + b"\xff" * 16)
    steps = Steps(tmp_path / "x.pcap").look()
    assert "x.pcap: no packet record" in steps.said
    append(tmp_path / "x.pcap1", PARTS[1])
    assert steps.look().taken == WHOLE[: len(segments_of(PARTS[0])) + len(segments_of(PARTS[1]))]


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("broker1.pcap", "broker2.pcap"),
        ("a.pcap", "b.pcap"),
        ("a-20260101.pcap", "b-20260102.pcap"),
        ("x.pcap", "x.pcap.1"),
        ("10.0.0.1.pcap", "10.0.0.2.pcap"),
        ("n_00001_20260101000000.pcap", "m_00002_20260101000001.pcap"),
        ("dump.pcap", "dump2.pcap"),
        ("d-%H.pcap", "d-x.pcap"),
    ],
)
def test_a_file_of_another_name_is_not_taken_for_the_next(tmp_path: Path, name: str, other: str) -> None:
    append(tmp_path / name, PARTS[0])
    steps = Steps(tmp_path / name).look()
    append(tmp_path / other, PARTS[1])
    assert steps.look().taken == segments_of(PARTS[0])


def test_in_a_folder_what_is_no_capture_is_passed_over(tmp_path: Path) -> None:
    append(tmp_path / "README", b"how these were made")
    append(tmp_path / "x.pcap.gz", gzip.compress(PARTS[0]))
    append(tmp_path / "y.pcap", PARTS[1])
    append(tmp_path / ".hidden.pcap", PARTS[2])
    (tmp_path / "sub").mkdir()
    steps = Steps(tmp_path).look()
    assert steps.taken == segments_of(PARTS[1])
    assert steps.said.count("\n") == 1
    assert "x.pcap.gz: compressed: --follow reads uncompressed captures only" in steps.said


def test_two_writers_at_a_time_are_told(tmp_path: Path) -> None:
    append(tmp_path / "a.pcap", PARTS[0])
    append(tmp_path / "b.pcap", PARTS[1])
    steps = Steps(tmp_path / "*.pcap").look()
    append(tmp_path / "a.pcap", RECORDS[-1])
    steps.look()
    steps.look()
    assert steps.said.count("\n") == 1
    assert "a.pcap: has grown after a later file was begun: --follow reads files of one writer" in steps.said


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("x.pcap.gz", gzip.compress(CAPTURE), "compressed: --follow reads uncompressed captures only"),
        ("x.pcap", b"%PDF-1.4", "not a capture: starts with"),
        ("x.ndjson", b'{"kind":"exchange"}\n', "not a capture"),
        ("nothing/x.pcap", None, "no such folder"),
    ],
)
def test_what_cannot_be_followed(tmp_path: Path, name: str, content: bytes | None, why: str) -> None:
    if content is not None:
        append(tmp_path / name, content)
    with pytest.raises(InputProblem, match=why):
        CaptureFollower(str(tmp_path / name), world().report)
    outcome = kw("sniff", str(tmp_path / name), "--follow")
    assert (outcome.code, outcome.out) == (Exit.FAILURE, "")
    assert why in outcome.err


def test_a_ring_whose_folder_is_large_is_looked_at_rarely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that do not change are not opened again."""
    for number in range(50):
        append(tmp_path / f"x.pcap{number}", PARTS[0])
    steps = Steps(tmp_path / "x.pcap0").look()
    opened: list[str] = []
    inside = following._read_beginning

    def read_beginning(path: str, size: int) -> bytes:
        opened.append(path)
        return inside(path, size)

    monkeypatch.setattr(following, "_read_beginning", read_beginning)
    append(tmp_path / "x.pcap50", PARTS[1])
    steps.look()
    assert opened == [str(tmp_path / "x.pcap50")]


def test_rows_are_those_of_the_whole_capture_and_a_limit_ends_it(tmp_path: Path) -> None:
    shutil.copy(TOUR, tmp_path / "x.pcapng")
    whole = kw("sniff", str(TOUR), "-q", "--limit", "150")
    followed = kw("sniff", str(tmp_path / "x.pcapng"), "--follow", "--limit", "150")
    assert (followed.code, followed.out) == (Exit.DONE, whole.out)
    assert followed.err.startswith(f"kw: following {tmp_path / 'x.pcapng'}; Ctrl-C ends\n150 exchanges")


def test_rows_name_their_file(tmp_path: Path) -> None:
    for name, part in zip(("x.pcap", "x.pcap1", "x.pcap2"), PARTS, strict=True):
        append(tmp_path / name, part)
    words = ("-o", "csv", "--columns", "file,packets.request")
    count = len(kw("sniff", str(FOLDER / "sasl-raw.pcap"), "-q").out.splitlines()) - 5
    together = kw("sniff", str(tmp_path), "-q", *words, "--limit", str(count))
    followed = kw("sniff", str(tmp_path / "x.pcap"), "--follow", "-q", *words, "--limit", str(count))
    assert followed.out == together.out
    assert "x.pcap1" in followed.out


# -- whole programs ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def running(*words: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """`kw WORDS…` in a process of its own, killed at the end if it still runs."""
    command = [sys.executable, "-m", "kwcli.main", *words]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment}
    with subprocess.Popen(command, cwd=ROOT, **{**pipes, **options}) as process:
        try:
            yield process
        finally:
            process.kill()


def _rest(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """The rest of a process's output and errors; communicate() would lose bytes that were read ahead of a line."""
    assert process.stdout is not None and process.stderr is not None  # noqa: PT018
    found = process.stdout.read(), process.stderr.read()
    process.wait()
    return found


def test_ctrl_c_loses_nothing_where_nobody_reads(tmp_path: Path) -> None:
    """A full pipe blocks the output; everything decoded is written once the pipe is read."""
    shutil.copy(TOUR, tmp_path / "x.pcapng")
    whole = kw("sniff", str(TOUR), "-q").out.splitlines()
    with running("sniff", str(tmp_path / "x.pcapng"), "--follow", "-q", "-o", "ndjson") as process:
        assert process.stdout is not None
        first = process.stdout.read(1)
        pipe = process.stdout
        until(lambda: _bytes_waiting(pipe) > 30_000)  # of the 64 KiB of a pipe
        process.send_signal(signal.SIGINT)
        rest, _ = _rest(process)
    assert process.returncode == Exit.INTERRUPTED
    rows = [json.loads(row) for row in (first + rest).splitlines()]
    assert len(rows) > 50
    seen = {json.dumps(row) for row in map(json.loads, whole)}
    assert sum(json.dumps(row) in seen for row in rows) >= len(rows) - 5  # some were cut off by the end


def test_ctrl_c_ends_it_with_what_was_decoded(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    whole = kw("sniff", str(FOLDER / "sasl-raw.pcap"), "-q").out.splitlines()
    with running("sniff", str(path), "--follow", "-o", "ndjson") as process:
        assert process.stdout is not None and process.stderr is not None  # noqa: PT018
        assert process.stderr.readline() == f"kw: waiting for {path}; Ctrl-C ends\n".encode()
        append(path, CAPTURE[:-3])
        rows = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        rest, err = _rest(process)
    assert process.returncode == Exit.INTERRUPTED
    rows += rest.splitlines()
    assert len(rows) > 50
    assert [json.loads(row)["time"] for row in rows[:50]] == [json.loads(row)["time"] for row in whole[:50]]
    said = err.decode().splitlines()
    assert said[0].startswith(f"kw: {path}: its last packet is not whole yet: ")
    assert "exchange" in said[-1]


@pytest.mark.parametrize("command", ["sniff", "stats"])
def test_a_pipe_that_stalls_and_tears(command: str) -> None:
    """Rows appear while the pipe is silent (`ssh HOST tcpdump -U -w -`); a torn connection is told with its place."""
    with running(command, "-", "-o", "ndjson", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None  # noqa: PT018
        half = 24 + sum(map(len, RECORDS[: 2 * THIRD]))
        process.stdin.write(CAPTURE[:half])
        process.stdin.flush()
        if command == "sniff":
            expected = kw("sniff", "-", "-q", env=world(CAPTURE[:half])).out.splitlines()
            assert len(expected) > 3
            for row in expected[:3]:
                got = json.loads(process.stdout.readline())
                assert got["correlation_id"] == json.loads(row)["correlation_id"]
        process.stdin.write(CAPTURE[half : half + 30])
        process.stdin.close()
        process.stdin = None
        rest, err = _rest(process)
    assert process.returncode == Exit.FAILURE
    assert rest
    assert f"kw: standard input: cut off at byte {half + 30:,} inside a packet".encode() in err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("-i", "lo", "--follow"), "a live capture is followed anyway"),
        (("a", "b", "--follow"), "--follow reads one file and the files that continue it"),
        (("--rotate-size", "1MB", "a"), "--rotate-size needs --write: it is about the files of -w"),
        (("-i", "lo", "-w", "x", "--keep", "3"), "--keep needs --rotate-size or --rotate-interval"),
    ],
)
def test_options_that_could_not_be_kept(words: tuple[str, ...], why: str) -> None:
    outcome = kw("sniff", *words)
    assert (outcome.code, outcome.out) == (Exit.USAGE, "")
    assert why in outcome.err


def test_what_can_be_read_once_is_followed_anyway() -> None:
    whole = kw("sniff", "-", "-q", env=world(CAPTURE))
    assert kw("sniff", "-", "--follow", "-q", env=world(CAPTURE)) == whole
    assert whole.code == Exit.DONE


needs_tcpdump = pytest.mark.skipif(
    sys.platform != "linux" or not may_capture() or not shutil.which("tcpdump"),
    reason="needs tcpdump and a capture socket",
)


@needs_tcpdump
@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "word", "end"),
    [
        (("-C", "1", "-W", "3"), "t.pcap", "killed"),
        (("-C", "1"), "t.pcap", "killed"),
        (("-G", "1"), "t-%s.pcap", "killed"),
        (("-G", "1", "-C", "1"), "t-%Y%m%d-%H%M%S.pcap", "interrupted"),
        ((), "t.pcap", "full"),
    ],
    ids=["ring", "numbered", "times", "times and numbers", "full"],
)
def test_tcpdump_writes_and_rotates(tmp_path: Path, options: tuple[str, ...], word: str, end: str) -> None:
    """tcpdump rotates, is killed, or may write no more: kw shows the rows of a live capture of the same time."""
    from tests.cli.test_live_ring import heartbeats, serving

    folder = tmp_path / "ring"
    folder.mkdir()

    def limit() -> None:
        if end == "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))

    with (
        serving() as client,
        (tmp_path / "rows").open("wb") as rows_file,
        running("sniff", str(folder / word), "--follow", "-o", "ndjson", stdout=rows_file) as process,
    ):
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"kw: waiting for ")
        port = client.getpeername()[1]
        command = [
            "tcpdump",
            "-i",
            "lo",
            "-U",
            "--immediate-mode",
            "-Z",
            "root",
            "-w",
            str(folder / word),
            *options,
            f"port {port}",
        ]
        with subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=limit) as writer:
            assert writer.stderr is not None
            while b"listening on" not in writer.stderr.readline():
                pass
            sent = heartbeats(client, 300, size=10_000, pause_s=0.01)

            def are_shown() -> bool:
                return (tmp_path / "rows").read_bytes().count(b"\n") >= len(sent)

            if end == "killed":
                until(are_shown)
                writer.kill()
            elif end == "interrupted":
                writer.send_signal(signal.SIGINT)
            writer.communicate()
        files = len(list(folder.iterdir()))
        if end == "full":
            time.sleep(1.0)
        else:
            until(are_shown)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    rows = [json.loads(row)["correlation_id"] for row in (tmp_path / "rows").read_bytes().splitlines()]
    assert process.returncode == Exit.INTERRUPTED
    if end == "full":
        assert rows == sent[: len(rows)]
        assert len(rows) > 20
        assert b"its last packet is not whole yet" in err
    else:
        assert rows == sent
        assert files > 1


@pytest.mark.long
def test_idle_costs_next_to_nothing(tmp_path: Path) -> None:
    append(tmp_path / "x.pcap", CAPTURE)
    with running("sniff", str(tmp_path / "x.pcap"), "--follow", "-o", "ndjson") as process:
        assert process.stdout is not None
        for _ in kw("sniff", str(tmp_path / "x.pcap"), "-f", "status != unanswered").out.splitlines():
            process.stdout.readline()
        time.sleep(0.3)
        before = _cpu_s(process.pid)
        time.sleep(1.0)
        assert _cpu_s(process.pid) - before < 0.1
        process.send_signal(signal.SIGINT)
        process.communicate()


def _bytes_waiting(stream: IO[bytes]) -> int:
    """The bytes that a pipe holds for its reader."""
    found = array.array("i", [0])
    fcntl.ioctl(stream, termios.FIONREAD, found)
    return found[0]


def _cpu_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_names_of_a_ring_that_is_not_there(tmp_path: Path) -> None:
    ring = find_ring(str(tmp_path / "x.pcap"))
    assert list(ring.list_existing_paths()) == []
    (tmp_path / "x.pcap7").mkdir()
    append(tmp_path / "x.pcap8", b"")
    assert list(ring.list_existing_paths()) == [str(tmp_path / "x.pcap8")]
