"""Many captures merged by packet time: few files open at a time, the same segments as if all were read side by side."""

from __future__ import annotations

import gzip
import os
import resource
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from threading import Thread

import pytest

from decoders.capture.merge_captures import merge_segments
from decoders.capture.read_capture import CaptureReader
from decoders.limits import MERGED_MAX
from decoders.tcp.stream_chunks import Segment
from kwcli.reading import capture_sources
from kwcli.reading.capture_sources import open_source
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.list_input_files import OpenFiles, ReplacedFile
from kwcli.reading.read_captures_by_time import Captures
from kwcli.run_environment import Exit
from tests.capture.frames import ACK, ethernet, ipv4, tcp
from tests.capture.made import capture
from tests.capture.pcap_writer import PcapWriter
from tests.cli.worlds import kw, world

SECOND = 10**9
BEGIN = 1_700_000_000 * SECOND
MOST = 3
SHIPPED = Path(__file__).resolve().parents[2] / "captures" / "first-steps.pcapng"


def packet(number: int, time_ns: int, *, udp: bool = False) -> tuple[int, bytes]:
    """The time and the bytes of one packet."""
    data = tcp(40_000, 9092, number, 9, ACK, b"x" * 50)
    return time_ns, ethernet(ipv4("10.0.0.1", "10.0.0.2", data, protocol=17 if udp else 6))


def pcap(*packets: tuple[int, bytes]) -> bytes:
    """A capture of these packets."""
    writer = PcapWriter(1)
    return writer.make_file_header() + b"".join(writer.make_packet_block(time_ns, data) for time_ns, data in packets)


def rotated(count: int) -> list[bytes]:
    """Captures of consecutive times, named in reverse order."""
    return [pcap(*(packet(n, BEGIN + (at * 9 + n) * SECOND) for n in range(9))) for at in reversed(range(count))]


def overlapping(count: int) -> list[bytes]:
    """Captures of `count` hosts at the same time."""
    return [pcap(*(packet(n, BEGIN + n * SECOND + at) for n in range(60))) for at in range(count)]


def odd(count: int) -> list[bytes]:
    """Captures of every format, with clocks that jump; some broken, some without segments or with a late first one."""
    random = Random(7)
    made = [capture(random, 80, BEGIN + random.randrange(200) * SECOND) for _ in range(count)]
    made += [b"", b"%PDF-1.7", pcap(), made[0][:-3], gzip.compress(made[1])[:-4], gzip.compress(made[2])]
    made.append(pcap(packet(1, BEGIN + 900 * SECOND, udp=True), packet(2, BEGIN + 50 * SECOND)))
    made.append(pcap(*(packet(n, BEGIN, udp=True) for n in range(2000)), packet(1, BEGIN + 70 * SECOND)))
    random.shuffle(made)
    return made


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of open files at each time when one was opened."""
    now: set[int] = set()
    counts: list[int] = []
    system_open, system_close = os.open, os.close

    def opens(name: str, flags: int) -> int:
        descriptor = system_open(name, flags)
        now.add(descriptor)
        counts.append(len(now))
        return descriptor

    def closes(descriptor: int) -> None:
        now.discard(descriptor)
        system_close(descriptor)

    monkeypatch.setattr("kwcli.reading.list_input_files.os.open", opens)
    monkeypatch.setattr("kwcli.reading.list_input_files.os.close", closes)
    monkeypatch.setattr("kwcli.reading.list_input_files.OpenFiles.__init__.__defaults__", (MOST,))
    return counts


def at_once(captures: list[bytes]) -> list[Segment]:
    """The merged segments of captures that are all read side by side."""

    def feed(data: bytes) -> Iterator[list[Segment]]:
        reader = CaptureReader()
        yield reader.feed(zlib.decompressobj(wbits=31).decompress(data) if data[:2] == b"\x1f\x8b" else data)

    return [segment for batch in merge_segments([feed(data) for data in captures]) for segment in batch]


def written(folder: Path, captures: list[bytes]) -> list[str]:
    """Write files with these bytes; gives their names."""
    names = [str(folder / f"{number:04d}") for number in range(len(captures))]
    for name, data in zip(names, captures, strict=True):
        Path(name).write_bytes(data)
    return names


@pytest.mark.parametrize("made", [rotated, overlapping, odd])
@pytest.mark.parametrize("packed", [False, True])
def test_few_are_open_and_the_segments_are_the_same(
    made: Callable[[int], list[bytes]], packed: bool, tmp_path: Path, opened: list[int]
) -> None:
    plain = made(20)
    names = written(tmp_path, [gzip.compress(data) for data in plain] if packed and made is not odd else plain)
    captures = Captures(names, world())
    assert [segment for batch in captures for segment in batch] == at_once(plain)
    captures.close()
    assert max(opened) == MOST
    if made is not odd:  # odd captures are not read to their ends
        assert captures.taken == sum(os.path.getsize(name) for name in names)


def test_what_has_not_begun_is_not_read(tmp_path: Path) -> None:
    captures = Captures(written(tmp_path, rotated(20)), world())
    most = 0
    for _ in captures:
        most = max(most, len(captures._reading))
    assert most == 1


def test_the_more_there_are_the_smaller_are_their_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes held in memory do not grow with the number of captures."""
    sizes: Counter[int] = Counter()
    feed = CaptureReader.feed

    def counted(self: CaptureReader, data: bytes, now_ns: int = 0) -> list[Segment]:
        sizes[len(data)] += 1
        return feed(self, data, now_ns)

    monkeypatch.setattr(CaptureReader, "feed", counted)
    monkeypatch.setattr("kwcli.reading.read_captures_by_time.MERGED_MAX", MERGED_MAX >> 8)
    data = [pcap(*(packet(n, BEGIN + n * SECOND + at) for n in range(500))) for at in range(10)]
    captures = Captures(written(tmp_path, data), world())
    assert sum(map(len, captures)) == 5000
    assert sizes[(MERGED_MAX >> 8) // 10] >= 9  # a tenth of the limit, once all ten have begun


def test_what_is_wrong_with_some_is_told_behind_the_others(tmp_path: Path) -> None:
    data = SHIPPED.read_bytes()
    names = written(tmp_path, [b"", data, b"%PDF-1.7", data[:9000]])
    outcome = kw("sniff", names[0], str(tmp_path / "none"), *names[1:], "-o", "ndjson", "-q")
    assert outcome.code == Exit.FAILURE
    assert outcome.err.splitlines() == [
        f"kw: {tmp_path}/none: no such file",
        f"kw: {names[0]}: empty: there is no capture in it",
        f'kw: {names[2]}: not a capture: starts with "%PDF" (kw reads pcap and pcapng, also .gz .zst .lz4)',
        f"kw: {names[3]}: cut off at byte 9,000 inside a packet; everything before it is shown",
    ]
    assert len(outcome.out.splitlines()) > 200


def test_a_file_that_is_replaced_is_not_read_on(tmp_path: Path) -> None:
    names = written(tmp_path, [bytes(range(100)), b"", b"other"])
    files = OpenFiles(1)
    file = files.open(names[0])
    assert file.read(3, 4) == bytes([3, 4, 5, 6])
    other = files.open(names[1])
    assert (files.count, file.descriptor) == (1, None)
    assert file.read(98, 4) == bytes([98, 99])
    assert other.descriptor is None
    other.read(0, 1)
    os.replace(names[2], names[0])
    with pytest.raises(ReplacedFile, match="was replaced by another file while it was read"):
        file.read(0, 1)
    file.close()
    other.close()
    assert files.count == 0


def test_a_replaced_capture_is_one_line(tmp_path: Path) -> None:
    names = written(tmp_path, [SHIPPED.read_bytes(), b"", b"other"])
    files = OpenFiles(1)
    source = open_source(names[0], world(), files)
    pieces = source.read_capture_pieces()
    next(pieces)
    open_source(names[1], world(), files)
    os.replace(names[2], names[0])
    with pytest.raises(InputProblem) as caught:
        list(pieces)
    assert caught.value.text == f"{names[0]}: was replaced by another file while it was read at byte 65,536"


def test_pipes_stay_open(tmp_path: Path, opened: list[int]) -> None:
    data = overlapping(8)
    names = written(tmp_path, data)
    fifos = names[:4]
    for name in fifos:
        os.unlink(name)
        os.mkfifo(name)
    writers = [Thread(target=Path(name).write_bytes, args=(data[at],)) for at, name in enumerate(fifos)]
    for writer in writers:
        writer.start()
    captures = Captures(names, world())
    assert [segment for batch in captures for segment in batch] == at_once(data)
    captures.close()
    for writer in writers:
        writer.join()
    assert max(opened) == 4 + MOST


def test_too_many_pipes_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_sources, "read_open_files_limit", lambda: 8)
    monkeypatch.setattr("kwcli.reading.list_input_files.read_open_files_limit", lambda: 8)
    files = OpenFiles()
    for _ in range(4):
        open_source("/dev/null", world(), files)
    with pytest.raises(InputProblem) as caught:
        open_source("/dev/null", world(), files)
    assert caught.value.text == "/dev/null: too many open files (ulimit -n is 8)"


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("words", [["sniff", "-o", "ndjson"], ["stats", "-o", "ndjson"], ["pipeline", "run"]])
def test_more_captures_than_a_process_may_have_open(words: list[str], tmp_path: Path) -> None:
    names = written(tmp_path, overlapping(150))
    out = tmp_path / "out"
    more = ["--engine", "local", "--out", str(out)] if words[0] == "pipeline" else []

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))

    done = subprocess.run(
        [sys.executable, "-m", "kwcli.main", *words, *names, *more],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    assert (done.returncode, "defect" in done.stderr) == (Exit.DONE, False), done.stderr
    assert "9,000 packets" in done.stderr
