"""`kw scrub IN OUT`: whatever the capture, its exchanges come out as they were, and nobody's names and secrets do."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kwcli.env import Exit
from tests.captures.shipped import CLEAN, FOLDER, NEGATIVE, capture_bytes
from tests.cli.worlds import Outcome, kw
from tests.exchanges.mistreated import capture as mistreated
from tests.habits.faulty_captures import CAPTURES
from tests.tls.wrapping import pcapng_of

PROMISED = ("time", "latency_ms", "duration_ms", "api_key", "api", "api_version", "correlation_id", "request_size",
            "response_size", "status", "reason", "errors", "envelope")  # fmt: skip
NOT_KAFKA = [name for name in NEGATIVE if "tls" not in name]
TLS = FOLDER / "tls" / "librdkafka-jsse.pcap"
KEYS = FOLDER / "tls" / "librdkafka-jsse.keys"


def exchanges(path: Path | str, *words: str) -> list[dict[str, Any]]:
    outcome = kw("sniff", str(path), "-o", "ndjson", "-q", *words)
    found = [json.loads(line) for line in outcome.out.split("\n")[:-1]]
    return [row for row in found if row["kind"] == "exchange"]


def promised(rows: Iterable[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps({name: row.get(name) for name in PROMISED}) for row in rows)


def relations(rows: Iterable[dict[str, Any]]) -> list[Any]:
    """Who talked to whom: every address, client id and topic by when it came first."""
    seen: dict[str, int] = {}

    def number(text: Any) -> Any:
        return text and seen.setdefault(json.dumps(text), len(seen))

    out = []
    for row in sorted(rows, key=lambda each: [str(each[name]) for name in ("time", "correlation_id", "request_size")]):
        ends = [row[end].rpartition(":")[::2] for end in ("client", "broker")]
        brokers = row["response"].get("brokers") if isinstance(row["response"], dict) else None
        told = [(each.get("host"), each.get("port")) for each in brokers] if isinstance(brokers, list) else []
        out.append(([(number(host), port) for host, port in ends + told], number(row["client_id"])))
    return out


def scrubbed(data: bytes, folder: Path, *words: str) -> tuple[Path, Path, Outcome]:
    source, out = folder / "in.pcapng", folder / "out.pcapng"
    source.write_bytes(data)
    return source, out, kw("scrub", str(source), str(out), *words)


def check(data: bytes, folder: Path) -> Outcome:
    """Scrub a capture, and compare what is read of both."""
    source, out, outcome = scrubbed(data, folder)
    assert outcome.code == Exit.DONE, outcome.err
    before, after = exchanges(source), exchanges(out)
    assert promised(after) == promised(before)
    assert relations(after) == relations(before)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert [path.name for path in sorted(folder.iterdir())] == ["in.pcapng", "out.pcapng"]
    said = " ".join(str(row.get("client_software")) for row in before)
    names = {
        text for row in before for text in (row["client_id"], row["client"], row["broker"]) if isinstance(text, str)
    }
    names = {text for text in names if text not in said}
    found = out.read_bytes()
    assert [name for name in names if len(name) > 5 and name.encode() in found] == []
    return outcome


@pytest.mark.parametrize("name", ["tour.pcapng", "old-clients.pcap.gz", "sasl-raw.pcap"])
def test_exchanges_are_what_they_were(name: str, tmp_path: Path) -> None:
    assert "exchanges with the same API" in check(capture_bytes(name), tmp_path).err


@pytest.mark.long
@pytest.mark.parametrize("name", CLEAN)
def test_exchanges_of_every_capture_are_what_they_were(name: str, tmp_path: Path) -> None:
    check(capture_bytes(name), tmp_path)


@pytest.mark.parametrize("name", ["cut-at-96.pcap", "middle.pcap", "lossy.pcap", "mixed.pcap"])
def test_so_are_those_of_captures_with_faults(name: str, tmp_path: Path) -> None:
    check(CAPTURES[name](), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", CAPTURES)
def test_so_are_those_of_all_captures_with_faults(name: str, tmp_path: Path) -> None:
    check(CAPTURES[name](), tmp_path)


def random_capture(seed: int) -> bytes:
    return pcapng_of(mistreated(Random(seed), alone=False))


@pytest.mark.parametrize("seed", range(6))
def test_random_traffic(seed: int, tmp_path: Path) -> None:
    check(random_capture(seed), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 300))
def test_much_random_traffic(seed: int, tmp_path: Path) -> None:
    check(random_capture(seed), tmp_path)
