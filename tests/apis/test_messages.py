"""The library's calls: frames in hex with their fields, names as people write them, errors with their place."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

import decoders
from decoders import (
    DecodeError,
    EncodeError,
    Malformed,
    Request,
    Response,
    Truncated,
    UnknownApi,
    UnsupportedVersion,
    decode_message,
    decode_request,
    decode_response,
    encode_message,
    encode_request,
    encode_response,
)
from decoders.apis import KEYS, api
from decoders.schema.api_declaration import Side

# (API key, version, frame, header, body)
REQUESTS: list[tuple[int, int, str, dict[str, Any], dict[str, Any]]] = [
    (
        7,
        0,
        "0007 0000 00000009  00000001",  # ControlledShutdown 0: no client id in the header
        {"request_api_key": 7, "request_api_version": 0, "correlation_id": 9},
        {"broker_id": 1},
    ),
    (
        18,
        0,
        "0012 0000 00000001 ffff",
        {"request_api_key": 18, "request_api_version": 0, "correlation_id": 1, "client_id": None},
        {},
    ),
    (
        18,
        3,
        "0012 0003 00000002 0001 78 00  02 61 02 31 00",
        {"request_api_key": 18, "request_api_version": 3, "correlation_id": 2, "client_id": "x"},
        {"client_software_name": "a", "client_software_version": "1"},
    ),
    (
        3,
        12,
        "0003 000c 00000007 0002 6b77 01 05 02 abcd  02 00000000000000000000000000000001 00 00 01 00 00",
        {
            "request_api_key": 3,
            "request_api_version": 12,
            "correlation_id": 7,
            "client_id": "kw",
            "_tagged_fields": {5: b"\xab\xcd"},
        },
        {
            "topics": [{"topic_id": UUID(int=1), "name": None}],
            "allow_auto_topic_creation": True,
            "include_topic_authorized_operations": False,
        },
    ),
]


@pytest.mark.parametrize(("key", "version", "frame", "header", "body"), REQUESTS)
def test_requests(key: int, version: int, frame: str, header: dict[str, Any], body: dict[str, Any]) -> None:
    data = bytes.fromhex(frame)
    found = decode_request(data)
    assert found == Request(key, version, header["correlation_id"], header.get("client_id"), header, body)
    if "_tagged_fields" not in header:
        assert data == encode_request(
            key, version, body, correlation_id=header["correlation_id"], client_id=header.get("client_id")
        )
    for size in range(len(data)):
        with pytest.raises(DecodeError) as caught:
            decode_request(data[:size])
        assert caught.value.offset <= size
        assert caught.value.path
    with pytest.raises(Malformed, match="1 byte after the end"):
        decode_request(data + b"!")
    assert decode_request(data + b"!", strict=False).body == {**body, "_trailing": b"!"}


def ranges(*rows: tuple[int, int, int]) -> list[dict[str, int]]:
    return [{"api_key": key, "min_version": low, "max_version": high} for key, low, high in rows]


# (API key, version asked, version of the layout, frame, body)
RESPONSES: list[tuple[int, int, int, str, dict[str, Any]]] = [
    (12, 0, 0, "00000001  001b", {"error_code": 27}),
    (12, 4, 4, "00000001 00  00000064 0000 00", {"throttle_time_ms": 100, "error_code": 0}),
    (
        18,
        3,
        3,
        "00000001  0000 02 0003 0000 000c 00 00000000 00",  # header 0, flexible body
        {"error_code": 0, "api_keys": ranges((3, 0, 12)), "throttle_time_ms": 0},
    ),
    (
        18,
        4,
        0,
        "00000001  0023 00000001 0012 0000 0003",  # a broker that knows no version 4
        {"error_code": 35, "api_keys": ranges((18, 0, 3))},
    ),
    (18, 1, 0, "00000001  0023 00000000", {"error_code": 35, "api_keys": []}),
    (
        18,
        3,
        3,
        "00000001  0023 01 00000000 00",  # a broker that knows version 4, and answers in version 0 all the same
        {"error_code": 35, "api_keys": [], "throttle_time_ms": 0},
    ),
]


@pytest.mark.parametrize(("key", "asked", "version", "frame", "body"), RESPONSES)
def test_responses(key: int, asked: int, version: int, frame: str, body: dict[str, Any]) -> None:
    data = bytes.fromhex(frame)
    found = decode_response(data, key, asked)
    assert found == Response(key, version, 1, {"correlation_id": 1}, body)
    assert encode_response(key, version, body, correlation_id=1) == data
    for size in range(len(data)):
        with pytest.raises(DecodeError) as caught:
            decode_response(data[:size], key, asked)
        assert caught.value.offset <= size
        assert caught.value.path


def test_version_0_is_no_excuse_without_its_error() -> None:
    frame = bytes.fromhex("00000001  0000 00000001 0012 0000 0003")
    with pytest.raises(DecodeError) as caught:
        decode_response(frame, 18, 3)
    assert caught.value.path == "api_keys"


@pytest.mark.parametrize(
    ("key", "version", "error"),
    [
        (KEYS[-1] + 1, 0, UnknownApi),
        (-1, 0, UnknownApi),
        (3, api(3).versions.high + 1, UnsupportedVersion),
        (3, -1, UnsupportedVersion),
    ],
)
def test_what_nobody_declares(key: int, version: int, error: type[DecodeError]) -> None:
    frame = (key & 0xFFFF).to_bytes(2, "big") + (version & 0xFFFF).to_bytes(2, "big") + bytes(10)
    for attempt in (
        lambda: decode_request(frame),
        lambda: decode_response(bytes(20), key, version),
        lambda: decode_message(key, version, "request", b""),
        lambda: encode_message(key, version, "response", {}),
        lambda: encode_request(key, version, {}),
    ):
        with pytest.raises(error):
            attempt()


def test_kind_is_request_or_response() -> None:
    with pytest.raises(ValueError, match="request or response"):
        decode_message(3, 0, "answer", b"")  # type: ignore[arg-type]  # what a caller without types may write


def test_early_layouts_on_request() -> None:
    stable = encode_message(87, 0, "response", {"results": [{"topic_id": UUID(int=5)}]})
    early = encode_message(87, 0, "response", {"results": [{"topic_id": UUID(int=5)}]}, layout="3.9")
    assert decode_message(87, 0, "response", early, layout="4.0") == decode_message(
        87, 0, "response", stable
    )  # neither has partitions, so their bytes agree
    value = {"results": [{"topic_id": UUID(int=5), "partitions": [{"partition": 1, "error_message": None}]}]}
    early = encode_message(87, 0, "response", value, layout="3.9")
    with pytest.raises(DecodeError):
        decode_message(87, 0, "response", early)
    fields = decode_message(87, 0, "response", early, layout="3.9")["results"][0]["partitions"][0]
    assert list(fields) == ["partition", "error_code", "error_message", "state_epoch", "start_offset"]
    with pytest.raises(UnsupportedVersion, match=r"no layout of 2\.7"):
        decode_message(87, 0, "response", early, layout="2.7")


@pytest.mark.parametrize(
    ("key", "version", "kind", "spelt", "current"),
    [
        (3, 9, "request", {"allowAutoTopicCreation": False}, {"allow_auto_topic_creation": False}),
        (3, 9, "request", {"Topics": [{"Name": "a"}]}, {"topics": [{"name": "a"}]}),
        (1, 4, "request", {"max_wait": 5}, {"max_wait_ms": 5}),
        (1, 4, "request", {"topics": [{"Name": "a", "FetchPartitions": []}]}, {"topics": [{"topic": "a"}]}),
        (24, 0, "request", {"transactionalId": "t"}, {"v3_and_below_transactional_id": "t"}),
        (
            24,
            4,
            "request",
            {"transactions": [{"transactional-id": "t"}]},
            {"transactions": [{"transactional_id": "t"}]},
        ),
        (88, 0, "response", {"acceptableRecoveryLag": 3}, {"acceptable_recovery_lag_legacy": 3}),
        (88, 1, "response", {"acceptableRecoveryLag": 3}, {"acceptable_recovery_lag": 3}),
    ],
)
def test_names_as_people_write_them(
    key: int, version: int, kind: Side, spelt: dict[str, Any], current: dict[str, Any]
) -> None:
    assert encode_message(key, version, kind, spelt) == encode_message(key, version, kind, current)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"nobody": 1}, "nobody"),
        ({"topics": [{"name": "a", "nobody": 1}]}, "topics[0].nobody"),
        ({"Topics": [{"Name": 5}]}, "topics[0].name"),
    ],
)
def test_encode_errors_say_where(value: dict[str, Any], path: str) -> None:
    with pytest.raises(EncodeError) as caught:
        encode_message(3, 9, "request", value)
    assert caught.value.path == path


def test_a_field_outside_its_version_is_named_with_its_versions() -> None:
    with pytest.raises(EncodeError, match=r"versions 8-10 have it"):
        encode_message(3, 3, "request", {"include_cluster_authorized_operations": True})


def test_the_oldest_header_has_no_client_id() -> None:
    assert encode_request(7, 0, {"broker_id": 1}, client_id="kw").hex() == "000700000000000000000001"


def test_public_names() -> None:
    assert sorted(decoders.__all__) == decoders.__all__
    for name in decoders.__all__:
        assert getattr(decoders, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nobody'"):
        decoders.nobody  # noqa: B018  # looking it up is the test


def test_truncated_frames_name_the_header() -> None:
    with pytest.raises(Truncated) as caught:
        decode_request(b"\0\3")
    assert (caught.value.offset, caught.value.path) == (0, "request_api_key")
