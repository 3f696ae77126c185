"""Messages of a run on standard error: its progress on a terminal, its closing lines."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kwcli.pipeline.show_run_progress import (
    ProgressBar,
    format_duration,
    format_run_closing_line,
    format_written_tables_line,
)
from kwcli.pipeline.tables.run_counts import RunCounts
from kwcli.pipeline.tables.write_parquet import WrittenFile
from tests.cli.worlds import world, written

SECOND = 10**9


def test_the_bar_says_how_far_how_fast_and_how_long() -> None:
    env = world(terminal=True, columns=120)
    now = [100.0]
    env.monotonic = lambda: now[0]
    bar = ProgressBar(env, 4, 10_000_000, wanted=True)
    bar.show(1_000_000, 0)
    assert written(env.stderr) == b""  # short work needs no bar
    now[0] += 2
    bar.show(2_500_000, 1)
    said = written(env.stderr).decode()
    assert said == "\r\x1b[K━━━━━━──────────────────  25%  6 s left  2.5MB of 10.0MB  1.2MB/s  1 of 4 splits"
    bar.show(2_600_000, 1)
    assert written(env.stderr).decode() == said  # not more often than people can read
    bar.hide_line()
    bar.hide_line()
    assert written(env.stderr).decode() == said + "\r\x1b[K"


@pytest.mark.parametrize("columns", [10, 34, 40, 60, 90])
def test_the_bar_fits(columns: int) -> None:
    env = world(terminal=True, columns=columns)
    now = [0.0]
    env.monotonic = lambda: now[0]
    bar = ProgressBar(env, 12_345, 10**13, wanted=True)
    now[0] = 3600
    bar.show(4 * 10**12, 2222)
    assert len(written(env.stderr).decode().removeprefix("\r\x1b[K")) < columns


@pytest.mark.parametrize(("terminal", "wanted"), [(False, True), (True, False)])
def test_no_bar_where_none_is_wanted(terminal: bool, wanted: bool) -> None:
    env = world(terminal=terminal)
    now = [0.0]
    env.monotonic = lambda: now[0]
    bar = ProgressBar(env, 1, 100, wanted=wanted)
    now[0] = 5
    bar.show(50, 0)
    assert written(env.stderr) == b""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.084, "0.08 s"), (41.26, "41.3 s"), (125.4, "2 min 5 s"), (12_000, "3 h 20 min")],
)
def test_how_long_it_took(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


# -- tallies -----------------------------------------------------------------------------------------------------------


def rows(*given: dict[str, object]) -> pa.RecordBatch:
    """Rows in the form that tasks exchange, with the columns that are counted."""
    return pa.RecordBatch.from_pylist([{**NOTHING, **row} for row in given], schema=pa.schema(COLUMNS))


COLUMNS = {
    **dict.fromkeys(("kind", "source", "status", "client_ip", "client_id", "broker", "reason"), pa.string()),
    **dict.fromkeys(("client_software_name", "client_software_version", "request_body", "response_body"), pa.string()),
    "error_expected": pa.list_(pa.bool_()),
    "api_key": pa.int32(),
    "time_ns": pa.int64(),
    "size": pa.int64(),
}
NOTHING: dict[str, object] = {"kind": "exchange", "status": "complete", "error_expected": [], "broker": "10.0.0.9:9092"}
UNREAD = (
    '{"responses":[{"partitions":[{"records":null},{"records":[{"records":[{"key_decoded":{"schema_id":17,"name":null,'
    '"value":null,"missing_schema":true},"value_decoded":{"schema_id":5,"value":{"missing_schema":true}}}]}]}]}]}'
)
ONE = rows(
    {"client_ip": "10.0.0.1", "client_id": "a", "api_key": 3, "time_ns": 5 * SECOND},
    {"client_ip": "10.0.0.1", "client_id": "a", "api_key": 3, "time_ns": 7 * SECOND, "error_expected": [False, True]},
    {"client_ip": "10.0.0.1", "client_id": "b", "api_key": 3, "time_ns": 6 * SECOND, "status": "unanswered"},
    {"client_ip": "10.0.0.1", "client_id": "b", "api_key": 18, "time_ns": 6 * SECOND, "error_expected": [True, True]},
    {"kind": "skipped", "reason": "tls", "size": 999, "time_ns": SECOND, "broker": "10.0.0.7:443"},
)
OTHER = rows(
    {"client_ip": "10.0.0.2", "time_ns": 3 * SECOND, "status": "orphan_response", "broker": "10.0.0.8:9092"},
    {
        "client_ip": "10.0.0.2",
        "client_id": "a",
        "api_key": 3,
        "time_ns": 4 * SECOND,
        "error_expected": [False],
        "client_software_name": "app",
        "client_software_version": "1",
    },
)
UNDECODED = rows(
    {"client_ip": "10.0.0.1", "client_id": "a", "api_key": 1, "time_ns": 5 * SECOND, "response_body": UNREAD}
)
GAPS = rows(
    {"kind": "skipped", "reason": "lost", "size": 100, "time_ns": SECOND},
    {"kind": "skipped", "reason": "lost", "size": 23, "time_ns": SECOND},
)
CONNECTIONS = pa.RecordBatch.from_pydict(
    {
        "kafka": [True, False, True, True],
        "client_gaps": [0, 9, 1, 0],
        "server_gaps": [2, 9, 0, 0],
        "reason": pa.array([None, "not_kafka", None, "one_direction"], pa.string()),
        "detail": pa.array([None, "Redis: command GET", None, "answers"], pa.string()),
        "opened": [True, True, False, True],
        "client_packets": [9, 9, 9, 0],
        "server_packets": [9, 9, 0, 9],
        "broker_port": [9092, 6379, 9093, 9094],
    }
)


def tally(*parts: pa.RecordBatch) -> RunCounts:
    found = RunCounts()
    for part in parts:
        if "kafka" in part.schema.names:
            found.count_connections(part)
        else:
            found.count_rows(part)
    return found


def test_counts_add_up_in_any_order_and_survive_the_way_home() -> None:
    parts = [ONE, OTHER, GAPS, CONNECTIONS, ONE.slice(0, 0), UNDECODED, OTHER]
    whole = tally(*parts)
    for cut in range(len(parts) + 1):
        for one, other in ((parts[:cut], parts[cut:]), (parts[cut:], parts[:cut])):
            merged = RunCounts.resume(tally(*one).export())
            merged.merge(RunCounts.resume(tally(*other).export()))
            assert {name: getattr(merged, name) for name in RunCounts.__slots__} == {
                name: getattr(whole, name) for name in RunCounts.__slots__
            }
    assert whole.exchanges == 9
    assert whole.missing_schemas == {"17": 1}
    assert whole.runs == {"tls": 1, "lost": 2}
    clients = {("10.0.0.1", "a", None, None), ("10.0.0.1", "b", None, None), ("10.0.0.2", "a", "app", "1")}
    assert whole.clients == clients
    assert (whole.answers_only, whole.requests_only) == ({9094: 1}, {9093: 1})
    assert whole.foreign == {("Redis", 6379): 1}
    assert whole.brokers == {"10.0.0.8:9092", "10.0.0.9:9092"}
    assert (whole.first_ns, whole.last_ns) == (3 * SECOND, 7 * SECOND)
    assert (whole.errors, whole.expected, whole.gaps) == (3, 1, 3)


def test_the_closing_lines() -> None:
    found = tally(ONE, OTHER, GAPS, CONNECTIONS)
    packets, engine = {"packets": 1234, "fragmented": 2}, "engine local (small)"
    line = format_run_closing_line(found, packets, damaged=1, engine=engine, seconds=1.5)
    assert line == (
        "6 exchanges, 3 clients, 2 brokers, 3 connections, 2 errors, 1 expected error, 1 unanswered, 2 gaps (123B), "
        "1 TLS connection, 2 incomplete IP packets, 1 damaged capture · 1970-01-01 00:00:03–00:00:07 UTC · "
        "1,234 packets · engine local (small) · 1.50 s"
    )
    written = [
        WrittenFile("connections", "1970-01-01", "x", 1, 12),
        WrittenFile("exchanges", "1970-01-01", "y", 4, 30_000),
        WrittenFile("exchanges", "1970-01-02", "z", 1, 1_000),
    ]
    assert format_written_tables_line(written, "out") == "out: exchanges 5 rows, 31.0kB; connections 1 row, 12B"
    assert format_written_tables_line([], "out") == "out: no rows"


@pytest.mark.parametrize(
    ("part", "lossy"),
    [
        (ONE, False),
        (OTHER, True),
        (GAPS, True),
        (CONNECTIONS, True),
        (CONNECTIONS.slice(1, 1), False),
    ],
)
def test_what_counts_as_loss(part: pa.RecordBatch, lossy: bool) -> None:
    assert tally(part).is_lossy is lossy
