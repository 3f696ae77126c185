"""Prefixes keep their form when names, addresses and passwords in them are replaced."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import google_crc32c
import pytest

from decoders.protocols.read_connection_prefix import list_prefix_heads, read_connection_prefix
from decoders.scrubbing.pseudonyms import Pseudonyms
from decoders.scrubbing.replace_names import NameReplacer
from decoders.scrubbing.scrub_prefixes import scrub_prefix
from kwcli.run_environment import Exit
from tests.cli.worlds import kw
from tests.exchanges.prefixes import FOUR, PREFIXES, kafka, with_checksum
from tests.exchanges.talks import segments
from tests.tls.wrapping import pcapng_of

# What must not be left of a prefix.
NAMES = (b"kafka1", b"kafka.example", b"vpce", b"YTpi", b"no way", b"203.0.113", bytes([203, 0, 113, 7]))


def sides_of(name: str) -> tuple[bytes, bytes]:
    """What both sides of a prefix send."""
    turns = PREFIXES[name][0]
    asked, answered = (b"".join(data for client, data in turns if client is side) for side in (True, False))
    return asked, answered


@pytest.mark.parametrize("name", PREFIXES)
def test_a_prefix_keeps_its_form(name: str) -> None:
    asked, answered = sides_of(name)
    made, answer = scrub_prefix(NameReplacer(Pseudonyms(b"key")), asked, answered)
    assert (len(made), len(answer)) == (len(asked), len(answered))
    assert not [word for word in NAMES if word in made or word in answer]
    before, after = read_connection_prefix(asked + b"\0", answered), read_connection_prefix(made + b"\0", answer)
    assert (after.protocol, after.sizes) == (before.protocol, before.sizes)
    for was, now in ((before.client, after.client), (before.target, after.target)):
        assert was.rpartition(":")[2] == now.rpartition(":")[2]
        assert not was or now != was
    sizes = [(head.protocol, head.size, head.answer_size) for head in list_prefix_heads(asked, answered)]
    assert [(head.protocol, head.size, head.answer_size) for head in list_prefix_heads(made, answer)] == sizes


def test_the_checksum_of_a_head_is_right_again() -> None:
    head = with_checksum(1, 0x11, FOUR, b"")
    made, _ = scrub_prefix(NameReplacer(Pseudonyms(b"key")), head, b"")
    assert google_crc32c.value(made[:-4] + bytes(4)) == int.from_bytes(made[-4:], "big")


@pytest.mark.parametrize("name", ["proxy 1", "proxy 2, tlvs", "socks 5, password", "connect, 407 first"])
def test_a_capture_with_a_prefix_keeps_its_exchanges(name: str, tmp_path: Path) -> None:
    every = segments(PREFIXES[name][0] + kafka(), Random(1), most=11)
    (tmp_path / "in.pcapng").write_bytes(pcapng_of(every))
    outcome = kw("scrub", str(tmp_path / "in.pcapng"), str(tmp_path / "out.pcapng"))
    assert outcome.code == Exit.DONE, outcome.err
    assert "3 exchanges" in outcome.err
    data = (tmp_path / "out.pcapng").read_bytes()
    assert not [word for word in NAMES if word in data]
    rows = [json.loads(line) for line in kw("sniff", str(tmp_path / "out.pcapng"), "-o", "ndjson").out.splitlines()]
    assert [row["kind"] for row in rows] == ["skipped", *["exchange"] * 3]
    assert rows[0]["reason"] == "prefix"
    assert ("via_address" in rows[1]) == bool(PREFIXES[name][1])
