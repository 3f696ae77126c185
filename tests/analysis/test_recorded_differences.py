"""Pairs of recorded captures with one known change each: it comes first; halves of healthy captures differ in nothing.

What is expected was written before `kw diff` had seen the captures; `captures/make/differences.py` records them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw

RECORDED: Final = FOLDER / "differences"
_PRODUCE: Final = {"client_id": "shop", "api": "Produce"}
# Before, after, and what the change is: any of these rows may be first, since what is new comes beside what is gone
# for it, and batches that wait longer are both fewer and larger.
PAIRS: Final[dict[str, tuple[str, str, list[dict[str, Any]]]]] = {
    "another version": (
        *("java-4.1.1", "java-4.1.2"),
        [
            {
                "change": "new-version",
                "client_id": "shop",
                "before": "apache-kafka-java 4.1.1",
                "after": "apache-kafka-java 4.1.2",
            }
        ],
    ),
    "another linger": (
        *("steady", "other-linger"),
        [
            {"change": "quieter", "metric": "rate", **_PRODUCE},
            {"change": "larger", "metric": "request_size", **_PRODUCE},
        ],
    ),
    "a slower broker": ("through-proxy", "slow-broker", [{"change": "slower", "metric": "latency"}]),
    "a new error": (
        *("steady", "new-error"),
        [{"change": "new-error", "error": "MESSAGE_TOO_LARGE", **_PRODUCE}],
    ),
    "a gone client": ("steady-again", "gone-client", [{"change": "gone-client", "client_id": "audit"}]),
    "a new topic": ("steady", "new-topic", [{"change": "new-topic", "topic": "invoices"}]),
    "a new API": (
        *("steady-again", "new-api"),
        [{"change": "new-api", "client_id": "audit", "api": "DescribeConfigs"}],
    ),
    "another codec": (
        *("steady", "compressed"),
        [{"change": "smaller", "metric": "request_size", **_PRODUCE}],
    ),
    "another group": (
        *("steady-again", "new-group"),
        [{"change": "new-group", "group": "billing-v2"}, {"change": "gone-group", "group": "billing"}],
    ),
    "other acks": (
        *("steady", "other-acks"),
        [{"change": "new-acks", "before": "all", "after": "1", **_PRODUCE}],
    ),
}


def compare(before: str, after: str) -> list[dict[str, Any]]:
    """The rows of kw diff on two of the recorded captures."""
    ran = kw("diff", str(RECORDED / f"{before}.pcap.zst"), str(RECORDED / f"{after}.pcap.zst"), "-o", "ndjson")
    assert ran.code == 0
    return [json.loads(line) for line in ran.out.splitlines()]


@pytest.mark.parametrize("change", PAIRS)
def test_the_one_change_of_a_recorded_pair_comes_first(change: str) -> None:
    before, after, expected = PAIRS[change]
    found = compare(before, after)
    assert found
    assert any(its.items() <= found[0].items() for its in expected), found[:3]


@pytest.mark.parametrize(
    ("before", "after"), [("steady", "steady-again"), ("steady-again", "steady"), ("steady", "steady")]
)
def test_recordings_of_the_same_traffic_differ_in_nothing(before: str, after: str) -> None:
    assert compare(before, after) == []


def test_numbers_of_rows_have_the_digits_that_mean_something() -> None:
    rows = compare("steady", "other-linger")
    assert {row["metric"] for row in rows} >= {"rate", "request_size"}
    for row in rows:
        assert [type(row[name]) for name in ("count_before", "count_after")] == [int, int]
        assert (float(f"{row['ratio']:.4g}"), float(f"{row['p']:.2g}")) == (row["ratio"], row["p"])


def test_rows_of_ndjson_differ_in_the_same_as_their_captures(tmp_path: Path) -> None:
    for name in ("steady", "other-acks"):
        rows = kw("sniff", str(RECORDED / f"{name}.pcap.zst"), "-o", "ndjson").out
        (tmp_path / f"{name}.ndjson").write_text(rows)
    ran = kw("diff", *(str(tmp_path / f"{name}.ndjson") for name in ("steady", "other-acks")), "-o", "ndjson")
    assert [json.loads(line) for line in ran.out.splitlines()] == compare("steady", "other-acks")
