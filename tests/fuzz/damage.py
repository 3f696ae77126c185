"""Captures with wrong, lost and added bytes, plain and inside compression, through the whole program.

The output is rows, and at most one line of error. A compressed capture that can tell whether it is complete (a
checksum, an end) gives the rows of the complete one, or exit code 1.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

import zstandard

from kwcli.run_environment import Exit
from tests.capture import made
from tests.cli.test_damage import CAPTURES, VIEWS, capture, damaged
from tests.cli.worlds import Outcome, kw, world
from tests.fuzz.program import check_end
from tests.records.test_codecs import lz4_frame, zstd_flushed, zstd_unsized

# Small captures are read more often; larger ones have nothing new.
SIZE_MAX: Final = 2_000_000
COMMANDS: Final = (
    *(["sniff", *view] for view in VIEWS),
    ["sniff", "-o", "hex", "-v"],
    ["stats", "-o", "ndjson", "--by", "client,topic", "--metric", "records"],
    ["stats", "-o", "text", "--bucket", "1s", "--slowest", "5"],
)


def halves(data: bytes) -> tuple[bytes, bytes]:
    """Two parts, neither of them empty: nobody could notice that an empty frame is missing."""
    middle = len(data) // 2
    return data[:middle], data[middle:]


# A codec, and whether it has a checksum of its content; all of them mark their end.
PACKED: Final[Mapping[str, tuple[Callable[[bytes], bytes], bool]]] = {
    "gzip": (gzip.compress, True),
    "gzip in two": (lambda data: b"".join(map(gzip.compress, halves(data))), True),
    "zstd": (zstandard.ZstdCompressor(write_checksum=True).compress, True),
    "zstd, no size": (zstd_unsized, True),
    "zstd, no checksum": (zstandard.ZstdCompressor(write_checksum=False).compress, False),
    "zstd, flushed": (zstd_flushed, False),
    "zstd in two": (lambda data: b"".join(map(zstd_unsized, halves(data))), True),
    "lz4": (lambda data: lz4_frame(data, content_checksum=True), True),
    "lz4, blocks": (lambda data: lz4_frame(data, block_checksum=True, store_size=False), True),
    "lz4, no checksum": (lambda data: lz4_frame(data, content_checksum=False), False),
    "lz4, no size": (lambda data: lz4_frame(data, content_checksum=False, store_size=False), False),
    "lz4 in two": (
        lambda data: b"".join(lz4_frame(half, content_checksum=True) for half in halves(data)),
        True,
    ),
}


def try_capture(rng: Random) -> int:
    """Show one damaged capture by one command."""
    with TemporaryDirectory() as folder:
        path = rng.choice([None, Path(folder) / "capture"])
        return try_at(rng, path)


def try_at(rng: Random, path: Path | None) -> int:
    """Show one damaged capture, in the file `path` or on standard input."""
    words, columns = rng.choice(COMMANDS), rng.choice([None, 80, 200])
    data = capture_of(rng)
    if rng.random() < 0.3:
        check(words, run(path, words, damaged(rng, data), columns))
        return 1
    name, kind = rng.choice([*PACKED]), rng.choice([*HARMS])
    pack, checked = PACKED[name]
    whole = pack(data)
    harmed = HARMS[kind](rng, whole)
    expected, outcome = run(path, words, whole, columns), run(path, words, harmed, columns)
    check(words, outcome)
    shown = f"{name}, {kind}: kw {' '.join(words)}: exit code {outcome.code}: {outcome.err}"
    if harmed != whole and kind in TOLD:
        assert outcome.code == Exit.FAILURE, f"not a word of it: {shown}"
    elif outcome.code != Exit.FAILURE and checked:
        assert outcome.out == expected.out, f"other rows, and not a word of it: {shown}"
    return 1


def capture_of(rng: Random) -> bytes:
    """One of the captures that ship, or a random one."""
    if rng.random() < 0.3:
        return made.capture(rng, rng.choice([3, 40, 150]))
    return capture(rng.choice([path for path in CAPTURES if len(capture(path)) <= SIZE_MAX]))


def run(path: Path | None, words: list[str], data: bytes, columns: int | None) -> Outcome:
    """Run a command on this capture, in a file or on standard input."""
    quiet = [*words, "-q", "--debug"]
    if path is None:
        return kw(quiet[0], "-", *quiet[1:], env=world(data, columns=columns))
    path.write_bytes(data)
    return kw(quiet[0], str(path), *quiet[1:], env=world(columns=columns))


def check(words: list[str], outcome: Outcome) -> None:
    """Assert that a command ends as it must for any input."""
    shown = f"kw {' '.join(words)}: {outcome.err}"
    check_end(outcome.code, shown)
    assert outcome.code in (Exit.DONE, Exit.FAILURE, Exit.LOSSY), f"exit code {outcome.code}: {shown}"
    # One line tells the problem of the file. With --strict other lines tell why the capture counts as lossy.
    lines = outcome.err.count("\n")
    failed = outcome.code == Exit.FAILURE
    told = not failed or lines > 0 if "--strict" in words else lines == failed
    assert told, f"exit code {outcome.code}: {shown}"


def wrong(rng: Random, data: bytes) -> bytes:
    """Some bits changed."""
    torn = bytearray(data)
    for _ in range(rng.choice([1, 1, 3])):
        torn[rng.randrange(len(torn))] ^= 1 << rng.randrange(8)
    return bytes(torn)


def removed(rng: Random, data: bytes) -> bytes:
    """Some bytes removed."""
    at = rng.randrange(len(data) - 1)
    return data[:at] + data[at + rng.randrange(1, 100) :]


def garbage(rng: Random) -> bytes:
    """Random bytes without zeros."""
    return bytes(rng.randrange(1, 256) for _ in range(rng.choice([1, 3, 4, 100])))


HARMS: Final[Mapping[str, Callable[[Random, bytes], bytes]]] = {
    "wrong bytes": wrong,
    "removed bytes": removed,
    "cut": lambda rng, data: data[: rng.randrange(4, len(data))],
    "cut near the end": lambda rng, data: data[: -rng.randrange(1, 16)],
    "garbage behind": lambda rng, data: data + garbage(rng),
    "garbage behind zeros": lambda rng, data: data + bytes(rng.choice([1, 512, 200_000])) + garbage(rng),
    "zeros behind": lambda rng, data: data + bytes(rng.choice([1, 4, 512])),
    "another begins": lambda rng, data: data + data[: rng.randrange(1, 40)],
}
# Faults that are always told: a missing end, or garbage behind it.
TOLD: Final = frozenset({"cut", "cut near the end", "garbage behind", "garbage behind zeros", "another begins"})
