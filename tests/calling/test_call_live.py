"""`kw call` against one real broker: the request sent, the record printed, the exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from decoders.apis import api
from tests.broker.cluster import Cluster
from tests.broker.fixture import cluster, needs_brokers  # noqa: F401  # the fixture
from tests.cli.worlds import Outcome, kw
from tests.exchanges.test_captures import VALIDATOR

pytestmark = [pytest.mark.broker, needs_brokers]


def call(cluster: Cluster, *words: str) -> Outcome:  # noqa: F811  # its value
    return kw("call", *words, "-b", cluster.bootstrap())


def record(outcome: Outcome) -> Any:
    (line,) = outcome.out.splitlines()
    found = json.loads(line)
    VALIDATOR.validate(found)
    return found


@pytest.mark.parametrize("word", ["Metadata", "metadata", "METADATA", "3"])
def test_an_api_by_any_spelling_is_sent_its_example(cluster: Cluster, word: str) -> None:  # noqa: F811  # the fixture
    outcome = call(cluster, word)
    found = record(outcome)
    assert (outcome.code, outcome.err) == (0, "")
    assert (found["api"], found["api_version"], found["status"]) == (
        "Metadata",
        api("Metadata").versions.high,
        "complete",
    )
    assert found["broker"] == cluster.bootstrap()
    assert [row["node_id"] for row in found["response"]["brokers"]] == [1]
    assert 0 < found["latency_ms"] <= found["duration_ms"]


def test_words_make_the_body_and_an_error_code_in_the_answer_is_exit_code_1(cluster: Cluster) -> None:  # noqa: F811  # the fixture
    outcome = call(cluster, "Metadata", "topics[].name=nothing-here")
    found = record(outcome)
    assert outcome.code == 1
    assert [error["name"] for error in found["errors"]] == ["UNKNOWN_TOPIC_OR_PARTITION"]
    assert [topic["name"] for topic in found["request"]["topics"]] == ["nothing-here"]


def test_the_version_is_one_that_has_every_field_that_was_given(cluster: Cluster) -> None:  # noqa: F811  # the fixture
    found = record(call(cluster, "find-coordinator", "key=billing"))
    assert (found["api_version"], found["request"]["key"]) == (3, "billing")
