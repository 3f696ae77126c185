"""`kw call` against one real broker: the request sent, the output in every format, the exit code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from decoders.apis import api
from kwcli.calling.run_call import CallRun
from kwcli.net.session.blocking_connection import BrokerConnection
from kwcli.run_environment import Exit, Failure
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.cli.worlds import Outcome, kw, world
from tests.exchanges.test_captures import VALIDATOR

pytestmark = [pytest.mark.broker, needs_brokers]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(Options(class_archive=True)) as started:
        yield started


def call(cluster: Cluster, *words: str) -> Outcome:
    return kw("call", *words, "-b", cluster.bootstrap())


def record(outcome: Outcome) -> Any:
    (line,) = outcome.out.splitlines()
    found = json.loads(line)
    VALIDATOR.validate(found)
    return found


@pytest.mark.parametrize("word", ["Metadata", "metadata", "METADATA", "3"])
def test_an_api_by_any_spelling_is_sent_its_example(cluster: Cluster, word: str) -> None:
    outcome = call(cluster, word)
    found = record(outcome)
    assert (outcome.code, outcome.err) == (0, "")
    assert (found["api"], found["api_version"]) == ("Metadata", api("Metadata").versions.high)
    assert (found["status"], found["broker"]) == ("complete", cluster.bootstrap())
    assert [row["node_id"] for row in found["response"]["brokers"]] == [1]
    assert 0 < found["latency_ms"] <= found["duration_ms"]


def test_words_make_the_body_and_an_error_code_in_the_answer_is_exit_code_1(cluster: Cluster) -> None:
    outcome = call(cluster, "Metadata", "topics[].name=nothing-here")
    found = record(outcome)
    assert outcome.code == 1
    assert [error["name"] for error in found["errors"]] == ["UNKNOWN_TOPIC_OR_PARTITION"]
    assert [topic["name"] for topic in found["request"]["topics"]] == ["nothing-here"]


def test_the_version_is_one_that_has_every_field_that_was_given(cluster: Cluster) -> None:
    found = record(call(cluster, "find-coordinator", "key=billing"))
    assert (found["api_version"], found["request"]["key"]) == (3, "billing")


@pytest.mark.parametrize(
    "text",
    [
        '{"topics":[{"name":"piped"}]}',
        "topics:\n- name: piped\n",
        '{"kind":"exchange","api_key":3,"api_version":9,'
        '"request":{"topics":[{"name":"piped"}],"allow_auto_topic_creation":false}}',
    ],
    ids=["json", "yaml", "record"],
)
@pytest.mark.parametrize("dash", [[], ["-"]], ids=["piped", "named"])
def test_a_body_on_standard_input_is_taken(cluster: Cluster, text: str, dash: list[str]) -> None:
    found = record(kw("call", "Metadata", *dash, "-b", cluster.bootstrap(), env=world(text.encode())))
    assert [topic["name"] for topic in found["request"]["topics"]] == ["piped"]
    assert found["api_version"] == (9 if "kind" in text else 13)  # a record is sent again in its own version


def test_with_words_standard_input_is_left_alone(cluster: Cluster) -> None:
    env = world(b"the next line of somebody's loop\n")
    outcome = kw("call", "Metadata", "topics:=[]", "-b", cluster.bootstrap(), env=env)
    assert outcome.code == 0
    assert env.stdin.read1() == b"the next line of somebody's loop\n"


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        (["--select", "brokers[].node_id"], "1\n"),
        (["--select", "brokers[].node_id", "-o", "text"], "1\n"),
        (["--select", "brokers.node_id", "-o", "json"], "[\n1\n]\n"),
        (["--select", "topics[].name"], ""),
        (["--only", "request", "--select", "topics"], "[]\n"),
        (
            ["--only", "request"],
            '{"topics":[],"allow_auto_topic_creation":false,"include_topic_authorized_operations":false}\n',
        ),
    ],
)
def test_a_side_or_a_path_alone_is_printed(cluster: Cluster, options: list[str], printed: str) -> None:
    assert call(cluster, "Metadata", "topics:=[]", *options) == (0, printed, "")


def test_a_path_of_other_versions_is_said(cluster: Cluster) -> None:
    outcome = call(cluster, "FindCoordinator", "key=g", "--select", "coordinators[].host")
    assert outcome.out == ""
    assert (
        outcome.err == "kw: FindCoordinator 3 has no coordinators[].host (it is in versions 4-6; see --api-version)\n"
    )


def test_text_has_a_line_for_each_side_and_the_body_under_it(cluster: Cluster) -> None:
    outcome = call(cluster, "Metadata", "topics[].name=nope", "-o", "text")
    head, *lines = outcome.out.splitlines()
    assert re.fullmatch(rf"→ Metadata 13 · \d+ B · node 1 {cluster.bootstrap()} · connect \d[\d.]*[mµ]s", head)
    assert not any("topics[0].name" in line for line in lines), "the request's body is shown with -v"
    assert any(re.fullmatch(r"← \d+ B · \d[\d.]*[mµ]s", line) for line in lines)
    assert any(line.startswith("  UNKNOWN_TOPIC_OR_PARTITION 3: ") for line in lines)


def test_verbose_shows_the_body_of_the_request(cluster: Cluster) -> None:
    lines = call(cluster, "Metadata", "topics[].name=nope", "-o", "text", "-v").out.splitlines()
    assert "  topics[0].name                       nope" in lines


def test_verbose_tells_the_server_and_the_look_ups_on_standard_error(cluster: Cluster) -> None:
    outcome = call(cluster, "DescribeCluster", "--node", "1", "-v")
    assert record(outcome)["api"] == "DescribeCluster"
    lines = outcome.err.splitlines()
    assert lines[0] == f"kw: server {cluster.bootstrap()} (from -b)"
    assert [line.split(": ")[2].split(" ")[0] for line in lines[1:]] == ["ApiVersions", "Metadata"]


def test_repetitions_are_lines_and_a_summary_of_latencies(cluster: Cluster) -> None:
    outcome = call(cluster, "ApiVersions", "--repeat", "5", "--interval", "1ms", "-o", "text")
    assert len(outcome.out.splitlines()) == 1 + 5
    assert re.fullmatch(r"5 requests · min \S+ · p50 \S+ · p90 \S+ · p99 \S+ · max \S+\n", outcome.err)


def test_a_ping_goes_on_when_a_connection_is_lost(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    lost: list[object] = []

    def lose(self: BrokerConnection, *words: object, **options: object) -> object:
        if len(lost) == 1:
            lost.append(None)
            raise Failure("kafka1:9092 closed the connection", Exit.UNREACHABLE)
        lost.append(None)
        return request(self, *words, **options)  # type: ignore[arg-type]  # as they came

    request = BrokerConnection.send_request
    monkeypatch.setattr(BrokerConnection, "send_request", lose)
    outcome = call(cluster, "ApiVersions", "--repeat", "3", "--interval", "1ms")
    assert (outcome.code, len(outcome.out.splitlines())) == (5, 2)
    assert "kw: kafka1:9092 closed the connection\n3 requests, 1 lost · min " in outcome.err


def test_ctrl_c_ends_a_ping_with_what_there_is(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_format_deadline: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(CallRun, "sleep", staticmethod(interrupt))
    outcome = call(cluster, "ApiVersions", "--repeat", "0")
    assert (outcome.code, len(outcome.out.splitlines())) == (130, 1)
    assert outcome.err.startswith("1 request · min ")


def test_the_matrix_tells_what_a_broker_looks_like_and_where_a_release_differs(cluster: Cluster) -> None:
    outcome = call(cluster, "ApiVersions", "--node", "all", "-o", "table", "--against", "4.3")
    assert outcome.code == 0
    title, looks, *rows = outcome.out.splitlines()
    assert title.split() == ["1", cluster.bootstrap(), "Kafka", "4.3"]
    assert looks.split() == ["looks", "like", "4.3", "4.3"]
    assert [row for row in rows if row.startswith("≠")] == []
    older = call(cluster, "ApiVersions", "--against", "3.9").out.splitlines()
    assert [row.split() for row in older if "Metadata" in row] == [["≠", "3", "Metadata", "0-13", "0-12"]]


def test_bytes_are_sent_as_they_are(cluster: Cluster) -> None:
    found = record(call(cluster, "Metadata", "--api-version", "1", "--raw-body", "0000 0000"))
    assert (found["request"], found["status"]) == ({"topics": []}, "complete")
    # Routing reads the raw body: with acks=0 no answer is awaited.
    produced = record(call(cluster, "Produce", "--api-version", "3", "--raw-body", "ffff 0000 00007530 00000000"))
    assert (produced["status"], produced["request"]["acks"]) == ("no_response_expected", 0)


def test_what_the_broker_cannot_read_is_an_unanswered_request_and_a_line_that_says_so(cluster: Cluster) -> None:
    outcome = call(cluster, "Metadata", "--api-version", "1", "--raw-body", "7fffffff")
    found = record(outcome)
    assert (found["status"], found["response"]) == ("unanswered", None)
    assert outcome.code != 0
    assert outcome.err.startswith(f"kw: {cluster.bootstrap()} closed the connection")
    assert len(outcome.err.splitlines()) == 1


def test_even_to_an_api_that_nobody_knows(cluster: Cluster) -> None:
    outcome = call(cluster, "999", "--api-version", "3", "--force", "--raw-body", "00")
    found = record(outcome)
    assert (found["api"], found["api_version"], found["status"]) == ("UNKNOWN(999)", 3, "unanswered")
    assert outcome.code == 5


@pytest.mark.one_in(3)
@pytest.mark.parametrize("version", [0, 1, 2])
def test_produce_versions_that_are_offered_and_not_served_are_explained(cluster: Cluster, version: int) -> None:
    outcome = call(cluster, "Produce", "--api-version", str(version), "--example")
    assert (outcome.code, outcome.out) == (1, "")
    assert f"lists Produce {version} but does not serve it" in outcome.err


def test_a_server_that_is_another_name_for_a_node_is_dialled_by_the_map(cluster: Cluster) -> None:
    there = f"kafka1.example:9092={cluster.bootstrap()}"
    outcome = kw("call", "Metadata", "-b", "kafka1.example:9092", "--dial-map", there, "-o", "text")
    assert outcome.code == 0
    assert " · node 1 kafka1.example:9092 · " in outcome.out  # by the other end of the socket
