"""`kw call` without a broker: dry runs, skeletons, and everything that is refused before connecting."""

from __future__ import annotations

import json

import pytest

from decoders.apis import api
from decoders.messages.whole_messages import decode_request
from kwcli.calling.print_exchanges import CallOutput
from kwcli.calling.read_bodies import parse_json_or_yaml
from kwcli.output.output_settings import Settings
from tests.cli.worlds import kw, world
from tests.exchanges.test_captures import VALIDATOR

NOBODY = ("-b", "127.0.0.1:1")


def test_a_dry_run_prints_a_record_without_response_and_addresses() -> None:
    outcome = kw("call", "Metadata", "topics[].name=orders", "--dry-run", "--as-kafka", "2.8", *NOBODY)
    found = json.loads(outcome.out)
    VALIDATOR.validate(found)
    assert outcome.code == 0
    assert (found["client"], found["broker"], found["response"], found["latency_ms"]) == (None, None, None, None)
    assert (found["status"], found["reason"], found["api_version"]) == ("not_sent", None, 11)
    assert "closed" not in found
    assert found["request"]["topics"][0]["name"] == "orders"


def test_a_dry_run_for_people_shows_the_bytes_with_their_names() -> None:
    outcome = kw("call", "FindCoordinator", "key=g", "--dry-run", "-o", "text", *NOBODY)
    head, *lines = outcome.out.splitlines()
    assert head == "→ FindCoordinator 3 · 17 B · not sent"
    bytes_shown = "".join(line[6:54] for line in lines if line[:4].isalnum() and line[4:6] == "  ")
    frame = bytes.fromhex(bytes_shown)
    assert decode_request(frame[4:]).body == {"key": "g", "key_type": 0}
    assert not any("←" in line for line in lines)


def test_a_skeleton_is_yaml_that_makes_the_same_request() -> None:
    skeleton = kw("call", "Metadata", "topics[].name=orders", "--skeleton").out
    assert parse_json_or_yaml(skeleton.encode(), "")["topics"][0]["name"] == "orders"
    again = kw("call", "Metadata", "-", "--dry-run", "--only", "request", env=world(skeleton.encode()))
    same = kw("call", "Metadata", "topics[].name=orders", "--dry-run", "--only", "request")
    assert again.out == same.out != ""


@pytest.mark.parametrize("word", ["DeleteTopics", "unregister-broker", "51"])
def test_what_changes_something_is_not_sent_without_being_told_what(word: str) -> None:
    outcome = kw("call", word, *NOBODY)
    assert (outcome.code, outcome.out) == (2, "")
    assert "changes the cluster, so it needs path=value words" in outcome.err
    assert "# " in outcome.err
    assert kw("call", word, "--example", "--dry-run", *NOBODY).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Metdata"], "no API has the name 'Metdata' (did you mean \"Metadata\"?)"),
        (["99"], "no API has the number 99"),
        (["Metadata", "topcis=x"], 'Metadata has no field "topcis" (did you mean "topics"?'),
        (["Metadata", "--api-version", "99"], f"Metadata has versions {api('Metadata').versions}, not 99"),
        (["Metadata", "--node", "leader:x"], "--node 'leader:x': a partition is TOPIC-NUMBER"),
        (["Metadata", "--select", "topcs"], "has no field 'topcs' (did you mean \"topics\"?)"),
        (["Metadata", "--raw-body", "xyz"], "--raw-body takes hex digits"),
        (["99", "--raw-body", "00"], "kw does not know API 99: sending it bytes takes --api-version and --force"),
        (["Metadata", "--against", "3.9"], "--against compares what brokers offer"),
        (["Metadata", "--example", "topics:=[]"], "leave out all path=value words"),
        (["Metadata", "--as-kafka", "9.9"], "no release 9.9"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2_without_a_connection(words: list[str], said: str) -> None:
    outcome = kw("call", *words, *NOBODY)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_nobody_there_is_exit_code_5() -> None:
    outcome = kw("call", "Metadata", *NOBODY)
    assert (outcome.code, outcome.out) == (5, "")
    assert "127.0.0.1:1 refused the connection" in outcome.err


def test_of_several_servers_all_are_tried() -> None:
    outcome = kw("call", "Metadata", "-b", "127.0.0.1:1,127.0.0.1:2")
    assert outcome.code == 5
    assert "none of 2 servers: 127.0.0.1:1 refused" in outcome.err


def test_answers_of_one_run_are_apart_by_an_empty_line() -> None:
    env = world()
    output = CallOutput(env, Settings())
    output._print_lines(["first", "its body"])
    output._print_lines(["its bytes"], apart=False)
    output._print_lines(["second"])
    assert env.stdout.getvalue() == b"first\nits body\nits bytes\n\nsecond\n"  # type: ignore[attr-defined]  # in memory
