"""Every codec against independent writers, with cut and broken data, and with bombs."""

from __future__ import annotations

import gzip
import random
import resource
import struct
import subprocess
import sys
import threading
import tracemalloc
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cramjam
import lz4.block  # type: ignore[import-untyped]  # lz4 ships no types
import lz4.frame  # type: ignore[import-untyped]  # lz4 ships no types
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from decoders.errors import DecodeError, LimitExceeded, Malformed, Truncated
from decoders.limits import MIB
from decoders.records.codecs import CODEC_NAMES, NAMES, deflate, inflate, zstd
from decoders.records.codecs.lz4 import compute_descriptor_checksum

CODECS = NAMES[1:]
TEXT = b'{"name":"value","list":[1,2,3]}' * 40
NOISE = random.Random(7).randbytes(3000)


def unpack(name: str, data: bytes, cap: int = MIB, magic: int = 2) -> bytes:
    return inflate(NAMES.index(name), memoryview(data), cap, magic)


def raw_snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def zstd_unsized(data: bytes) -> bytes:
    stream = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return stream.compress(data) + stream.flush()


def zstd_flushed(data: bytes) -> bytes:
    stream = zstandard.ZstdCompressor().compressobj()
    half = len(data) // 2
    out = stream.compress(data[:half]) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    return out + stream.compress(data[half:]) + stream.flush()


def xerial(data: bytes, block: int) -> bytes:
    out = bytes.fromhex("82 53 4e 41 50 50 59 00  00 00 00 01  00 00 00 01")
    for at in range(0, len(data), block):
        piece = raw_snappy(data[at : at + block])
        out += struct.pack(">i", len(piece)) + piece
    return out


def lz4_frame(data: bytes, **options: object) -> bytes:
    frame: bytes = lz4.frame.compress(data, **options)
    return frame


def spoil_header(frame: bytes) -> bytes:
    """A frame without content size, with the header checksum as Kafka wrote it in magic 0: over the magic as well."""
    broken = compute_descriptor_checksum(frame[:6])
    assert broken != frame[6]
    return frame[:6] + bytes([broken]) + frame[7:]


# name of the form, codec, writer
WRITERS: list[tuple[str, str, Callable[[bytes], bytes]]] = [
    ("gzip", "gzip", gzip.compress),
    ("gzip stored", "gzip", lambda data: gzip.compress(data, 0)),
    ("gzip two members", "gzip", lambda data: gzip.compress(data[:11]) + gzip.compress(data[11:])),
    ("gzip and zeros", "gzip", lambda data: gzip.compress(data) + bytes(9)),
    ("gzip of cramjam", "gzip", lambda data: bytes(cramjam.gzip.compress(data))),
    ("snappy raw", "snappy", raw_snappy),
    ("snappy stream", "snappy", lambda data: xerial(data, 32768)),
    ("snappy small blocks", "snappy", lambda data: xerial(data, 100)),
    ("snappy two streams", "snappy", lambda data: xerial(data[:11], 100) + xerial(data[11:], 100)),
    ("lz4", "lz4", lz4_frame),
    ("lz4 sized", "lz4", lambda data: lz4_frame(data, store_size=True, content_checksum=True)),
    ("lz4 block checksums", "lz4", lambda data: lz4_frame(data, store_size=False, block_checksum=True)),
    ("lz4 linked 4 MiB", "lz4", lambda data: lz4_frame(data, block_size=7, block_linked=True)),
    ("lz4 two frames", "lz4", lambda data: lz4_frame(data[:11]) + lz4_frame(data[11:])),
    ("lz4 of cramjam", "lz4", lambda data: bytes(cramjam.lz4.compress(data))),
    ("zstd", "zstd", zstandard.ZstdCompressor().compress),
    ("zstd no size", "zstd", zstd_unsized),
    ("zstd flushed", "zstd", zstd_flushed),
    ("zstd two frames", "zstd", lambda data: zstd_unsized(data[:11]) + zstandard.ZstdCompressor().compress(data[11:])),
    ("zstd skippable", "zstd", lambda data: b"\x5a\x2a\x4d\x18\2\0\0\0ab" + zstd_unsized(data)),
    ("zstd of cramjam", "zstd", lambda data: bytes(cramjam.zstd.compress(data))),
]
FORMS = pytest.mark.parametrize(("codec", "write"), [row[1:] for row in WRITERS], ids=[row[0] for row in WRITERS])


@FORMS
@pytest.mark.parametrize("data", [b"a", b"plain", TEXT, NOISE, TEXT * 200], ids=["a", "plain", "text", "noise", "long"])
def test_reads_what_others_write(codec: str, write: Callable[[bytes], bytes], data: bytes) -> None:
    assert unpack(codec, write(data)) == data


@FORMS
def test_every_cut_is_noticed(codec: str, write: Callable[[bytes], bytes]) -> None:
    whole = write(TEXT)
    for size in range(len(whole)):
        try:
            got = unpack(codec, whole[:size])
        except DecodeError:
            continue
        # Only a cut between members, frames or blocks of a snappy stream, or behind them, can pass.
        assert TEXT.startswith(got)
        assert len(got) in (0, 11, len(TEXT)) or (codec == "snappy" and len(got) % 100 in (0, 11))


@FORMS
def test_the_cap_is_exact(codec: str, write: Callable[[bytes], bytes]) -> None:
    data = TEXT * 20
    assert unpack(codec, write(data), len(data)) == data
    for cap in (0, 10, len(data) - 1):
        with pytest.raises(LimitExceeded):
            unpack(codec, write(data), cap)


@pytest.mark.one_in(4)
@FORMS
@given(st.data())
def test_broken_data_raises_only_decode_errors(
    codec: str, write: Callable[[bytes], bytes], data: st.DataObject
) -> None:
    whole = bytearray(write(TEXT))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        size = len(unpack(codec, bytes(whole), 1 << 16))
    except DecodeError:
        size = 0
    assert size <= 1 << 16


@given(st.sampled_from(CODECS), st.binary(max_size=64), st.booleans())
def test_noise_raises_only_decode_errors(codec: str, data: bytes, led: bool) -> None:
    lead = {
        "gzip": b"\x1f\x8b\x08",
        "snappy": b"\x82SNAPPY\0",
        "lz4": b"\x04\x22\x4d\x18\x40",
        "zstd": b"\x28\xb5\x2f\xfd",
    }
    try:
        size = len(unpack(codec, lead[codec] + data if led else data, 1 << 16))
    except DecodeError:
        size = 0
    assert size <= 1 << 16


@given(st.sampled_from(NAMES), st.binary(max_size=3000) | st.builds(bytes, st.integers(0, 200_000)))
def test_round_trip(codec: str, data: bytes) -> None:
    packed = deflate(codec, data)
    assert codec == "none" or unpack(codec, packed) == data


def test_lz4_with_the_wrong_header_checksum_of_old_clients() -> None:
    frame = spoil_header(lz4_frame(TEXT, store_size=False))
    assert unpack("lz4", frame, magic=0) == TEXT
    assert unpack("lz4", frame, magic=1) == TEXT
    with pytest.raises(Malformed):
        unpack("lz4", frame, magic=2)


@pytest.mark.parametrize("options", [{"store_size": False}, {"store_size": True}, {"content_checksum": True}])
def test_lz4_header_checksum_agrees_with_the_library(options: dict[str, object]) -> None:
    for size in (0, 1, 77, 1 << 17):
        frame = lz4_frame(bytes(size), **options)
        end = 14 if frame[4] & 8 else 6
        assert compute_descriptor_checksum(frame[4:end]) == frame[end]


def snappy_claim(size: int) -> bytes:
    out = b""
    while size > 127:
        out += bytes([size & 127 | 128])
        size >>= 7
    return out + bytes([size])


def gzip_bomb(size: int) -> bytes:
    return gzip.compress(bytes(size), 9)


# Data of about a kilobyte that claims or gives 4 GB, and the error to expect.
BOMBS: list[tuple[str, str, bytes, type[DecodeError]]] = [
    ("raw claim", "snappy", snappy_claim(0xFFFFFFFF) + bytes(1000), Malformed),
    (
        "block claim",
        "snappy",
        xerial(b"", 9) + struct.pack(">i", 1000) + snappy_claim(0xFFFFFFFF) + bytes(995),
        Malformed,
    ),
    ("block size", "snappy", xerial(b"", 9) + struct.pack(">i", 0x7FFFFFFF) + bytes(1000), Truncated),
    ("copies", "snappy", raw_snappy(bytes(90 * MIB)), LimitExceeded),
    ("stream", "snappy", xerial(bytes(90 * MIB), 1 << 20), LimitExceeded),
    ("zeros", "lz4", lz4_frame(bytes(90 * MIB)), LimitExceeded),
    ("zeros 4 MiB blocks", "lz4", lz4_frame(bytes(90 * MIB), block_size=7), LimitExceeded),
    ("claim", "lz4", b"", Malformed),
    ("zeros", "gzip", gzip_bomb(90 * MIB), LimitExceeded),
    ("members", "gzip", gzip_bomb(9 * MIB) * 10, LimitExceeded),
    ("zeros", "zstd", zstandard.ZstdCompressor().compress(bytes(90 * MIB)), LimitExceeded),
    ("zeros no size", "zstd", zstd_unsized(bytes(90 * MIB)), LimitExceeded),
    ("rle", "zstd", b"\x28\xb5\x2f\xfd\x00\x58" + b"\x02\x00\x10\x00" * 900 + b"\x03\x00\x10\x00", LimitExceeded),
    ("claim", "zstd", b"\x28\xb5\x2f\xfd\xc0\x58" + struct.pack("<Q", 1 << 32) + b"\x03\x00\x10\x00", Malformed),
    ("single segment", "zstd", b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", 1 << 31) + b"\x03\x00\x10\x00", Malformed),
]


def lz4_claim() -> bytes:
    """A frame of one small block that claims 4 GB of contents."""
    descriptor = bytes([0x68, 0x40]) + struct.pack("<Q", 1 << 32)
    block: bytes = lz4.block.compress(b"abc" * 100, store_size=False)
    frame = b"\x04\x22\x4d\x18" + descriptor + bytes([compute_descriptor_checksum(descriptor)])
    return frame + struct.pack("<I", len(block)) + block + bytes(4)


@pytest.mark.parametrize(
    ("codec", "data", "error"), [row[1:] for row in BOMBS], ids=[f"{row[1]} {row[0]}" for row in BOMBS]
)
def test_bombs_are_errors_and_no_allocations(codec: str, data: bytes, error: type[DecodeError]) -> None:
    data = data or lz4_claim()
    cap = 4 * MIB
    with pytest.raises(error):
        unpack(codec, data, cap)  # modules loaded on first use are not counted
    tracemalloc.start()
    try:
        with pytest.raises(error):
            unpack(codec, data, cap)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * cap


def bombs_in_little_memory() -> None:
    """All bombs with 48 MiB of address space left, which bounds the libraries' allocations; run in a new process."""
    for codec in CODECS:
        unpack(codec, deflate(codec, TEXT))
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + 48 * MIB
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    for _, codec, data, error in BOMBS:
        with pytest.raises(error):
            unpack(codec, data or lz4_claim(), 4 * MIB)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="address space is measured in /proc")
def test_bombs_fit_in_little_memory() -> None:
    program = "from tests.records.test_codecs import bombs_in_little_memory as bombs; bombs()"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[zstandard.ZstdDecompressor]:
    """The decompressors of zstd that are made from now on."""
    found: list[zstandard.ZstdDecompressor] = []
    make = zstandard.ZstdDecompressor

    def counted() -> zstandard.ZstdDecompressor:
        found.append(make())
        return found[-1]

    monkeypatch.setattr(zstandard, "ZstdDecompressor", counted)
    zstd.IDLE.clear()
    return found


def test_one_decompressor_of_zstd_is_made_for_all_batches(made: list[zstandard.ZstdDecompressor]) -> None:
    for _ in range(20):
        assert unpack("zstd", deflate("zstd", TEXT)) == TEXT
        assert unpack("zstd", zstd_unsized(TEXT) + zstd_flushed(NOISE)) == TEXT + NOISE
    assert len(made) == 1


@pytest.mark.parametrize(
    "broken",
    [deflate("zstd", NOISE)[:-9], zstd_unsized(TEXT)[:-4] + b"none", zstd_unsized(bytes(MIB + 1))],
    ids=["cut", "wrong checksum", "too large"],
)
def test_a_decompressor_of_zstd_that_has_failed_is_not_used_again(
    made: list[zstandard.ZstdDecompressor], broken: bytes
) -> None:
    for _ in range(3):
        assert unpack("zstd", zstd_unsized(TEXT)) == TEXT
        with pytest.raises(DecodeError):
            unpack("zstd", broken)
    assert len(made) == 3


@pytest.mark.parametrize(("log", "count"), [(20, 1), (23, 1), (24, 3), (27, 3)])
def test_a_decompressor_of_zstd_with_a_large_window_is_not_kept(
    made: list[zstandard.ZstdDecompressor], log: int, count: int
) -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=log)
    for _ in range(3):
        stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
        assert unpack("zstd", stream.compress(TEXT) + stream.flush()) == TEXT
    assert len(made) == count


@pytest.mark.parametrize("pack", [zstandard.ZstdCompressor().compress, zstd_unsized, zstd_flushed])
def test_zstd_frames_are_read_in_one_call_where_all_of_them_may_come_out(
    monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    real = zstandard.ZstdDecompressor()
    calls: list[int] = []

    class Counting:
        """A decompressor without streams."""

        def decompress(self, data: memoryview, max_output_size: int) -> bytes:
            calls.append(max_output_size)
            return real.decompress(data, max_output_size=max_output_size)

    monkeypatch.setattr(zstandard, "ZstdDecompressor", Counting)
    zstd.IDLE.clear()
    try:
        assert unpack("zstd", pack(TEXT) + pack(NOISE)) == TEXT + NOISE
    finally:
        zstd.IDLE.clear()
    assert len(calls) == 2
    assert min(calls) > 0


# One block of "abc" as it is; frames that claim 0, 2, 3 and 4 bytes, and one that claims nothing (it has a window).
_ABC = bytes.fromhex("190000") + b"abc"


@pytest.mark.parametrize("claimed", [0, 2, 4])
def test_a_zstd_frame_of_another_size_than_it_claims_is_no_frame(claimed: int) -> None:
    with pytest.raises(Malformed):
        unpack("zstd", bytes.fromhex("28b52ffd 20") + bytes([claimed]) + _ABC)


@pytest.mark.parametrize("head", ["28b52ffd 20 03", "28b52ffd 00 00"])
@pytest.mark.parametrize("left", [2, 3, 4])
def test_zstd_frames_end_at_the_limit(head: str, left: int) -> None:
    empty = bytes.fromhex("28b52ffd 20 00 010000  28b52ffd 00 00 010000")
    packed = empty + bytes.fromhex(head) + _ABC + empty
    if left < 3:
        with pytest.raises(LimitExceeded):
            unpack("zstd", packed, left)
    else:
        assert unpack("zstd", packed, left) == b"abc"


def test_threads_share_no_decompressor_of_zstd(monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(3, timeout=30)
    used: list[Waiting] = []

    class Waiting:
        """A decompressor that reads only while two others do."""

        def decompress(self, _: memoryview, max_output_size: int) -> bytes:
            used.append(self)
            together.wait()
            assert max_output_size >= len(TEXT)
            return TEXT

    monkeypatch.setattr(zstandard, "ZstdDecompressor", Waiting)
    zstd.IDLE.clear()
    packed = deflate("zstd", TEXT)
    try:
        with ThreadPoolExecutor(3) as pool:
            for _ in range(2):
                assert [*pool.map(lambda _: unpack("zstd", packed), range(3))] == [TEXT] * 3
    finally:
        zstd.IDLE.clear()
    assert len({*used[:3]}) == 3
    assert {*used[3:]} == {*used[:3]}


def test_many_empty_members_take_linear_time() -> None:
    assert unpack("gzip", gzip.compress(b"") * 20_000 + gzip.compress(TEXT)) == TEXT
    empty = zlib.compressobj(wbits=31).flush()
    with pytest.raises(LimitExceeded):
        unpack("gzip", empty * 100_001)


@pytest.mark.parametrize(
    ("number", "name"), [(0, "none"), (1, "gzip"), (2, "snappy"), (3, "lz4"), (4, "zstd"), (7, "UNKNOWN(7)")]
)
def test_names(number: int, name: str) -> None:
    assert CODEC_NAMES[number] == name


def test_unknown_codec() -> None:
    with pytest.raises(Malformed, match="number 5"):
        inflate(5, memoryview(b""), 10, 2)
    with pytest.raises(ValueError, match="there are none, gzip"):
        deflate("brotli", b"")
