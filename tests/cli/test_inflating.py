"""Compressed captures: each check that a container carries is made, and good data comes before the error."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from struct import pack

import lz4.frame  # type: ignore[import-untyped]  # lz4 ships no types
import pytest
import zstandard

from kwcli.run_environment import Exit
from tests.cli.test_inputs import read, slow
from tests.cli.worlds import kw, world
from tests.sampling import sampled

PLAIN = bytes.fromhex("d4c3b2a1") + random.Random(1).randbytes(9000) + bytes(range(256)) * 1200
ALL = f"{len(PLAIN):,}"
SKIPPED = bytes.fromhex("5a2a4d18") + pack("<I", 9) + b"123456789"


def gzipped(*, flags: int = 0, header: int = 0, crc: int = 0, size: int = 0) -> bytes:
    """One gzip member, with wrong checks where asked for."""
    head = b"\x1f\x8b\x08" + bytes([flags]) + bytes(5) + b"\xff"
    head += (b"\3\0abc" if flags & 4 else b"") + (b"name\0" if flags & 8 else b"") + (b"note\0" if flags & 16 else b"")
    if flags & 2:
        head += pack("<H", zlib.crc32(head) + header & 0xFFFF)
    engine = zlib.compressobj(wbits=-15)
    return head + engine.compress(PLAIN) + engine.flush() + pack("<II", zlib.crc32(PLAIN) ^ crc, len(PLAIN) + size)


def zstd(*, checksum: bool = True, stated: bool = True, plain: bytes = PLAIN) -> bytes:
    """One zstd frame."""
    return zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=stated).compress(plain)


def lz4_frame(plain: bytes = PLAIN, **words: bool) -> bytes:
    """One LZ4 frame with every check."""
    checks = {"content_checksum": True, "block_checksum": True, "store_size": True}
    return bytes(lz4.frame.compress(plain, **{**checks, **words}))


def zstd_of_size(size: int, plain: bytes) -> bytes:
    """A zstd frame that states this content size."""
    data = zstd(checksum=False, plain=plain)
    before = pack("<I", len(plain)) if len(plain) >= 65792 else pack("<H", len(plain) - 256)
    at = data.index(before, 5, 14)
    return data[:at] + (pack("<I", size) if len(before) == 4 else pack("<H", size - 256)) + data[at + len(before) :]


@cache
def lz4_of_size(size: int) -> bytes:
    """An LZ4 frame that states this content size; the checksum byte of its header is found by trying."""
    data = lz4_frame()
    for sum_ in range(256):
        made = data[:6] + pack("<Q", size) + bytes([sum_]) + data[15:]
        try:
            lz4.frame.LZ4FrameDecompressor().decompress(made[:20])
        except RuntimeError:
            continue
        return made
    raise AssertionError("no header checksum fits")


def bent(data: bytes, at: int) -> bytes:
    """The data with one bit of one byte changed."""
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


MIDDLE = PLAIN[:40_000]
FAULTS: dict[str, tuple[bytes, bytes, str]] = {
    # A name: the bytes, the good part of the capture, the error after it.
    "gzip CRC": (gzipped(crc=1), PLAIN, f"corrupt gzip data after {ALL} bytes of capture (its CRC-32 does not match)"),
    "gzip size": (
        gzipped(size=1),
        PLAIN,
        f"corrupt gzip data after {ALL} bytes of capture (it has another size than its end says)",
    ),
    "gzip header CRC": (
        gzipped(flags=30, header=1),
        b"",
        "corrupt gzip data after 0 bytes of capture (the checksum of its header does not match)",
    ),
    "gzip header flags": (gzipped(flags=0x80), b"", "corrupt gzip data after 0 bytes of capture (no gzip header)"),
    "gzip without its end": (gzipped()[:-8], PLAIN, f"the gzip data is cut off after {ALL} bytes of capture"),
    "gzip without its last byte": (gzipped()[:-1], PLAIN, f"the gzip data is cut off after {ALL} bytes of capture"),
    "gzip and zeros and more": (
        gzipped() + bytes(70_000) + b"hello",
        PLAIN,
        f'garbage at byte {len(gzipped()) + 70_000:,}, behind the gzip data: "hell"',
    ),
    "gzip and a skippable frame": (
        gzipped() + SKIPPED,
        PLAIN,
        f"garbage at byte {len(gzipped()):,}, behind the gzip data: the bytes 5a 2a 4d 18",
    ),
    "zstd checksum": (
        bent(zstd(), -1),
        PLAIN,
        f"corrupt zstd data after {ALL} bytes of capture (its content checksum does not match)",
    ),
    "zstd without its checksum": (zstd()[:-4], PLAIN, f"the zstd data is cut off after {ALL} bytes of capture"),
    "zstd without its last byte": (zstd()[:-1], PLAIN, f"the zstd data is cut off after {ALL} bytes of capture"),
    "zstd that says less": (
        zstd_of_size(len(PLAIN) - 1, PLAIN),
        PLAIN,
        f"corrupt zstd data after {ALL} bytes of capture (it has another size than its header says)",
    ),
    "zstd that says more": (
        zstd_of_size(len(PLAIN) + 1, PLAIN),
        PLAIN,
        f"corrupt zstd data after {ALL} bytes of capture (it has another size than its header says)",
    ),
    "small zstd that says less": (
        zstd_of_size(len(MIDDLE) - 1, MIDDLE),
        MIDDLE,
        "corrupt zstd data after 40,000 bytes of capture (it has another size than its header says)",
    ),
    "zstd and more": (zstd() + b"hello", PLAIN, f'garbage at byte {len(zstd()):,}, behind the zstd data: "hell"'),
    "zstd and gzip": (
        zstd() + gzipped(),
        PLAIN,
        f"garbage at byte {len(zstd()):,}, behind the zstd data: the bytes 1f 8b 08 00",
    ),
    "zstd and a cut skippable frame": (
        zstd() + SKIPPED[:-1],
        PLAIN,
        f"the zstd data is cut off after {ALL} bytes of capture",
    ),
    "zstd and a cut frame": (zstd() + zstd()[:3], PLAIN, f"the zstd data is cut off after {ALL} bytes of capture"),
    "lz4 header checksum": (
        bent(lz4_frame(), 14),
        b"",
        "corrupt lz4 data after 0 bytes of capture (the checksum of its header does not match)",
    ),
    "lz4 block checksum": (
        bent(lz4_frame(), -9),
        PLAIN[: len(PLAIN) // 65536 * 65536],
        f"corrupt lz4 data after {len(PLAIN) // 65536 * 65536:,} bytes of capture"
        " (the checksum of a block does not match)",
    ),
    "lz4 content checksum": (
        bent(lz4_frame(), -1),
        PLAIN,
        f"corrupt lz4 data after {ALL} bytes of capture (its content checksum does not match)",
    ),
    "lz4 without its content checksum": (
        lz4_frame()[:-4],
        PLAIN,
        f"the lz4 data is cut off after {ALL} bytes of capture",
    ),
    "lz4 without the mark of its end": (
        lz4_frame(content_checksum=False)[:-4],
        PLAIN,
        f"the lz4 data is cut off after {ALL} bytes of capture",
    ),
    "lz4 that says less": (
        lz4_of_size(len(PLAIN) - 1),
        PLAIN,
        f"corrupt lz4 data after {ALL} bytes of capture (it has another size than its header says)",
    ),
    "lz4 that says more": (
        lz4_of_size(len(PLAIN) + 1),
        PLAIN,
        f"corrupt lz4 data after {ALL} bytes of capture (it has another size than its header says)",
    ),
    "lz4 with a large block": (
        lz4_frame()[:15] + b"\xff\xff\xff\x7f" + bytes(100),
        b"",
        "corrupt lz4 data after 0 bytes of capture (a block of 2,147,483,647 bytes)",
    ),
    "lz4 and more": (
        lz4_frame() + b"hello",
        PLAIN,
        f'garbage at byte {len(lz4_frame()):,}, behind the lz4 data: "hell"',
    ),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("size", [1 << 20, 1000, 1])
@pytest.mark.parametrize("name", list(FAULTS))
def test_a_fault_is_told_behind_the_good_part(name: str, size: int) -> None:
    data, good, problem = FAULTS[name]
    assert read(slow(data, size)) == (good, f"x: {problem}")


WHOLE: dict[str, bytes] = {
    "gzip with every field": gzipped(flags=30),
    "gzip members": gzipped() + gzip.compress(b""),
    "gzip members with zeros between": gzipped() + bytes(70_000) + gzip.compress(b"") + bytes(9),
    "zstd frames": zstd() + zstd(plain=b""),
    "zstd without checks": zstd(checksum=False, stated=False),
    "zstd in one segment": zstd(plain=MIDDLE[:700]),
    "zstd skippable frames": SKIPPED + zstd() + SKIPPED + SKIPPED + zstd(plain=b"") + SKIPPED,
    "lz4 frames": lz4_frame() + lz4_frame(b""),
    "lz4 without checks": lz4_frame(content_checksum=False, block_checksum=False, store_size=False),
    "lz4 large linked blocks": lz4_frame(PLAIN) + bytes(lz4.frame.compress(b"", block_size=7, block_linked=False)),
    "lz4 skippable frames": SKIPPED + SKIPPED + lz4_frame() + SKIPPED,
    "compressed twice": gzip.compress(zstd()),
    "compressed four times": lz4_frame(gzip.compress(gzip.compress(zstd()))),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("size", [1 << 20, 1000, 1])
@pytest.mark.parametrize("name", list(WHOLE))
def test_what_is_whole_is_read(name: str, size: int) -> None:
    plain = MIDDLE[:700] if name == "zstd in one segment" else PLAIN
    assert read(slow(WHOLE[name], size)) == (plain, "")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (zstd(plain=b""), "empty: there is no capture in it"),
        (lz4_frame(b""), "empty: there is no capture in it"),
        (SKIPPED, "empty: there is no capture in it"),
        (SKIPPED + b"hello", 'garbage at byte 17, behind the zstd or lz4 data: "hell"'),
        (
            gzip.compress(zstd(plain=b"hello")),
            'not a capture: starts with "hell" (kw reads pcap and pcapng, also .gz .zst .lz4)',
        ),
        (gzip.compress(zstd()[:-1]), f"the zstd data is cut off after {ALL} bytes of capture"),
        (gzip.compress(zstd())[:-1], f"the gzip data is cut off after {len(zstd()):,} bytes of capture"),
        (gzip.compress(gzip.compress(gzip.compress(gzip.compress(zstd())))), "compressed more than 4 times"),
    ],
    ids=range(8),
)
def test_inside_a_container(data: bytes, problem: str) -> None:
    assert read(slow(data, 5000))[1] == f"x: {problem}"


@pytest.mark.parametrize("codec", ["gzip", "zstd", "lz4"])
def test_damage_anywhere_is_told(codec: str) -> None:
    """A changed bit anywhere in a container with checks is told, except in the fixed part of gzip's header."""
    data = {"gzip": gzipped(), "zstd": zstd(), "lz4": lz4_frame()}[codec]
    rng = random.Random(codec)
    for at in [*range(10 if codec == "gzip" else 0, 40), *(rng.randrange(40, len(data)) for _ in range(200))]:
        assert read(slow(bent(data, at), 5000))[1], at


CAPTURE = Path(__file__).resolve().parents[2] / "captures" / "first-steps.pcapng"
PACKERS: dict[str, tuple[Callable[[bytes], bytes], int]] = {
    "gzip": (gzip.compress, -8),
    "zstd": (zstandard.ZstdCompressor(write_checksum=True).compress, -1),
    "lz4": (lambda data: bytes(lz4.frame.compress(data, content_checksum=True)), -1),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("fault", ["checksum", "end", "garbage"])
@pytest.mark.parametrize("codec", list(PACKERS))
@pytest.mark.parametrize("piped", sampled([False, True], 2))
def test_rows_come_first_and_the_exit_code_is_1(codec: str, fault: str, piped: bool, tmp_path: Path) -> None:
    packer, at = PACKERS[codec]
    data = packer(CAPTURE.read_bytes())
    data = {"checksum": bent(data, at), "end": data[:-1], "garbage": data + b"hello"}[fault]
    path = tmp_path / "x"
    path.write_bytes(data)
    name = "-" if piped else str(path)
    outcome = kw("sniff", name, "-q", "-o", "ndjson", env=world(data))
    assert outcome.out == kw("sniff", str(CAPTURE), "-q", "-o", "ndjson").out
    assert outcome.code == Exit.FAILURE
    assert outcome.err.startswith(f"kw: {'standard input' if piped else name}: ")
    assert outcome.err.count("\n") == 1
