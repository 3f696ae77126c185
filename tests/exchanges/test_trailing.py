"""Bytes behind the last field of a side: they are no failure, and are shown beside the bodies, with a remark."""

from __future__ import annotations

from random import Random
from typing import Any

from decoders.exchanges.exchange import Exchange
from decoders.messages.exchange_json import to_json_dict
from tests.exchanges.talks import REVEALED, request, response, run, segments

METADATA, SASL_AUTHENTICATE = 3, 36
# librdkafka 2.16's request for all topics: after the message there are three extra bytes.
LIST_TOPICS = bytes.fromhex("0000001e 0003 000d 0000000f 000c 6c696272646b61666b612d31 00  00 00 00 00  01 00 00")
ANSWER: dict[str, Any] = {"cluster_id": "shop", "controller_id": 1}


def only(turns: list[tuple[bool, bytes]]) -> Exchange:
    """The last exchange of a conversation in which nothing was skipped."""
    found = run(segments(turns, Random(1)))
    assert all(isinstance(each, Exchange) for each in found)
    last = found[-1]
    assert isinstance(last, Exchange)
    return last


def test_a_request_with_bytes_behind_it_is_complete() -> None:
    first = [(True, request(METADATA, 13, 14, "librdkafka-1", {})), (False, response(METADATA, 13, 14, ANSWER))]
    found = only([*first, (True, LIST_TOPICS), (False, response(METADATA, 13, 15, ANSWER))])
    record = to_json_dict(found)
    assert record["status"] == found.status == "complete"
    assert record["request"] == found.request
    assert record["request"] == {
        "topics": None,
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": False,
    }
    assert record["trailing"] == {"request": {"base64": "AQAA"}}
    assert "undecoded" not in record
    assert found.failures == {}


def test_a_response_with_bytes_behind_it_is_complete() -> None:
    answer = response(METADATA, 13, 14, ANSWER) + b"\1\0\0"
    found = only([(True, request(METADATA, 13, 14, "a", {})), (False, len(answer[4:]).to_bytes(4, "big") + answer[4:])])
    record = to_json_dict(found)
    assert found.status == record["status"] == "complete"
    assert record["trailing"] == {"response": {"base64": "AQAA"}}
    said = {"side": "response", "path": "", "offset": len(answer) - 7, "id": "trailing"}
    assert record["remarks"] == found.remarks == [{**said, "text": "3 bytes behind the last field"}]


def test_bytes_behind_a_secret_are_one() -> None:
    sent = request(SASL_AUTHENTICATE, 2, 14, "a", {"auth_bytes": b"token"}) + b"more"
    turns = [(True, len(sent[4:]).to_bytes(4, "big") + sent[4:]), (False, response(SASL_AUTHENTICATE, 2, 14, {}))]
    first = [(True, request(METADATA, 13, 13, "a", {})), (False, response(METADATA, 13, 13, ANSWER))]
    found = only(first + turns)
    assert to_json_dict(found)["trailing"] == {"request": {"redacted": 4}}
    assert to_json_dict(found, REVEALED)["trailing"] == {"request": "more"}
