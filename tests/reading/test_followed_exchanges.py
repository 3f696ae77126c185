"""`follow_exchanges`: a capture that grows, and the files of its ring, give what the whole capture gives."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from decoders import Needs, read_exchanges
from kwcli.reading import follow_captures, follow_exchanges, packet_sources
from tests.captures.shipped import FOLDER

CAPTURE: Final = (FOLDER / "sasl-raw.pcap").read_bytes()
HEADER: Final = CAPTURE[:24]
WHOLE: Final = [repr(exchange) for exchange in read_exchanges(CAPTURE)]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_captures, "_SCAN_S", 0.0)
    monkeypatch.setattr(follow_captures, "_SCAN_SHARE", 0)
    monkeypatch.setattr(packet_sources, "BUSY_S", 0.0)


def cut_points(count: int) -> list[int]:
    """The ends of so many parts of the capture, each at the end of a packet."""
    ends, at = [24], 24
    while at < len(CAPTURE):
        at += 16 + int.from_bytes(CAPTURE[at + 8 : at + 12], "little")
        ends.append(at)
    return [*(ends[len(ends) * part // count] for part in range(1, count)), ends[-1]]


def shown(exchanges: Iterator[Any]) -> list[str]:
    return [repr(exchange) for exchange in exchanges]


def test_a_file_that_grows_while_it_is_read(tmp_path: Path) -> None:
    path, (middle, end) = tmp_path / "x.pcap", cut_points(2)
    path.write_bytes(CAPTURE[:middle])
    following = follow_exchanges(path, idle_s=0.2)
    first = next(following)
    with path.open("ab") as file:
        file.write(CAPTURE[middle:end])
    assert [repr(first), *shown(following)] == WHOLE


def test_a_ring_of_files(tmp_path: Path) -> None:
    begin = 24
    for number, end in enumerate(cut_points(3)):
        (tmp_path / f"x.pcap{number}").write_bytes(HEADER + CAPTURE[begin:end])
        begin = end
    assert sorted(shown(follow_exchanges(str(tmp_path / "x.pcap0"), idle_s=0))) == sorted(WHOLE)


def test_a_file_that_is_not_there_yet(tmp_path: Path) -> None:
    following = follow_exchanges(tmp_path / "x.pcap", idle_s=0.2)
    (tmp_path / "x.pcap").write_bytes(CAPTURE)
    assert shown(following) == WHOLE


def test_ports_and_needs_are_those_of_read_exchanges(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "tour.pcapng", tmp_path / "x.pcapng")
    needs = Needs({("Fetch", "response"): ["responses[].topic"]})
    found = [
        exchange.view("response")
        for exchange in follow_exchanges(tmp_path / "x.pcapng", ports=[9094], needs=needs, idle_s=0)
        if exchange.api == "Fetch" and exchange.topics == ["orders"]
    ]
    assert found
    assert {"responses": [{"topic": "orders"}]} in found
    with pytest.raises(ValueError, match=r'did you mean "responses\[\].topic"'):
        follow_exchanges(tmp_path / "x.pcapng", needs=Needs({("Fetch", "response"): ["responses[].topc"]}))


def test_what_cannot_be_followed_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no such folder"):
        follow_exchanges(tmp_path / "none" / "x.pcap")
    (tmp_path / "x.pcap").write_bytes(b"no capture at all")
    with pytest.raises(OSError, match=r"x\.pcap: "):
        follow_exchanges(tmp_path / "x.pcap")


def test_what_is_passed_over_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.pcap").write_bytes(CAPTURE)
    (tmp_path / "x.pcap1").write_bytes(b"no capture at all")
    said: list[str] = []
    assert shown(follow_exchanges(tmp_path / "x.pcap", idle_s=0, report=said.append)) == WHOLE
    assert len(said) == 1
    assert "x.pcap1" in said[0]
    with pytest.warns(UserWarning, match=r"x\.pcap1"):
        assert shown(follow_exchanges(tmp_path / "x.pcap", idle_s=0)) == WHOLE
