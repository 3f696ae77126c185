"""Traffic played into the queue: the log's rows are those that `kw sniff` gives for a capture of that traffic."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from decoders.tcp.stream_chunks import Chunk
from kwcli.options import FilterOptions
from kwcli.output.output_settings import Settings
from kwcli.proxy.log.log_protocol import LogPlan
from kwcli.proxy.log.start_log_process import start
from tests.cli.worlds import kw, world
from tests.proxy.log.played import FOLDER, NDJSON, chunks_of, logged, play, records, sniffed
from tests.sampling import sampled

WHOLE = ["first-steps.pcapng", "sasl-framed.pcapng", "sasl-raw.pcap", "share-groups.pcapng", "tour.pcapng"]


def _from_the_start(name: str) -> list[Chunk]:
    """The chunks of connections whose beginning is in the capture: a proxy sees no others."""
    return [chunk for chunk in chunks_of(name) if chunk[0].connection.opened]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("seed", sampled([None, 7], 2))
def test_the_rows_are_those_of_a_capture(name: str, seed: int | None, tmp_path: Path) -> None:
    chunks = _from_the_start(name)
    assert len(chunks) == len(chunks_of(name))
    out, err = logged(tmp_path, LogPlan(NDJSON._replace(records=True), decodes=True), chunks, seed=seed)
    assert err == ""
    assert records(out) == sniffed(FOLDER / name, "--records")
    assert all(json.loads(line)["via"] == "proxy" for line in out.splitlines() if b'"exchange"' in line[:30])


def test_text_rows_are_those_of_a_capture(tmp_path: Path) -> None:
    out, err = logged(tmp_path, LogPlan(Settings(width=100)), chunks_of("first-steps.pcapng"))
    shown = kw("sniff", str(FOLDER / "first-steps.pcapng"), "-o", "text", env=world(columns=100))
    assert sorted(out.decode().splitlines()) == sorted(shown.out.splitlines())
    counts = "276 exchanges, 6 clients, 2 brokers, 19 errors, 19 expected errors, 1 unanswered"
    # From the earliest bytes on, which are not those of the first exchange; the last words count packets and seconds.
    assert err.startswith(f"{counts} · 2026-11-21 16:48:23–16:48:39 UTC · ")
    assert err.partition(" UTC")[0] == shown.err.partition(" UTC")[0]


def test_filters_hold(tmp_path: Path) -> None:
    plan = LogPlan(NDJSON, FilterOptions(("Metadata", "18"), expression="api_version > 3").filter_text())
    out, _ = logged(tmp_path, plan, chunks_of("tour.pcapng"))
    expected = sniffed(FOLDER / "tour.pcapng", "-f", "api_version > 3", "--api", "Metadata,18")
    assert records(out) == expected != []


def test_what_the_broker_took_is_told(tmp_path: Path) -> None:
    chunks = [chunk for chunk in chunks_of("tour.pcapng") if chunk[0].connection.number == 1]
    with (tmp_path / "out").open("w+b") as out:
        log = start(LogPlan(NDJSON), stdout=out)
        (_, begun_ns, _, request), *_ = chunks
        assert isinstance(request, bytes)
        play(log.queue, chunks[:1])
        correlation_id = int.from_bytes(request[8:12], "big")
        log.queue.log_upstream_latency(1, correlation_id, begun_ns + 1_000, begun_ns + 251_000)
        for half, time_ns, _, data in chunks[1:]:
            if isinstance(data, bytes):
                log.queue.log_client_bytes(1, int(half is not half.connection.first), time_ns, data)
        assert log.finish()
        out.seek(0)
        rows = [json.loads(line) for line in out]
    assert [row.get("upstream_latency_ms") for row in rows] == [0.25, *[None] * (len(rows) - 1)]


def test_a_ctrl_c_does_not_end_it(tmp_path: Path) -> None:
    chunks = chunks_of("tour.pcapng")
    with (tmp_path / "out").open("w+b") as out:
        log = start(LogPlan(NDJSON), stdout=out)
        play(log.queue, chunks[:50])
        log.process.send_signal(signal.SIGINT)
        log.process.send_signal(signal.SIGTERM)
        seen = {chunk[0].connection.number for chunk in chunks[:50]}
        for half, time_ns, _, data in chunks[50:]:
            number = half.connection.number
            if isinstance(data, bytes) and number in seen:
                log.queue.log_client_bytes(number, int(half is not half.connection.first), time_ns, data)
        assert log.finish()
        out.seek(0)
        assert len(out.readlines()) > 20


def test_nobody_reads_the_rows(tmp_path: Path) -> None:
    import os

    reader, writer = os.pipe()
    os.close(reader)
    with (tmp_path / "err").open("w+b") as err:
        log = start(LogPlan(NDJSON), stdout=writer, stderr=err)
        os.close(writer)
        play(log.queue, chunks_of("tour.pcapng"))
        log.finish()
        assert log.process.returncode == 0
        err.seek(0)
        assert err.read() == b""
