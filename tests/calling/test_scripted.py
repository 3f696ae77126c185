"""Look-ups that are retried, clusters of mixed versions, nodes that fall silent: `kw call` on scripted brokers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from decoders.messages.whole_messages import Request
from kwcli.net.session import broker_session
from kwcli.net.session.blocking_connection import BrokerConnection
from tests.calling.scripted import LOGIN_VERSIONS, PLAIN_LOGIN, SASL_HANDSHAKE, Node, logins, metadata
from tests.cli.worlds import kw

LIST_OFFSETS, METADATA, FIND_COORDINATOR, DESCRIBE_GROUPS, CREATE_TOPICS = 2, 3, 10, 15, 19
OFFSETS = ("ListOffsets", "topics[].name=t", "topics[].partitions[].partition_index=0")


def offset(_request: Request) -> Mapping[str, Any]:
    partition = {"partition_index": 0, "error_code": 0, "timestamp": -1, "offset": 7}
    return {"topics": [{"name": "t", "partitions": [partition]}]}


def group(_request: Request) -> Mapping[str, Any]:
    return {"groups": [{"error_code": 0, "group_id": "g", "group_state": "Empty"}]}


@pytest.mark.parametrize("version", [0, 1, 3, 4, 9, 12])
def test_a_partition_without_a_leader_is_waited_for(version: int) -> None:
    led = iter([-1, -1])
    with Node({METADATA: (0, version), LIST_OFFSETS: (1, 1)}, {LIST_OFFSETS: offset}) as node:
        node.answers = {
            **node.answers,
            METADATA: metadata(node, leader=lambda: next(led, 0)) if version >= 4 else all_topics(node, led),
        }
        outcome = kw("call", *OFFSETS, "-b", node.server)
    assert (outcome.code, outcome.err) == (0, "")
    assert node.asked == [(METADATA, version)] * 3 + [(LIST_OFFSETS, 1)]


def all_topics(node: Node, led: Any) -> Any:
    """Metadata as old brokers are asked for it: for all topics, since asking by name would create one."""

    def answer(request: Request) -> Mapping[str, Any] | None:
        assert request.body["topics"] == ([] if request.api_version == 0 else None)
        asked = Request(3, request.api_version, 0, None, {}, {"topics": [{"name": "t"}, {"name": "other"}]})
        return metadata(node, leader=lambda: next(led, 0))(asked)

    return answer


@pytest.mark.long
def test_a_partition_that_stays_without_a_leader_is_given_up_at_the_time_out() -> None:
    with Node({METADATA: (0, 12), LIST_OFFSETS: (1, 1)}, {}) as node:
        node.answers = {METADATA: metadata(node, leader=lambda: -1)}
        outcome = kw("call", *OFFSETS, "-b", node.server, "--timeout", "1.5")
    assert (outcome.code, outcome.out) == (124, "")
    assert outcome.err == "kw: no leader for t[0] (given up after 1.5 s)\n"


@pytest.mark.parametrize("version", [0, 1, 3, 4, 6])
def test_a_coordinator_that_is_not_there_yet_is_asked_for_again(version: int) -> None:
    codes = iter([15, 15, 14])

    def find(request: Request) -> Mapping[str, Any]:
        host, port = node.address
        found = {"error_code": next(codes, 0), "node_id": 0, "host": host, "port": port}
        keys = request.body.get("coordinator_keys")
        assert (keys or [request.body.get("key")]) == ["g"]
        return {"coordinators": [{"key": "g", **found}]} if keys else found

    answers = {FIND_COORDINATOR: find, DESCRIBE_GROUPS: group}
    with Node({FIND_COORDINATOR: (0, version), DESCRIBE_GROUPS: (0, 5)}, answers) as node:
        outcome = kw("call", "DescribeGroups", "groups[]=g", "-b", node.server)
    assert (outcome.code, outcome.err) == (0, "")
    assert node.asked == [(FIND_COORDINATOR, version)] * 4 + [(DESCRIBE_GROUPS, 5)]


def test_a_look_up_that_cannot_get_better_ends_at_once() -> None:
    denied = {
        "coordinators": [
            {"key": "g", "error_code": 30, "error_message": "Denied.", "node_id": -1, "host": "", "port": -1}
        ]
    }
    with Node({FIND_COORDINATOR: (4, 4), DESCRIBE_GROUPS: (5, 5)}, {FIND_COORDINATOR: lambda _: denied}) as node:
        outcome = kw("call", "DescribeGroups", "groups[]=g", "-b", node.server)
    assert (outcome.code, outcome.err) == (
        1,
        "kw: no coordinator for group 'g': GROUP_AUTHORIZATION_FAILED: Denied.\n",
    )


def test_what_the_user_asks_is_sent_once_whatever_the_answer() -> None:
    late = {"coordinators": [{"key": "g", "error_code": 15, "node_id": -1, "host": "", "port": -1}]}
    with Node({FIND_COORDINATOR: (4, 4)}, {FIND_COORDINATOR: lambda _: late}) as node:
        outcome = kw("call", "FindCoordinator", "coordinator_keys[]=g", "-b", node.server)
    assert outcome.code == 1
    assert node.asked == [(FIND_COORDINATOR, 4)]


def test_a_coordinator_that_is_none_any_more_is_looked_up_again_and_asked_once() -> None:
    def not_here(_request: Request) -> Mapping[str, Any]:
        return {"groups": [{"error_code": 16, "group_id": "g"}]}

    def find(_request: Request) -> Mapping[str, Any]:
        number = next(found, 2)
        host, port = (old, old, new)[number].address
        return {"coordinators": [{"key": "g", "error_code": 0, "node_id": number, "host": host, "port": port}]}

    found = iter([1, 1])  # the second look-up still gives the old one
    with (
        Node({FIND_COORDINATOR: (4, 4), DESCRIBE_GROUPS: (5, 5)}, {FIND_COORDINATOR: find}) as first,
        Node({DESCRIBE_GROUPS: (5, 5)}, {DESCRIBE_GROUPS: not_here}) as old,
        Node({DESCRIBE_GROUPS: (5, 5)}, {DESCRIBE_GROUPS: group}) as new,
    ):
        outcome = kw("call", "DescribeGroups", "groups[]=g", "-b", first.server)
    assert outcome.code == 0
    assert outcome.err == (
        f"kw: node 1 {old.server} is not the coordinator (NOT_COORDINATOR): sent once more, to node 2 {new.server}\n"
    )
    assert [len(json.loads(line)["errors"]) for line in outcome.out.splitlines()] == [1, 0]
    assert (len(old.asked), len(new.asked)) == (1, 1)


def test_a_request_of_which_a_part_was_done_is_not_sent_again() -> None:
    def half(_request: Request) -> Mapping[str, Any]:
        rows = [{"partition_index": number, "error_code": code, "offset": 7} for number, code in ((0, 0), (1, 6))]
        return {"topics": [{"name": "t", "partitions": rows}]}

    with Node({METADATA: (0, 12), LIST_OFFSETS: (1, 1)}, {LIST_OFFSETS: half}) as node:
        node.answers = {**node.answers, METADATA: metadata(node)}
        outcome = kw("call", *OFFSETS, "topics[0].partitions[1].partition_index=1", "-b", node.server)
    assert (outcome.code, outcome.err) == (1, "")
    assert node.asked.count((LIST_OFFSETS, 1)) == 1


def test_the_version_is_one_that_the_node_takes_which_gets_the_request() -> None:
    """The version sent suits the leader, which is older than the node asked first."""
    with (
        Node({METADATA: (0, 12), LIST_OFFSETS: (1, 9)}, {}) as first,
        Node({LIST_OFFSETS: (1, 5)}, {LIST_OFFSETS: offset}) as leader,
    ):
        first.answers = {METADATA: metadata(first, leader, leader=lambda: 1)}
        outcome = kw("call", *OFFSETS, "-b", first.server)
    assert (outcome.code, outcome.err) == (0, "")
    assert (json.loads(outcome.out)["api_version"], leader.asked) == (5, [(LIST_OFFSETS, 5)])


def test_the_matrix_marks_what_brokers_of_a_cluster_differ_in() -> None:
    with (
        Node({METADATA: (0, 12), CREATE_TOPICS: (0, 7)}, {}) as first,
        Node({METADATA: (0, 13), LIST_OFFSETS: (1, 9), CREATE_TOPICS: (0, 7)}, {}) as second,
    ):
        first.answers = {METADATA: metadata(first, second)}
        outcome = kw("call", "ApiVersions", "--node", "all", "-o", "table", "-b", first.server)
    assert outcome.code == 0
    title, _, *rows = [line.split() for line in outcome.out.splitlines()]
    assert title == ["0", first.server, "1", second.server]
    assert rows == [
        ["≠", "2", "ListOffsets", "–", "1-9"],
        ["≠", "3", "Metadata", "0-12", "0-13"],
        ["18", "ApiVersions", "0-4", "0-4"],
        ["19", "CreateTopics", "0-7", "0-7"],
    ]


def test_of_several_servers_the_first_that_answers_is_taken_and_with_v_the_others_are_told() -> None:
    with Node({METADATA: (0, 12)}, {}) as node:
        node.answers = {METADATA: metadata(node)}
        quiet = kw("call", "Metadata", "-b", f"127.0.0.1:1,{node.server}")
        told = kw("call", "Metadata", "-b", f"127.0.0.1:1,{node.server}", "-v")
    assert (quiet.code, quiet.err) == (told.code, "") == (0, "")
    assert "kw: 127.0.0.1:1 refused the connection" in told.err


def test_of_all_nodes_those_that_cannot_be_reached_are_said_and_the_others_shown() -> None:
    with Node({METADATA: (0, 12)}, {}) as first, Node({}, {}) as gone:
        first.answers = {METADATA: metadata(first, gone)}
        gone.__exit__(None, None, None)
        outcome = kw("call", "ApiVersions", "--node", "all", "-b", first.server)
    assert (outcome.code, len(outcome.out.splitlines())) == (5, 1)
    assert outcome.err.startswith(f"kw: {gone.server} refused the connection")


@pytest.mark.long
@pytest.mark.parametrize("output", ["text", "ndjson"])
def test_a_request_that_nobody_answers_is_shown_and_a_time_out(output: str) -> None:
    with Node({METADATA: (0, 12)}, {METADATA: lambda _: None}) as node:
        outcome = kw("call", "Metadata", "-b", node.server, "--timeout", "1.5", "-o", output)
    assert outcome.code == 124
    assert f"{node.server} did not answer Metadata 12 within 1.5 s" in outcome.err
    if output == "text":
        assert outcome.out.splitlines()[-1] == "← no answer"
    else:
        record = json.loads(outcome.out)
        assert (record["status"], record["response"]) == ("unanswered", None)
        assert "closed" not in record


def test_ctrl_c_shows_what_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    receive = BrokerConnection._receive_events

    def interrupted(self: BrokerConnection) -> Any:
        if self.versions:
            raise KeyboardInterrupt
        return receive(self)

    monkeypatch.setattr(BrokerConnection, "_receive_events", interrupted)
    with Node({METADATA: (0, 12)}, {METADATA: lambda _: None}) as node:
        outcome = kw("call", "Metadata", "-b", node.server)
    assert (outcome.code, outcome.err) == (130, "")
    assert json.loads(outcome.out)["status"] == "unanswered"


@pytest.fixture
def renewed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logins that end are renewed before the next request."""
    monkeypatch.setattr(broker_session, "RENEW_AFTER", 0)


@pytest.mark.usefixtures("renewed_at_once")
def test_a_login_that_cannot_be_renewed_is_not_taken_for_the_request() -> None:
    with Node(LOGIN_VERSIONS, logins([1])) as node:
        outcome = kw("call", "SaslHandshake", "mechanism=PLAIN", *PLAIN_LOGIN, "-b", node.server)
    assert (outcome.code, outcome.out) == (6, "")
    assert "the password has changed" in outcome.err
    assert [key for key, _ in node.asked].count(SASL_HANDSHAKE) == 2, "the login and its renewal, not the request"


@pytest.mark.usefixtures("renewed_at_once")
def test_with_v_a_login_that_is_renewed_is_told_and_the_request_shown() -> None:
    with Node({**LOGIN_VERSIONS, DESCRIBE_GROUPS: (5, 5)}, {**logins([1, 0]), DESCRIBE_GROUPS: group}) as node:
        outcome = kw("call", "DescribeGroups", "groups[]=g", "--node", "any", *PLAIN_LOGIN, "-b", node.server, "-v")
    assert outcome.code == 0
    assert json.loads(outcome.out)["api"] == "DescribeGroups"
    assert outcome.err.count(": SaslAuthenticate 2 · ") == 2


@pytest.mark.parametrize("words", [(), ("-v",), ("-o", "json")])
def test_what_a_new_topic_has_by_default_is_folded(words: tuple[str, ...]) -> None:
    configs = [
        {"name": f"config.{number}", "value": "x", "config_source": 1 if number == 3 else 5} for number in range(35)
    ]
    made = {"topics": [{"name": "t", "num_partitions": 1, "configs": configs}]}
    made["topics"].append({"name": "plain", "num_partitions": 1, "configs": configs[4:]})
    answers = {METADATA: lambda _: {}, CREATE_TOPICS: lambda _: made}
    with Node({METADATA: (0, 12), CREATE_TOPICS: (7, 7), 55: (0, 1)}, answers) as node:
        output = words if "-o" in words else ("-o", "text", *words)
        outcome = kw("call", "CreateTopics", "topics[].name=t", *output, "-b", node.server)
    assert outcome.code == 0
    assert "config.3" in outcome.out
    folded = not words
    assert ("config.4" in outcome.out) is not folded
    assert ("65 configs at the default: -v lists them" in outcome.out) is folded
    assert ("timeout_ms" in outcome.out) is not folded


def test_a_plain_call_in_a_pipe_loads_nothing_that_it_does_not_need() -> None:
    code = (
        # Modules that an installation loads before any program (as editable ones do) are not loaded by kw.
        "import sys; before = set(sys.modules);"
        "from kwcli.run_environment import Environment; from kwcli.main import run;"
        "run(sys.argv[1:], Environment.of_process()); sys.stderr.write(' '.join(set(sys.modules) - before))"
    )
    with Node({METADATA: (0, 12)}, {}) as node:
        words = [sys.executable, "-c", code, "call", "ApiVersions", "-o", "ndjson", "-b", node.server]
        done = subprocess.run(words, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert json.loads(done.stdout)["api"] == "ApiVersions"
    loaded = {name.split(".")[0] for name in done.stderr.split()}
    assert "kwcli" in loaded
    assert not loaded & {
        "asyncio",
        "rich",
        "yaml",
        "ssl",
        "scapy",
        "numpy",
        "cryptography",
        "pathlib",
        "logging",
        "lz4",
    }
    assert "decoders.schema.decoder_codegen" not in done.stderr.split(), "no code is worth generating for one message"
