"""Damaged captures through the whole program: rows and at most one line of error, in bounded time."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import zstandard

from kwcli.options import FORMATS, WITHOUT_BODIES
from kwcli.run_environment import Exit
from tests.cli.worlds import kw, world
from tests.sampling import sampled

CAPTURES = sorted((Path(__file__).resolve().parents[2] / "captures").glob("*.pcap*"))
VIEWS = [
    *(["-o", output] for output in FORMATS),
    *(["-o", output, "-vv", *([] if output in WITHOUT_BODIES else ["--records"])] for output in FORMATS),
    ["-o", "json", "--reveal-secrets"],
    ["-o", "text", "--topic", "*o*"],
    ["-o", "text", "--errors", "--strict"],
    ["-o", "text", "--sort", "time"],
]
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}


@cache
def capture(path: Path) -> bytes:
    """The decompressed bytes of a capture."""
    data = path.read_bytes()
    return UNPACK.get(path.suffix, bytes)(data)


def damaged(rng: random.Random, data: bytes) -> bytes:
    """The data with some bytes changed, some lost, and maybe the end cut off."""
    torn = bytearray(data)
    if rng.random() < 0.5:
        del torn[rng.randrange(100, len(torn)) :]
    for _ in range(rng.choice([1, 3, 30, 300])):
        at, size = rng.randrange(len(torn)), rng.choice([1, 2, 4, 16])
        torn[at : at + size] = rng.choice(
            [rng.randbytes(size), bytes(size), b"\xff" * size, b"\x7f\xff\xff\xff"[:size]]
        )
    if rng.random() < 0.2:
        at = rng.randrange(len(torn))
        del torn[at : at + rng.randrange(200)]
    return bytes(torn)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", sampled(range(60), 5))
def test_damage_is_told_in_one_line_at_most(seed: int) -> None:
    rng = random.Random(seed)
    data = damaged(rng, capture(rng.choice(CAPTURES)))
    words = ["sniff", "-", "-q", *VIEWS[seed % len(VIEWS)]]
    outcome = kw(*words, env=world(data, columns=rng.choice([None, 80, 200])))
    assert outcome.code in (Exit.DONE, Exit.FAILURE, Exit.LOSSY)
    # With --strict the other lines tell why the capture counts as lossy.
    said = [line for line in outcome.err.splitlines() if "--strict" not in words or "kw: standard input" in line]
    assert len(said) == (outcome.code == Exit.FAILURE)
    assert "defect" not in outcome.err


def test_an_address_that_talks_to_itself() -> None:
    """A packet with the same address and port at both ends, as damage may make it, is read."""
    ip = bytes.fromhex("4500002c00004000400600007f0000017f000001")
    tcp = bytes.fromhex("1388138800000001000000005018020000000000") + b"data"
    packet = bytes(12) + b"\x08\x00" + ip + tcp
    header = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
    record = bytes(8) + len(packet).to_bytes(4, "little") * 2
    outcome = kw("sniff", "-", env=world(header + (record + packet) * 2))
    assert outcome.code == Exit.DONE
    assert " · 2 packets · " in outcome.err


@pytest.mark.long
def test_a_client_whose_name_is_no_text() -> None:
    """A software name in ApiVersions that is not UTF-8 is shown in every format."""
    data = capture(next(path for path in CAPTURES if path.name == "first-steps.pcapng"))
    data = data.replace(b"confluent-kafka-python", b"confluent-k\xce\x1bka-python")
    for view in VIEWS:
        outcome = kw("sniff", "-", "-q", *view, env=world(data))
        assert (outcome.code, outcome.err) in ((Exit.DONE, ""), (Exit.LOSSY, ""))
        assert "\x1b" not in outcome.out
