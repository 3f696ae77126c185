"""Answers captured before the last byte of their request: the time that they took is unknown, in every format."""

from __future__ import annotations

import json
from pathlib import Path

from decoders.protocol_facts.api_keys import HEARTBEAT
from decoders.tcp.stream_chunks import Segment
from tests.analysis.scenes import Line
from tests.capture.spoken import spoken
from tests.cli.worlds import kw
from tests.exchanges.talks import request, response

_ACK = 16
_MS = 10**6


def _write_capture(file: Path) -> None:
    """Two heartbeats of a client; the end of the second request is captured 5 ms behind its answer."""
    line, segments = Line("10.0.0.1", "10.0.0.9:9092", 5000), list[Segment]()
    asked = [request(HEARTBEAT, 3, number, "app", {"group_id": "orders"}) for number in (1, 2)]
    told = [response(HEARTBEAT, 3, number, {}) for number in (1, 2)]
    steps = [
        *((0, True, 2, b""), (1, False, 18, b""), (2, True, _ACK, b"")),
        *((10, True, _ACK, asked[0]), (12, False, _ACK, told[0])),
        *((20, True, _ACK, asked[1][:20]), (23, False, _ACK, told[1]), (28, True, _ACK, asked[1][20:])),
    ]
    for number, (ms, client, flags, data) in enumerate(steps, 1):
        seq, ack = line.seq[client], line.seq[not client]
        now = 1_790_000_000 * 10**9 + ms * _MS
        segments.append((line.keys[client], now, number, seq, ack if flags & _ACK else 0, flags, data, 0))
        line.seq[client] += len(data) + bool(flags & 2)
    file.write_bytes(spoken(segments))


def test_no_latency_is_negative(tmp_path: Path) -> None:
    file = tmp_path / "early.pcap"
    _write_capture(file)
    rows = [json.loads(line) for line in kw("sniff", str(file), "-o", "ndjson").out.splitlines()]
    assert [(row["latency_ms"], row["duration_ms"], row["status"]) for row in rows] == [
        (2.0, 2.0, "complete"),
        (None, None, "complete"),
    ]
    (tmp_path / "rows.ndjson").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    # As kw wrote it once.
    rows[1] |= {"latency_ms": -5.0, "duration_ms": 3.0}
    (tmp_path / "old.ndjson").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for name in ("early.pcap", "rows.ndjson", "old.ndjson"):
        lines = kw("sniff", str(tmp_path / name), "-o", "text").out.splitlines()
        assert [line.split()[1] for line in lines if "Heartbeat" in line] == ["2.0ms", "–"], name
        (total,) = json.loads(kw("stats", str(tmp_path / name), "--by", "api", "-o", "json").out)
        assert (total["count"], total["values"], total["min"], total["max"]) == (2, 1, 2.0, 2.0), name
