"""Functions of scripts on single frames: what they see, the frame they give, and the line of each refusal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import decoders
from decoders.schema.api_declaration import Side
from kwcli.proxy.deciding.scripts.script_api import Exchanged, ScriptError, load_script
from kwcli.proxy.deciding.scripts.script_child_process import pack_message, run_functions_on_exchange, unpack_messages
from kwcli.proxy.log.redact_streams import find_secret_spans
from tests.proxy.stage import FETCH, HEARTBEAT, METADATA, PRODUCE, framed, request, response

INCREMENTAL_ALTER_CONFIGS, CREATE_TOPICS = 44, 19
HEAD = "from kwcli.proxy.scripts import on\n"


def run(source: str, key: int, version: int, asked: bytes, answer: bytes | None = None) -> tuple[dict[str, Any], bytes]:
    """The message and the new frame that the script's process gives for one frame."""
    script = load_script("s.py", source.encode())
    side: Side = "request" if answer is None else "response"
    original = asked if answer is None else answer
    spans = find_secret_spans(original, side, (key, version))[0]
    starred = bytearray(original)
    for start, end in spans:
        starred[start:end] = b"*" * (end - start)
    exchanged = Exchanged(
        key, version, 3, "10.0.0.1:5", "boot", bytes(starred) if answer is None else asked,
        None if answer is None else bytes(starred), frozenset(spans),
    )  # fmt: skip
    numbers = [n for n, each in enumerate(script.handlers) if each.side == side]
    [(message, frame)] = unpack_messages(bytearray(run_functions_on_exchange(script, 7, numbers, exchanged)))
    assert message["n"] == 7
    if not message.get("fills"):
        return message, frame
    out = bytearray(frame)
    for start, end, old_start, old_end in message["fills"]:
        assert out[start:end] == b"*" * (end - start)
        assert (old_start, old_end) in spans
        out[start:end] = original[old_start:old_end]
    return message, bytes(out)


def decode_body_of_side(frame: bytes) -> Mapping[str, Any]:
    return decoders.decode_request(frame[4:]).body


HEARTBEAT_4 = request(HEARTBEAT, 4, {"group_id": "g", "member_id": "m", "generation_id": 3})


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def request(x): pass", {"do": "pass", "delay_ns": 0}),
        ("def request(x): x.request['group_id']", {"do": "pass", "delay_ns": 0}),
        ("def request(x): x.close()", {"do": "close", "delay_ns": 0}),
        ("def request(x): x.reset()", {"do": "reset", "delay_ns": 0}),
        ("def request(x): x.hold()", {"do": "hold", "delay_ns": 0}),
        ("def request(x): x.delay('20ms'); x.delay(0.5)", {"do": "pass", "delay_ns": 520_000_000}),
        (
            "def request(x):\n  assert (x.api, x.api_key, x.api_version, x.client_id, x.correlation_id, x.connection, "
            "x.client, x.broker, x.response) == ('Heartbeat', 12, 4, 'c', 1, 3, '10.0.0.1:5', 'boot', None)",
            {"do": "pass", "delay_ns": 0},
        ),
        # Errors have the line, and the frame passes unchanged.
        ("\n\ndef request(x):\n  x.request['x']['y']", {"do": "pass", "error": "s.py:4: KeyError: 'x'"}),
        ("def request(x): 1 / 0", {"do": "pass", "error": "s.py:1: ZeroDivisionError: division by zero"}),
        ("def request(x): raise SystemExit(3)", {"do": "pass", "error": "s.py:1: SystemExit: 3"}),
        ("def request(x): x.delay('soon')", {"do": "pass", "error": "s.py:1: ValueError: no quantity: 'soon'"}),
        (
            "def request(x):\n  x.request['generation_id'] = 'no'",
            {"do": "pass", "error": "s.py:1: generation_id: expected int, got str"},
        ),
    ],
)  # fmt: skip
def test_what_a_script_does_to_a_request(source: str, said: dict[str, Any]) -> None:
    message, frame = run(source, HEARTBEAT, 4, HEARTBEAT_4)
    error = message.pop("error", None)
    if "error" in said:
        assert error is not None
        assert error.startswith(said.pop("error").split(": expected")[0])
    else:
        assert error is None
    assert message == {"n": 7, **said}
    assert frame == b""


def test_a_changed_body_is_encoded_behind_the_same_header() -> None:
    source = "def request(x): x.request['generation_id'] += 1"
    message, frame = run(source, HEARTBEAT, 4, HEARTBEAT_4)
    assert message["do"] == "pass"
    assert frame == request(HEARTBEAT, 4, {"group_id": "g", "member_id": "m", "generation_id": 4})


def test_functions_run_in_order_until_one_ends_the_matter() -> None:
    source = HEAD + (
        "@on('Heartbeat')\ndef request_one(x): x.request['member_id'] += '1'\n"
        "def request_two(x): raise AssertionError('is not registered')\n"
        "@on(12)\ndef request(x): x.request['member_id'] += '2'; x.hold()\n"
        "@on()\ndef request(x): raise AssertionError('is behind the end')\n"
    )
    message, frame = run(source, HEARTBEAT, 4, HEARTBEAT_4)
    assert (message["do"], message.get("error")) == ("hold", None)
    assert decode_body_of_side(frame)["member_id"] == "m12"


def test_an_answer_instead() -> None:
    message, frame = run("def request(x): x.answer({'error_code': 27})", HEARTBEAT, 4, HEARTBEAT_4)
    assert message["do"] == "answer"
    assert frame == response(HEARTBEAT, 4, {"error_code": 27})


@pytest.mark.parametrize("error", ["'REBALANCE_IN_PROGRESS'", "27"])
def test_an_error_instead(error: str) -> None:
    message, frame = run(f"def request(x): x.fail({error})", HEARTBEAT, 4, HEARTBEAT_4)
    assert message["do"] == "answer"
    assert frame == response(HEARTBEAT, 4, {"error_code": 27})


@pytest.mark.parametrize(
    ("key", "version", "body", "call", "text"),
    [
        (HEARTBEAT, 4, {}, "x.fail('REBALANCE')", "'REBALANCE' is no error (kw errors)"),
        (PRODUCE, 9, {"acks": 0}, "x.fail('NOT_ENOUGH_REPLICAS')", "a Produce with acks=0 is never answered"),
    ],
)
def test_errors_that_cannot_be_said(key: int, version: int, body: Mapping[str, Any], call: str, text: str) -> None:
    message, frame = run(f"def request(x): {call}", key, version, request(key, version, body))
    assert (message["do"], message["error"], frame) == ("pass", f"s.py:1: {text}", b"")


def test_an_answer_is_changed() -> None:
    answer = response(METADATA, 9, {"cluster_id": "abc", "controller_id": 2})
    source = "def response(x):\n  assert x.request['topics'] == []\n  x.response['controller_id'] = -1"
    message, frame = run(source, METADATA, 9, request(METADATA, 9), answer)
    assert message.get("error") is None
    assert frame == response(METADATA, 9, {"cluster_id": "abc", "controller_id": -1})
    message, frame = run("def response(x): x.request['topics'] = None", METADATA, 9, request(METADATA, 9), answer)
    assert message["error"] == "s.py:1: the request was sent already: only the response can be changed"
    message, _ = run("def response(x): x.answer({})", METADATA, 9, request(METADATA, 9), answer)
    assert message["error"] == "s.py:1: only a request can be answered"


def configs(*values: str, name: str = "orders") -> dict[str, Any]:
    rows = [{"name": f"sasl.jaas.config{n}", "config_operation": 0, "value": value} for n, value in enumerate(values)]
    return {"resources": [{"resource_type": 2, "resource_name": name, "configs": rows}]}


ALTER = request(INCREMENTAL_ALTER_CONFIGS, 1, configs("hunter2", "letmein"))


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ("x.request['resources'][0]['resource_name'] = 'long name'", configs("hunter2", "letmein", name="long name")),
        ("x.request['resources'][0]['configs'][0]['config_operation'] = 0", None),
        ("x.request['resources'] *= 2", {"resources": configs("hunter2", "letmein")["resources"] * 2}),
        ("repr(x.request['resources'][0]['configs'][0]['value']) == '<redacted, 7 bytes>' or 1 / 0", None),
    ],
)  # fmt: skip
def test_secrets_are_not_seen_and_stay(source: str, after: Mapping[str, Any] | None) -> None:
    message, frame = run(f"def request(x): {source}", INCREMENTAL_ALTER_CONFIGS, 1, ALTER)
    assert message.get("error") is None
    assert frame == (b"" if after is None else request(INCREMENTAL_ALTER_CONFIGS, 1, after))


def test_secrets_that_change_places() -> None:
    source = (
        "def request(x):\n  a, b = x.request['resources'][0]['configs']\n"
        "  a['value'], b['value'] = b['value'], a['value']"
    )
    message, frame = run(source, INCREMENTAL_ALTER_CONFIGS, 1, ALTER)
    assert message.get("error") is None
    assert frame == request(INCREMENTAL_ALTER_CONFIGS, 1, configs("letmein", "hunter2"))


@pytest.mark.parametrize("value", ["'mine'", "'*******'", "b'*'"])
def test_secrets_cannot_be_changed(value: str) -> None:
    source = f"def request(x): x.request['resources'][0]['configs'][0]['value'] = {value}"
    message, frame = run(source, INCREMENTAL_ALTER_CONFIGS, 1, ALTER)
    assert "error" in message
    assert frame == b""


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("def request(x:\n", "s.py:1:12: '(' was never closed"),
        ("x = 1\ny = z", "s.py:2: NameError: name 'z' is not defined"),
        ("x = 1", "s.py: has no function request(exchange) or response(exchange)"),
        (HEAD + "@on('Fetsch')\ndef request(x): pass", "s.py:2: "),
        (HEAD + "@on('Fetch')\ndef fetch(x): pass", "s.py:2: fetch: its name begins with neither request nor response"),
        ("import sys; sys.exit(3)", "s.py:1: SystemExit: 3"),
    ],
)
def test_scripts_that_do_not_load(source: str, text: str) -> None:
    with pytest.raises(ScriptError) as raised:
        load_script("s.py", source.encode())
    assert str(raised.value).startswith(text)


def test_messages_in_pieces() -> None:
    data = pack_message({"n": 1}, b"frame") + pack_message({"n": 2}) + pack_message({"n": 3}, framed(b"x"))
    for cut in range(len(data)):
        buffer = bytearray(data[:cut])
        first = list(unpack_messages(buffer))
        buffer += data[cut:]
        assert [*first, *unpack_messages(buffer)] == [({"n": 1}, b"frame"), ({"n": 2}, b""), ({"n": 3}, framed(b"x"))]


def test_other_apis_keep_their_bytes() -> None:
    """Reading a body leaves the frame unchanged."""
    for key, frame in (
        (PRODUCE, request(PRODUCE, 9)),
        (FETCH, request(FETCH, 12)),
        (CREATE_TOPICS, request(CREATE_TOPICS, 7)),
    ):
        message, new = run("def request(x): x.request", key, int.from_bytes(frame[6:8], "big"), frame)
        assert message.get("error") is None
        assert new == b""
