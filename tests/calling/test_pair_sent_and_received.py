"""Frames of our own connections become exchanges as frames of captures do, with the times of the socket."""

from __future__ import annotations

from dataclasses import dataclass

from decoders.messages.exchange_json import to_json_dict
from decoders.messages.whole_messages import encode_request, encode_response
from kwcli.calling.pair_sent_and_received import ExchangeBuilder


@dataclass
class Frames:
    request_frame: bytes
    response_frame: bytes | None
    begun_ns: int = 1_000_000_000
    sent_ns: int = 1_001_000_000
    first_ns: int = 1_004_500_000
    last_ns: int = 1_005_000_000


def sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def metadata(number: int, topic: str | None = None) -> Frames:
    asked = None if topic is None else [{"name": topic}]
    error = 0 if topic is None else 3
    topics = [] if topic is None else [{"name": topic, "error_code": error, "partitions": []}]
    return Frames(
        sized(encode_request(3, 12, {"topics": asked}, correlation_id=number, client_id="kw")),
        sized(encode_response(3, 12, {"brokers": [], "topics": topics}, correlation_id=number)),
    )


def test_an_exchange_has_the_times_and_addresses_of_the_socket() -> None:
    exchange = ExchangeBuilder().build_exchange("127.0.0.1:5000", "127.0.0.1:9092", metadata(1, "orders"))
    record = to_json_dict(exchange)
    assert (record["time"], record["latency_ms"], record["duration_ms"]) == ("1970-01-01T00:00:01.000000Z", 3.5, 5.0)
    assert (record["client"], record["broker"], record["connection"]) == ("127.0.0.1:5000", "127.0.0.1:9092", 1)
    assert (record["api"], record["api_version"], record["client_id"]) == ("Metadata", 12, "kw")
    assert record["packets"] == {"request": None, "response": None}
    assert exchange.packets == {"request": None, "response": None}
    assert [error["name"] for error in record["errors"]] == ["UNKNOWN_TOPIC_OR_PARTITION"]


def test_connections_are_numbered_as_they_are_first_used() -> None:
    builder = ExchangeBuilder()
    ends = [("c:1", "a:1"), ("c:2", "b:1"), ("c:1", "a:1")]
    numbers = [builder.build_exchange(*pair, metadata(number)).connection for number, pair in enumerate(ends)]
    assert numbers == [1, 2, 1]


def test_a_request_without_its_answer_is_unanswered_and_the_next_one_is_not() -> None:
    builder = ExchangeBuilder()
    lost = metadata(1)
    lost.response_frame = None
    exchange = builder.build_exchange("c:1", "a:1", lost)
    assert (exchange.status, exchange.closed) == ("unanswered", None)  # the connection may have ended by a time-out
    assert builder.build_exchange("c:1", "a:1", metadata(2)).status == "complete"


def test_bytes_that_are_no_known_api_are_an_exchange_that_cannot_be_read() -> None:
    request = bytes.fromhex("03e70000 00000007 00026b77 ffff")
    response = bytes.fromhex("00000007 0102")
    exchange = ExchangeBuilder().build_exchange("c:1", "a:1", Frames(sized(request), sized(response)))
    assert (exchange.api, exchange.status) == ("UNKNOWN(999)", "undecoded")


def test_a_connection_may_open_with_a_bare_gssapi_token() -> None:
    token, answer = sized(bytes.fromhex("60 06 2a864886f712")), sized(bytes.fromhex("60 02 0100"))
    builder = ExchangeBuilder()
    exchange = builder.build_exchange("c:1", "a:1", Frames(token, answer))
    assert (exchange.status, exchange.api_key, exchange.raw("response")) == ("token", None, answer)
    assert builder.build_exchange("c:1", "a:1", metadata(2)).status == "complete"
