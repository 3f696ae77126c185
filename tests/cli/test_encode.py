"""`kw encode`: bodies in, bytes out, in each form; one line for a mistake."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path

import pytest

import decoders
from kwcli.run_environment import Exit
from tests.calling.test_bodies import MESSAGE
from tests.cli.worlds import kw, world

METADATA = decoders.api("Metadata").versions


CAPTURE = Path(__file__).resolve().parents[2] / "captures" / "tour.pcapng"
BODY = decoders.encode_message(3, 12, "request", {"topics": [{"name": "orders"}]})


def test_words() -> None:
    assert kw("encode", "metadata", "12", "topics[].name=orders") == (0, BODY.hex() + "\n", "")


@pytest.mark.parametrize(
    "text", [b'{"topics":[{"name":"orders"}]}', b"topics: [{name: orders}]", b'{"Topics":[{"Name":"orders"}]}']
)
def test_standard_input(text: bytes) -> None:
    assert kw("encode", "3", "12", env=world(text)).out == BODY.hex() + "\n"
    assert kw("encode", "3", "12", "-", env=world(text)).out == BODY.hex() + "\n"


def test_a_body_in_a_word() -> None:
    assert kw("encode", "3", "12", '{"topics":[{"name":"orders"}]}').out == BODY.hex() + "\n"


def test_forms() -> None:
    assert b64decode(kw("encode", "3", "12", "topics[].name=orders", "-o", "base64").out) == BODY
    assert kw("encode", "3", "12", "topics[].name=orders", "-o", "raw").out.encode() == BODY
    outcome = kw("encode", "3", "12", "topics[].name=orders", "-o", "raw", env=world(terminal=True))
    assert (outcome.code, outcome.out) == (Exit.USAGE, "")


def test_frames() -> None:
    words = ["encode", "3", "12", "topics[].name=orders", "--frame", "--correlation-id", "-7", "--client-id", "me"]
    frame = bytes.fromhex(kw(*words).out)
    assert frame[:4] == (len(frame) - 4).to_bytes(4, "big")
    request = decoders.decode_request(frame[4:])
    assert (request.correlation_id, request.client_id, request.body["topics"][0]["name"]) == (-7, "me", "orders")
    frame = bytes.fromhex(kw("encode", "3", "12", "controller_id=9", "--frame", "--response").out)
    response = decoders.decode_response(frame[4:], 3, 12)
    assert (response.correlation_id, response.body["controller_id"]) == (0, 9)


def test_a_frame_without_a_client_id_in_its_header() -> None:
    frame = bytes.fromhex(kw("encode", "ControlledShutdown", "0", "broker_id=1", "--frame", "--client-id", "x").out)
    assert frame == bytes.fromhex("0000000c 0007 0000 00000000 00000001")


def test_the_header_of_a_record_is_kept() -> None:
    record = MESSAGE | {
        "correlation_id": 5,
        "header": {"correlation_id": 5, "_tagged_fields": {"7": {"base64": "/w=="}}},
    }
    frame = bytes.fromhex(kw("encode", "3", "12", "--response", "--frame", env=world(json.dumps(record).encode())).out)
    assert frame[4:].startswith(bytes.fromhex("00000005 01 07 01 ff"))


def test_every_request_of_the_tour_as_a_frame() -> None:
    lines = kw("sniff", str(CAPTURE), "-o", "ndjson", "-q", "--records", "--reveal-secrets").out.splitlines()
    records = [json.loads(line) for line in lines]
    frames = [
        bytes(exchange.request_raw or b"")
        for exchange in decoders.read_exchanges(CAPTURE.read_bytes())
        if isinstance(exchange, decoders.Exchange)
    ]
    same = 0
    for line, record, frame in list(zip(lines, records, frames, strict=True))[::4]:
        outcome = kw("encode", record["api"], str(record["api_version"]), "--frame", env=world(line.encode()))
        assert outcome.code == 0, outcome.err
        again = bytes.fromhex(outcome.out)
        assert again[:30] == frame[:30] or record["api"] == "Produce"
        same += again == frame
    assert same > 40


@pytest.mark.parametrize(
    ("words", "stdin", "code", "line"),
    [
        (["Metdata", "12"], b"{}", 2, "kw: no API has the name 'Metdata' (did you mean \"Metadata\"?)\n"),
        (["Metadata", "99"], b"{}", 2, f"kw: Metadata has versions {decoders.api('Metadata').versions}, not 99\n"),
        (["Metadata", "12"], b"", 1, "kw: standard input: empty, a body expected (at least {})\n"),
        (["Metadata", "12"], b'{"topics":5}', 1, "kw: standard input: topics: an array expected, not 5\n"),
        (["Metadata", "2"], b'{"includeTopicAuthorizedOperations":false}', 0, ""),
        (
            ["ListGroups", "0"],
            b'{"statesFilter":["x"]}',
            1,
            "kw: ListGroups 0: states_filter: version 0 cannot carry it; versions 4+ have it\n",
        ),
        (
            ["Metadata", "12", "topcis=x"],
            b"",
            2,
            f'kw: Metadata has no field "topcis" (did you mean "topics"? it is in versions {METADATA})\n',
        ),
        (
            ["SaslAuthenticate", "2"],
            b'{"auth_bytes":{"redacted":5}}',
            1,
            "kw: standard input: auth_bytes: a redacted secret cannot be encoded; --reveal-secrets keeps its value\n",
        ),
        (
            ["Metadata", "12", "--client-id", "x"],
            b"{}",
            2,
            "kw: --correlation-id and --client-id are for --frame; see kw encode --help\n",
        ),
        (
            ["Metadata", "x"],
            b"{}",
            2,
            "kw: 'x' is no version of Metadata: write 13, v13 or latest\n",
        ),
    ],
)
def test_mistakes(words: list[str], stdin: bytes, code: int, line: str) -> None:
    outcome = kw("encode", *words, env=world(stdin))
    assert (outcome.code, outcome.err) == (code, line)
    assert bool(outcome.out) == (code == 0)


def test_no_body_at_a_terminal() -> None:
    env = world()
    env.stdin_terminal = True
    outcome = kw("encode", "Metadata", "12", env=env)
    assert outcome.code == Exit.USAGE
    assert outcome.err.startswith("kw: no body: give path=value words")


def test_a_skeleton_is_input_again() -> None:
    text = kw("encode", "Metadata", "12", "topics[].name=orders", "--skeleton").out
    assert "  - topic_id: AAAAAAAAAAAAAAAAAAAAAA      # uuid" in text
    assert kw("encode", "Metadata", "12", env=world(text.encode())).out == BODY.hex() + "\n"


def test_an_error_by_its_name() -> None:
    by_name = kw("encode", "ApiVersions", "0", "--response", "error_code=unsupported-version").out
    assert by_name == kw("encode", "ApiVersions", "0", "--response", "error_code=35").out == "002300000000\n"
    outcome = kw("encode", "ApiVersions", "0", "--response", "error_code=UNSUPORTED_VERSION")
    assert (
        outcome.err == 'kw: error_code: no error is called "UNSUPORTED_VERSION" (did you mean "UNSUPPORTED_VERSION"?)\n'
    )


def test_bytes_behind_a_recorded_message_are_kept() -> None:
    record = MESSAGE | {"side": "request", "body": {"topics": [{"name": "orders"}]}, "trailing": {"base64": "/wA="}}
    assert kw("encode", "3", "12", env=world(json.dumps(record).encode())).out == BODY.hex() + "ff00\n"
    record["trailing"] = {"redacted": 2}
    outcome = kw("encode", "3", "12", env=world(json.dumps(record).encode()))
    assert outcome.code == Exit.FAILURE
    assert "--reveal-secrets" in outcome.err


def test_the_header_of_an_exchange_is_taken_for_either_side() -> None:
    record = {"kind": "exchange", "api_key": 3, "correlation_id": 9, "client_id": "me", "request": {}, "response": {}}
    line = json.dumps(record).encode()
    frame = bytes.fromhex(kw("encode", "3", "12", "--frame", env=world(line)).out)
    assert frame[8:16] == bytes.fromhex("00000009 0002") + b"me"
    frame = bytes.fromhex(kw("encode", "3", "12", "--frame", "--response", env=world(line)).out)
    assert frame[4:9] == bytes.fromhex("00000009 00")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("Metadata 12 topics=null", 'topics=null: written as the text "null"; topics:=null writes null'),
        ("Metadata 12 topics=[]", 'topics=[]: written as the text "[]"; topics:=[] writes an empty array'),
        (
            "Heartbeat 4 group_id={} group_instance_id=null",
            'group_id={}: written as the text "{}"\nkw: group_instance_id=null: written as the text "null"; '
            "group_instance_id:=null writes null",
        ),
        ("FindCoordinator 3 key=true", 'key=true: written as the text "true"'),
    ],
)
def test_a_text_that_means_something_else_in_json_is_remarked_on(words: str, said: str) -> None:
    outcome = kw("encode", *words.split())
    assert (outcome.code, outcome.err) == (0, f"kw: {said}\n")
    assert outcome.out


@pytest.mark.parametrize(
    "words",
    [
        "Metadata 12 topics:=null",
        "Metadata 12 topics[].name=nullable",
        "IncrementalAlterConfigs 1 topic=x resources[].configs[].name=a resources[].configs[].value=true",
    ],
)
def test_what_is_meant_as_it_stands_is_not_remarked_on(words: str) -> None:
    assert kw("encode", *words.split()).err == ""


def test_a_call_remarks_on_them_as_well() -> None:
    outcome = kw("call", "CreateTopics", "--dry-run", "topics=null")
    assert (outcome.code, outcome.err) == (0, 'kw: topics=null: written as the text "null"\n')


def test_short_words_of_kw_call() -> None:
    made = kw("encode", "Produce", "9", "topic=orders", "key=k", "value=v", "timestamp=5", "acks=1")
    body = decoders.decode_message(0, 9, "request", bytes.fromhex(made.out))
    (topic,) = body["topic_data"]
    (batch,) = decoders.decode_records(topic["partition_data"][0]["records"])
    assert (body["acks"], topic["name"], [(each.key, each.value) for each in batch.records or ()]) == (
        (1, "orders", [(b"k", b"v")])
    )
    made = kw("encode", "Fetch", "12", "topic=orders", "partition=0,2", "offset=7", "max_wait_ms=9")
    body = decoders.decode_message(1, 12, "request", bytes.fromhex(made.out))
    rows = [(each["partition"], each["fetch_offset"]) for each in body["topics"][0]["partitions"]]
    assert (body["max_wait_ms"], rows) == (9, [(0, 7), (2, 7)])
    made = kw("encode", "ListOffsets", "7", "topic=orders", "timestamp=earliest")
    body = decoders.decode_message(2, 7, "request", bytes.fromhex(made.out))
    assert body["topics"][0]["partitions"][0]["timestamp"] == -2


def test_short_words_that_only_a_cluster_could_complete() -> None:
    outcome = kw("encode", "Produce", "13", "topic=orders", "value=v")
    assert (outcome.code, outcome.err) == (2, "kw: a topic whose id is not known needs Produce 0-12, not 13\n")
    assert "give offset= a number" in kw("encode", "Fetch", "12", "topic=orders", "offset=end").err
