"""kw against brokers' request logs: a shipped capture with its log always, live clusters if Java is installed."""

from __future__ import annotations

import copy
import gzip
from pathlib import Path
from typing import Any

import pytest

from tests.broker import plays
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.broker.requestlog import Entry, parse_line
from tests.captures.shipped import FOLDER
from tests.oracle.log_match import Comparison, compare
from tests.oracle.log_records import compare_records, fetched
from tests.oracle.log_scene import Scene, judge, logs_of, read_inputs, stage
from tests.oracle.log_sniff import sniff
from tests.oracle.log_values import snake_case


@pytest.fixture(scope="module")
def shipped() -> tuple[list[dict[str, Any]], list[Entry]]:
    """The exchanges of the capture that ships with its request log, and the log's entries."""
    lines = gzip.decompress((FOLDER / "first-steps.requests.log.gz").read_bytes()).decode().splitlines()
    entries = [entry for entry in map(parse_line, lines) if entry is not None]
    return sniff(FOLDER / "first-steps.pcapng"), entries


def test_the_shipped_capture_agrees_with_its_log(shipped: tuple[list[dict[str, Any]], list[Entry]]) -> None:
    result = compare(*shipped)
    assert result.problems == []
    assert result.counts["exchanges"] + result.counts["forwarded"] == len(shipped[1])
    assert len(result.apis) > 60
    assert result.counts["values"] > 10_000


def _wrong(shipped: tuple[list[dict[str, Any]], list[Entry]], name: str) -> Comparison:
    exchanges, entries = copy.deepcopy(shipped)
    metadata = next(each for each in exchanges if each["api"] == "Metadata" and each["response"]["topics"])
    match name:
        case "value":
            metadata["response"]["brokers"][0]["port"] += 1
        case "missing field":
            del metadata["response"]["controller_id"]
        case "invented field":
            metadata["request"]["invented"] = 1
        case "short array":
            metadata["response"]["topics"].pop()
        case "correlation id":
            metadata["correlation_id"] += 100_000
        case "client id":
            metadata["client_id"] = "somebody"
        case "version":
            metadata["api_version"] -= 1
        case "connection":
            metadata["client"] = "127.0.0.1:1"
        case "records":
            produce = next(each for each in exchanges if each["api"] == "Produce")
            produce["request"]["topic_data"][0]["partition_data"][0]["records"][0]["size"] -= 1
        case "error":
            metadata["errors"] = [{"path": "error_code", "code": 3, "name": "UNKNOWN_TOPIC_OR_PARTITION"}]
        case "invented exchange":
            exchanges.append({**metadata, "correlation_id": 77_777})
        case "skipped":
            exchanges.append({**metadata, "kind": "skipped", "reason": "garbage", "size": 3})
    return compare(exchanges, entries)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "name",
    [
        *("value", "missing field", "invented field", "short array", "correlation id", "client id", "version"),
        *("connection", "records", "error", "invented exchange", "skipped"),
    ],
)
def test_the_comparison_finds_what_is_wrong(shipped: tuple[list[dict[str, Any]], list[Entry]], name: str) -> None:
    assert 1 <= len(_wrong(shipped, name).problems) <= 2


def test_the_comparison_of_records_finds_what_is_wrong(shipped: tuple[list[dict[str, Any]], list[Entry]]) -> None:
    (topic, partition, offset), (timestamp, key, value, headers) = next(fetched(shipped[0]))
    read = {"topic": topic, "partition": partition, "offset": offset, "timestamp": timestamp, "key": key}
    read |= {"value": value, "headers": [list(header) for header in headers]}
    assert compare_records(shipped[0], [read]) == ([], 1)
    for wrong in ({"timestamp": 1}, {"value": None}, {"headers": [["a", None]]}, {"offset": 10**9}):
        assert len(compare_records(shipped[0], [{**read, **wrong}])[0]) == 1


@pytest.mark.parametrize(
    ("camel", "snake"),
    [
        ("throttleTimeMs", "throttle_time_ms"),
        ("isKRaftController", "is_kraft_controller"),
        ("kRaftVersionFeature", "kraft_version_feature"),
        ("enable2Pc", "enable2_pc"),
        ("v3AndBelowTopics", "v3_and_below_topics"),
    ],
)
def test_names_follow_the_rule_of_kafka(camel: str, snake: str) -> None:
    assert snake_case(camel) == snake


@pytest.mark.broker
@pytest.mark.long
@needs_brokers
@pytest.mark.parametrize(
    "scene",
    [
        Scene(Options(properties=plays.QUICK_SHARE), plays.a_little_of_everything),
        pytest.param(Scene(Options(version="3.9.1", mode="zookeeper"), plays.two_old_clients), marks=pytest.mark.full),
    ],
    ids=["4.3.1", "3.9.1-zookeeper"],
)
def test_live_clusters_agree_with_their_logs(scene: Scene, tmp_path: Path) -> None:
    stage(scene, tmp_path / "scene")
    result = judge(tmp_path / "scene")
    assert result.problems == []
    assert result.counts["records read"] > 50
    read = read_inputs(tmp_path / "scene")
    assert read.problems == []
    assert read.same == len(logs_of(tmp_path / "scene"))
    later = sorted(read.later)
    assert later[len(later) // 50] > -1  # the broker's figure is less than the wire's
    assert later[len(later) // 2] < 20
