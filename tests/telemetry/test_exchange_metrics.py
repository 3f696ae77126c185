"""Metrics of traffic: the numbers of `kw stats` and `kw groups`, read by Prometheus' own parser."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from decoders import read_exchanges
from decoders.exchanges.exchange import Exchange
from kwcli.output.renderers import WantedPaths
from kwcli.playground.free_ports import find_free_ports
from kwcli.run_environment import Exit
from kwcli.telemetry.exchange_metrics import TrafficMetrics
from kwcli.telemetry.prometheus import LABEL_MAX, format_family_lines
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw, world
from tests.proxy.test_metrics import Sample, samples

FIRST = str(FOLDER / "first-steps.pcapng")


def told(traffic: TrafficMetrics) -> Sample:
    return samples("".join(f"{line}\n" for line in format_family_lines(traffic.families())))


def counted(name: str) -> TrafficMetrics:
    from decoders.capture.read_capture import CaptureReader
    from decoders.exchanges.segments_to_exchanges import Engine

    traffic = TrafficMetrics()
    engine, reader = Engine(needs=WantedPaths(traffic.needs)), CaptureReader()
    for row in [*engine.feed(reader.feed((FOLDER / name).read_bytes())), *engine.finish()]:
        if row.kind == "exchange":
            traffic.add(row)
    return traffic


def added(found: Sample, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    sums: Counter[tuple[str, ...]] = Counter()
    for (its, pairs), value in found.items():
        if its == name:
            sums[tuple(dict(pairs)[label] for label in labels)] += value  # type: ignore[assignment]  # floats that are whole
    return {key: value for key, value in sums.items() if value}


def stats(*words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(kw("stats", *words, "-o", "json").out)
    return found


def test_numbers_are_those_of_the_statistics() -> None:
    found = told(counted("first-steps.pcapng"))
    rows = stats(FIRST, "--by", "api,broker")
    key = ("api", "broker")
    for name, column in (("kw_exchanges_total", "count"), ("kw_waited_total", "waited")):
        assert added(found, name, *key) == {(row["api"], row["broker"]): row[column] for row in rows if row[column]}
    measured: dict[tuple[str, ...], Any] = {(row["api"], row["broker"]): row for row in rows}
    for pair, count in added(found, "kw_exchange_seconds_count", *key).items():
        row = measured[pair]
        assert count <= row["count"] - row["waited"]
    slowest = max(row["max"] for row in rows if row["max"] is not None)
    assert sum(added(found, "kw_exchange_seconds_sum").values()) * 1000 >= slowest
    sizes = added(found, "kw_bytes_total", "side")
    assert sizes["client",] == sum(row["request_bytes"] or 0 for row in rows)
    assert sizes["broker",] == sum(row["response_bytes"] or 0 for row in rows)
    rows = [row for row in stats(FIRST, "--by", "api,error", "--metric", "errors") if row["error"] is not None]
    assert added(found, "kw_errors_total", "api", "error") == {(row["api"], row["error"]): row["sum"] for row in rows}
    rows = [row for row in stats(FIRST, "--by", "api,topic", "--metric", "records") if row["sum"]]
    directions = {"Produce": "produced", "Fetch": "fetched"}
    expected = {(row["topic"], directions[row["api"]]): row["sum"] for row in rows}
    assert added(found, "kw_records_total", "topic", "direction") == expected


def test_lags_are_those_of_the_groups() -> None:
    for name in ("first-steps.pcapng", "tour.pcapng"):
        lines = kw("groups", str(FOLDER / name), "-o", "ndjson").out.splitlines()
        expected = {(row["group"],): row["commit_lag"] for row in map(json.loads, lines) if row["commit_lag"]}
        assert added(told(counted(name)), "kw_group_lag_records", "group") == expected != {}


def test_offsets_are_learnt_of_all_exchanges_and_counted_of_those_that_a_filter_wants() -> None:
    traffic = TrafficMetrics()
    from decoders.capture.read_capture import CaptureReader
    from decoders.exchanges.segments_to_exchanges import Engine

    engine, reader = Engine(needs=WantedPaths(traffic.needs)), CaptureReader()
    rows: list[Exchange] = [
        row for row in [*engine.feed(reader.feed(Path(FIRST).read_bytes())), *engine.finish()] if row.kind == "exchange"
    ]
    for row in rows:
        traffic.learn(row)
    for row in rows:
        if row.api == "Metadata":
            traffic.add(row)
    found = told(traffic)
    assert added(found, "kw_group_lag_records", "group") == added(
        told(counted("first-steps.pcapng")), "kw_group_lag_records", "group"
    )
    assert set(added(found, "kw_exchanges_total", "api")) == {("Metadata",)}


HOSTILE = ['a"b', "a\\b", "a\nb", "\x1b[31m", "\u2028x", "é", "\udcff", "x" * 5000, '"} 1\nkw_fake_total 7']


def test_names_of_the_wire_are_labels_and_nothing_else() -> None:
    traffic = TrafficMetrics()
    for name in HOSTILE:
        traffic._records[name, "produced"] += 1  # as a capture would
    text = "".join(f"{line}\n" for line in format_family_lines(traffic.families()))
    found = samples(text.encode().decode())
    topics = [dict(labels)["topic"] for name, labels in found if name == "kw_records_total"]
    assert len(topics) == len(HOSTILE)
    assert {name for name, _ in found} == {"kw_records_total"}
    assert max(map(len, topics)) == LABEL_MAX
    assert all(topic.isprintable() for topic in topics)


def test_labels_without_end_fill_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwcli.telemetry.exchange_metrics.SERIES_MAX", 3)
    found = told(counted("first-steps.pcapng"))
    for name in ("kw_exchanges_total", "kw_exchange_seconds_count"):
        assert len(added(found, name, "api", "broker")) == 4
        assert added(found, name, "api", "broker")["other", "other"] > 0
    whole = told(counted("first-steps.pcapng"))
    assert sum(added(found, "kw_exchanges_total").values()) == sum(added(whole, "kw_exchanges_total").values())


def test_what_has_an_end_has_no_metrics() -> None:
    for words in (["sniff", FIRST], ["stats", FIRST], ["doctor", FIRST]):
        outcome = kw(*words, "--metrics", "9400")
        assert outcome.code == Exit.USAGE
        assert "--metrics is for live traffic" in outcome.err
    assert kw("sniff", "-", "--metrics", "port").code == Exit.USAGE
    outcome = kw("doctor", "-b", "localhost:1", "--metrics", "9400")
    assert (outcome.code, "--metrics and --otlp are for traffic" in outcome.err) == (Exit.USAGE, True)


def test_a_port_that_is_taken_is_told(free_port: int) -> None:
    import socket

    with socket.create_server(("127.0.0.1", free_port)):
        outcome = kw("sniff", "-", "--metrics", str(free_port), env=world(b""))
    assert outcome.code == Exit.FAILURE
    assert f"127.0.0.1:{free_port} is taken by another program: give another --metrics" in outcome.err


@pytest.fixture
def free_port() -> int:
    (port,) = find_free_ports(1, "127.0.0.1")
    return port


@pytest.mark.one_in(3)
@pytest.mark.parametrize("words", [["sniff"], ["stats"], ["doctor", "--fail-on", "never"]])
def test_prometheus_asks_while_it_goes_on(words: list[str], free_port: int) -> None:
    command = [sys.executable, "-m", "kwcli.main", *words, "-", "--metrics", str(free_port), "-q"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as running:
        assert running.stdin is not None
        running.stdin.write(Path(FIRST).read_bytes())
        running.stdin.flush()
        found: Sample = {}
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{free_port}/metrics", timeout=60) as answer:
                    found = samples(answer.read().decode())
            except OSError:
                time.sleep(0.1)
            if added(found, "kw_exchanges_total", "api").get(("Produce",)):
                break
            time.sleep(0.1)
        running.stdin.close()
        assert running.wait(60) == Exit.DONE
    assert added(found, "kw_exchanges_total", "api")["Produce",] > 0


def test_exchanges_of_the_library_are_counted() -> None:
    traffic = TrafficMetrics()
    with open(FIRST, "rb") as file:
        for exchange in read_exchanges(file):
            traffic.add(exchange)
    assert added(told(traffic), "kw_exchanges_total") == added(
        told(counted("first-steps.pcapng")), "kw_exchanges_total"
    )
