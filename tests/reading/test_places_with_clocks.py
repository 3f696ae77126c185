"""Two places on the way of the same packets, whose clocks differ: rows, latencies, and what is told."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from decoders.capture.pcapng_writer import PcapngWriter
from decoders.capture.read_packet_copies import CopyReader, PacketCopy
from kwcli.run_environment import Exit
from tests.cli.worlds import Outcome, kw

CAPTURE = Path(__file__).resolve().parents[2] / "captures" / "sasl-framed.pcapng"
BROKER_PORT = 9094
MS = 10**6


def write_place(path: Path, ahead_ms: float, way_ms: float = 0.0, *, keeps: Callable[[int], bool] = bool) -> Path:
    """What a place has captured that is this far behind the place of CAPTURE on the way to the broker."""
    reader = CopyReader()
    copies: list[Any] = [*reader.feed(CAPTURE.read_bytes()), *reader.finish()]
    writer = PcapngWriter(0)
    out = [writer.make_section_block(), writer.make_interface_block(copies[0].source[0], "any")]
    rows: list[tuple[int, PacketCopy]] = []
    for copy in copies:
        to_broker = copy.key[-2:] == BROKER_PORT.to_bytes(2, "big")
        if copy.key and keeps(copy.packet):
            rows.append((copy.time_ns + round((ahead_ms + (way_ms if to_broker else -way_ms)) * MS), copy))
    for time_ns, copy in sorted(rows, key=lambda row: row[0]):
        out.append(writer.make_packet_block(time_ns, copy.frame, copy.wire))
    path.write_bytes(b"".join(out))
    return path


def read(*paths: Path, more: tuple[str, ...] = ()) -> Outcome:
    words = [word for path in paths for word in ("--on", f"{path.name}=cat {shlex.quote(str(path))}")]
    return kw("sniff", *words, *more)


def rows(out: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    found = [row for row in map(json.loads, out.splitlines()) if row["kind"] == "exchange"]
    return {(row["client"], row["api"], row["correlation_id"], row["request_size"]): row for row in found}


@pytest.fixture(scope="module")
def expected() -> dict[tuple[Any, ...], dict[str, Any]]:
    return rows(kw("sniff", str(CAPTURE)).out)


@pytest.mark.parametrize(("ahead_ms", "said"), [(37.0, "37.0ms ahead of b1 (± "), (-260.0, "260ms behind b1 (± ")])
def test_latencies_are_of_one_clock_and_the_offset_is_told(
    tmp_path: Path, expected: dict[tuple[Any, ...], dict[str, Any]], ahead_ms: float, said: str
) -> None:
    outcome = read(write_place(tmp_path / "b1", 0), write_place(tmp_path / "b2", ahead_ms, 0.05))
    assert outcome.code == Exit.DONE, outcome.err
    assert f"kw: b2 is about {said}" in outcome.err
    assert "--align-clocks puts its packets right" in outcome.err
    found = rows(outcome.out)
    assert found.keys() == expected.keys()
    answered = [key for key in found if expected[key]["latency_ms"] is not None]
    assert len(answered) > 50
    for key in answered:
        row = found[key]
        assert row["latency_ms"] == expected[key]["latency_ms"]
        assert row["duration_ms"] == expected[key]["duration_ms"]
        assert row["time"] == expected[key]["time"]
        assert row["point"] == "b1"
        assert row["network_ms"] == pytest.approx(0.1)
        assert "retransmitted" not in row


def test_aligned_clocks_put_packets_of_five_seconds_ahead_right(
    tmp_path: Path, expected: dict[tuple[Any, ...], dict[str, Any]]
) -> None:
    """Each place has missed every ninth packet, but not the same ones."""
    first = write_place(tmp_path / "b1", 0, keeps=lambda packet: packet % 9 != 1)
    second = write_place(tmp_path / "b2", 5000, 0.05, keeps=lambda packet: packet % 9 != 5)
    for outcome in (
        read(first, second, more=("--align-clocks",)),
        kw("sniff", str(first), str(second), "--align-clocks"),
    ):
        assert outcome.code == Exit.DONE, outcome.err
        assert "b2 is about 5.00s ahead of " in outcome.err
        assert ": its packets were put right by it" in outcome.err
        found = rows(outcome.out)
        assert found.keys() == expected.keys()
        assert {row["status"] for row in found.values()} == {row["status"] for row in expected.values()}
        both = [key for key in found if found[key]["latency_ms"] is not None]
        assert len(both) > 50
        for key in both:  # of one of the two places
            assert found[key]["latency_ms"] == pytest.approx(expected[key]["latency_ms"], abs=0.11)


def test_no_latency_of_two_clocks(tmp_path: Path, expected: dict[tuple[Any, ...], dict[str, Any]]) -> None:
    """One place sees what goes to the broker, the other what comes from it."""
    sent = {number for row in expected.values() if row["packets"]["request"] for number in row["packets"]["request"]}
    first = write_place(tmp_path / "b1", 0, keeps=lambda packet: packet in sent)
    second = write_place(tmp_path / "b2", 3, keeps=lambda packet: packet not in sent)
    outcome = read(first, second)
    answered = [row for row in rows(outcome.out).values() if row["response"] is not None]
    assert len(answered) > 50
    assert {row["latency_ms"] for row in answered} == {None}
    assert "ahead of" not in outcome.err


@pytest.mark.parametrize("words", ["-f network_ms>0.05 -o csv --columns point,network_ms"])
def test_network_time_is_a_field_and_a_column(tmp_path: Path, words: str) -> None:
    outcome = read(write_place(tmp_path / "b1", 0), write_place(tmp_path / "b2", 0, 0.05), more=tuple(words.split()))
    assert set(outcome.out.splitlines()[1:]) == {"b1,0.1"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a.pcap",), "--align-clocks is for captures of several clocks"),
        (("-i", "lo"), "--align-clocks is for captures of several clocks"),
        (("a.pcap", "b.pcap", "-w", "c.pcapng"), "leave --align-clocks out"),
    ],
)
def test_where_clocks_cannot_be_aligned(words: tuple[str, ...], said: str) -> None:
    outcome = kw("sniff", *words, "--align-clocks")
    assert outcome.code == Exit.USAGE
    assert said in outcome.err
