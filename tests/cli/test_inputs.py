"""Inputs: the same capture bytes for every compression and size of reads; one line for every problem."""

from __future__ import annotations

import gzip
import io
import os
import threading
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from struct import Struct
from unittest.mock import Mock

import lz4.frame  # type: ignore[import-untyped]  # lz4 ships no types
import pytest
import zstandard

from decoders.exchanges.exchange import ConnectionInfo, Ended
from decoders.exchanges.topic_and_node_names import Topics
from kwcli.reading.capture_sources import CaptureSource, open_source
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.read_captures_by_time import Captures, find_time_span_of_captures
from tests.cli.worlds import world

PLAIN = bytes.fromhex("d4c3b2a1") + bytes(range(256)) * 2000 + bytes(300_000)
CODECS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "lz4": lambda data: lz4.frame.compress(data, content_checksum=True),
}


def read(source: CaptureSource) -> tuple[bytes, str]:
    """All bytes of a source, and the problem at their end."""
    parts: list[bytes] = []
    try:
        parts.extend(source.read_capture_pieces())
    except InputProblem as problem:
        return b"".join(parts), problem.text
    return b"".join(parts), ""


def slow(data: bytes, size: int) -> CaptureSource:
    """A source that gives `size` bytes at a time."""
    stream = io.BytesIO(data)
    return CaptureSource("x", lambda count: stream.read(min(size, count)))


@pytest.mark.parametrize("codec", list(CODECS))
@pytest.mark.parametrize("size", [1 << 20, 4099, 7])
def test_bytes_come_out_as_they_went_in(codec: str, size: int) -> None:
    plain = PLAIN[:40_000] if size < 100 else PLAIN
    assert read(slow(CODECS[codec](plain), size)) == (plain, "")


@pytest.mark.parametrize("codec", ["gzip", "zstd", "lz4"])
def test_frames_follow_each_other(codec: str) -> None:
    data = CODECS[codec](PLAIN) + CODECS[codec](b"more") + CODECS[codec](b"")
    assert read(slow(data, 5000)) == (PLAIN + b"more", "")


@pytest.mark.parametrize("codec", ["gzip", "zstd", "lz4"])
def test_what_came_before_a_cut_is_kept(codec: str) -> None:
    data = CODECS[codec](PLAIN)
    got, problem = read(slow(data[:-3], 5000))
    assert PLAIN.startswith(got)
    assert problem == f"x: the {codec} data is cut off after {len(got):,} bytes of capture"


@pytest.mark.parametrize("codec", ["gzip", "zstd", "lz4"])
def test_what_came_before_damage_is_kept(codec: str) -> None:
    data = bytearray(CODECS[codec](PLAIN))
    data[-2] ^= 0x55
    got, problem = read(slow(bytes(data), 1000))
    assert got == PLAIN[: len(got)]
    assert problem.startswith(f"x: corrupt {codec} data after ")


def test_zeros_after_a_gzip_member_are_padding() -> None:
    assert read(slow(gzip.compress(PLAIN) + bytes(5000), 1000)) == (PLAIN, "")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("codec", ["gzip", "zstd", "lz4"])
def test_a_bomb_comes_in_bounded_pieces(codec: str) -> None:
    bomb = CODECS[codec](PLAIN[:4] + bytes(200_000_000))
    sizes = [len(piece) for piece in slow(bomb, 1 << 20).read_capture_pieces()]
    assert sum(sizes) == 200_000_004
    assert max(sizes) <= 33 << 20


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "x: empty: there is no capture in it"),
        (gzip.compress(b"", mtime=0), "x: empty: there is no capture in it"),
        (b"\xd4\xc3", "x: cut off at byte 2 inside the file header"),
        (
            b"snoop\0\0\0\0\0\0\2",
            "x: a capture of Solaris' snoop, which kw does not read; make it a pcapng: editcap -F pcapng IN OUT",
        ),
        (
            b"".join(
                (Struct("<Q").pack(1_700_000_000 + n << 32) + Struct(">BBHHH").pack(2, 4, 80, 0, 60) + bytes(64))
                for n in range(2)
            ),
            "x: a capture in Endace's ERF, which kw does not read; make it a pcapng: editcap -F pcapng IN OUT",
        ),
        (b"BZh91AY", "x: compressed by bzip2, which kw does not read; make it a pcapng: bzip2 -dk FILE"),
        (b"\xfd7zXZ\0", "x: compressed by xz, which kw does not read; make it a pcapng: xz -dk FILE"),
        (b"%PDF-1.7", 'x: not a capture: starts with "%PDF" (kw reads pcap and pcapng, also .gz .zst .lz4)'),
        (
            b"\x7fELF",
            "x: not a capture: starts with the bytes 7f 45 4c 46 (kw reads pcap and pcapng, also .gz .zst .lz4)",
        ),
        (
            gzip.compress(b"hello", mtime=0),
            'x: not a capture: starts with "hell" (kw reads pcap and pcapng, also .gz .zst .lz4)',
        ),
    ],
)
def test_what_is_no_capture_is_told_in_one_line(data: bytes, problem: str) -> None:
    assert read(slow(data, 1 << 20)) == (b"", problem)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    missing = tmp_path / "x.pcap"
    for name, reason in ((missing, "no such file"), (tmp_path, "a directory, not a capture")):
        with pytest.raises(InputProblem) as caught:
            open_source(str(name), world())
        assert caught.value.text == f"{name}: {reason}"


def test_a_file_knows_its_size_and_place(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap.gz"
    path.write_bytes(gzip.compress(PLAIN))
    source = open_source(str(path), world())
    assert source.size == path.stat().st_size
    assert read(source) == (PLAIN, "")
    assert source.taken == source.size
    source.close()


def test_standard_input() -> None:
    assert read(open_source("-", world(PLAIN))) == (PLAIN, "")


@pytest.mark.parametrize("compressed", [False, True])
def test_a_slow_pipe_is_followed_as_it_grows(compressed: bool) -> None:
    """Bytes are passed on when they arrive, not when a block is full."""
    reading, writing = os.pipe()
    engine = zlib.compressobj(wbits=31)
    seen = threading.Event()

    def write() -> None:
        for part in (PLAIN[:5000], PLAIN[5000:9000]):
            data = engine.compress(part) + engine.flush(zlib.Z_SYNC_FLUSH) if compressed else part
            os.write(writing, data)
            assert seen.wait(60)
            seen.clear()
        if compressed:
            os.write(writing, engine.flush())
        os.close(writing)

    writer = threading.Thread(target=write)
    writer.start()
    with open(reading, "rb") as stream:
        sizes = []
        for piece in CaptureSource("pipe", stream.read1).read_capture_pieces():
            sizes.append(len(piece))
            seen.set()
    writer.join()
    assert sizes == [5000, 4000]


def packet_file(second: int) -> bytes:
    """A capture of one TCP packet of that second."""
    tcp = bytes.fromhex("c000 2384 00000001 00000000 5018 ffff 0000 0000") + b"x"
    size = (20 + len(tcp)).to_bytes(2, "big")
    ip = bytes.fromhex("4500") + size + bytes.fromhex("0000 0000 4006 0000 7f000001 7f000001")
    head = bytes.fromhex("d4c3b2a1 0200 0400 00000000 00000000 00000400 65000000")
    sizes = (len(ip) + len(tcp)).to_bytes(4, "little") * 2
    return head + second.to_bytes(4, "little") + bytes(4) + sizes + ip + tcp


EARLIER, LATER = packet_file(1_000_000_000), packet_file(1_000_086_400)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with captures and other files; the later capture has the earlier name."""
    (tmp_path / "day").mkdir()
    for name, capture in (("a.pcap", LATER), ("day/oddly named", EARLIER), ("day/n.pcap.gz", gzip.compress(LATER))):
        (tmp_path / name).write_bytes(capture)
    (tmp_path / "notes.txt").write_text("no capture at all")
    (tmp_path / "new.pcap").write_bytes(b"")
    (tmp_path / ".hidden.pcap").write_bytes(LATER)
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "times", "problems"),
    [
        (["."], [1_000_000_000, 1_000_086_400, 1_000_086_400], []),
        (["*.pcap"], [1_000_086_400], []),
        (["**/*"], [1_000_000_000, 1_000_086_400, 1_000_086_400], []),
        (["day"], [1_000_000_000, 1_000_086_400], []),
        (["a.pcap", "."], [1_000_000_000, 1_000_086_400, 1_000_086_400], []),  # a.pcap once
        ([".", "a.pcap"], [1_000_000_000, 1_000_086_400, 1_000_086_400], []),
        (["a.pcap", "a.pcap"], [1_000_086_400, 1_000_086_400], []),  # given twice
        (["n*.txt"], [], ["n*.txt: no capture in it"]),
        (["*.nothing"], [], ["*.nothing: no such file"]),
        (["new.pcap"], [], ["new.pcap: empty: there is no capture in it"]),
    ],
)
def test_folders_and_patterns(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], times: list[int], problems: list[str]
) -> None:
    monkeypatch.chdir(folder)
    captures = Captures(words, world())
    found = [segment[1] // 10**9 for segments in captures for segment in segments]
    captures.close()
    assert (found, captures.problems) == (times, problems)


def test_the_span_of_captures(folder: Path) -> None:
    first, last = 1_000_000_000 * 10**9, 1_000_086_400 * 10**9
    assert find_time_span_of_captures([str(folder)], world()) == (first, last)
    assert find_time_span_of_captures([str(folder / "a.pcap"), "-", str(folder / "missing")], world()) == (last, last)
    assert find_time_span_of_captures(["-", str(folder / "notes.txt")], world()) is None


def test_ends_of_connections_in_several_tables_come_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    captures = Captures([], world())
    tables = [Mock(read_connection_ends=partial(ended_at, *times)) for times in ((1, 4, 9), (2, 3, 8), ())]
    monkeypatch.setattr(captures, "_tables", tables)
    assert [ended.last_ns for ended in captures.read_connection_ends()] == [1, 2, 3, 4, 8, 9]


def ended_at(*times: int) -> Iterator[Ended]:
    for number, last_ns in enumerate(times):
        ended = Ended(ConnectionInfo(number, "10.0.0.1:5000", "10.0.0.9:9092", 0, Topics()))
        ended.last_ns = last_ns
        yield ended
