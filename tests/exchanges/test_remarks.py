"""Remarks on what was read of an exchange: null, trailing bytes, odd varints and tags, answers of another version."""

from __future__ import annotations

from random import Random
from typing import Final

import google_crc32c
import lz4.frame  # type: ignore[import-untyped]  # lz4 ships no types
import pytest

from decoders import EncodeError, decode_message, encode_embedded, encode_message
from decoders.apis import KEYS, api
from decoders.errors import DecodeError
from decoders.exchanges.body_reader import replace_reading_remarks
from decoders.exchanges.exchange import Exchange
from decoders.limits import REMARKS_MAX
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_from_json import FromRecords
from decoders.messages.exchange_json import to_json_dict
from decoders.protocol_facts.exchange_remarks import REMARKS
from decoders.records.codecs.lz4 import inflate
from decoders.records.encode_batches import records_from_json
from decoders.schema.api_declaration import Side, resolve
from decoders.schema.plan_walker import encode_by_walking
from tests.exchanges.talks import framed, request, response, run, segments
from tests.exchanges.test_captures import VALIDATOR
from tests.schema.values import allow_null, forbidden_places, random_value

PRODUCE, FETCH, METADATA, SASL_AUTHENTICATE = 0, 1, 3, 36


def exchange_of(key: int, version: int, asked: bytes, answered: bytes) -> Exchange:
    """The exchange of two bodies, behind another one that makes the connection Kafka."""
    first = [(True, request(METADATA, 1, 1, "a", {"topics": None})), (False, response(METADATA, 1, 1, {}))]
    head, tail = request(key, version, 2, "a", {}), response(key, version, 2, {})
    asks = head[4 : len(head) - len(encode_message(key, version, "request", {}))] + asked
    answers = tail[4 : len(tail) - len(encode_message(key, version, "response", {}))] + answered
    found = run(segments([*first, (True, framed(asks)), (False, framed(answers))], Random(1)), ports=[9092])
    exchanges = [each for each in found if isinstance(each, Exchange)]
    return exchanges[1]


def remarks_of(exchange: Exchange) -> list[tuple[str, str, str]]:
    """Side, id and path of each remark, the same by all ways to read the exchange."""
    record = to_json_dict(exchange)
    VALIDATOR.validate(record)
    exchange._looked = False
    assert record.get("remarks", []) == exchange.remarks
    assert record["status"] == exchange.status
    again = FromRecords().read(record)
    assert isinstance(again, Exchange)
    assert again.remarks == exchange.remarks
    assert again.view("response") is None or isinstance(again.view("response"), dict)
    return [(each["side"], each["id"], each["path"]) for each in exchange.remarks]


@pytest.mark.parametrize("side", ["request", "response"])
@pytest.mark.parametrize("key", [key for key in KEYS if key not in (7, 36, 58)])
def test_null_where_it_is_not_allowed_is_null(key: int, side: Side) -> None:
    rng = Random(f"{key} {side}")
    for version in api(key).versions:
        plan = resolve(api(key).message(side), version)
        value = random_value(plan, rng, strange=False, values=40)
        if "acks" in value:
            value["acks"] = -1
        places = list(forbidden_places(plan, value))
        if not places:
            continue
        struct, name, path = rng.choice(places)
        struct[name] = None
        body = encode_by_walking(allow_null(plan), value)
        if decode_fails_beyond_null(key, version, side, body):
            continue  # a default of a tagged field, or bytes that another version reads
        asked = {"acks": -1} if key == PRODUCE else {}
        bodies = {"request": encode_message(key, version, "request", asked), "response": b""}
        bodies["response"] = encode_message(key, version, "response", {})
        bodies[side] = body
        found = exchange_of(key, version, bodies["request"], bodies["response"])
        assert remarks_of(found) == [(side, "null", path)], (version, path)
        assert found.status == "complete"
        assert decode_message(key, version, side, body, strict=False) == value
        with pytest.raises(DecodeError, match="null where null is not allowed"):
            decode_message(key, version, side, body)
        with pytest.raises(EncodeError, match="null"):
            encode_message(key, version, side, value)


def decode_fails_beyond_null(key: int, version: int, side: Side, body: bytes) -> bool:
    """Whether a body holds no null that is forbidden."""
    try:
        decode_message(key, version, side, body)
    except DecodeError as failure:
        return "null is not allowed" not in failure.text
    return True


def test_a_login_refused_behind_null_has_its_error() -> None:
    answer = bytes.fromhex("003a 000f 496e76616c6964207365637265742e ffffffff")
    found = exchange_of(SASL_AUTHENTICATE, 0, encode_message(36, 0, "request", {"auth_bytes": b"x"}), answer)
    assert remarks_of(found) == [("response", "null", "auth_bytes")]
    assert [(error.path, error.code) for error in found.errors] == [("error_code", 58)]
    assert found.response == {"error_code": 58, "error_message": "Invalid secret.", "auth_bytes": None}


FETCHED: Final = {"responses": [{"topic": "a", "partitions": [{"partition_index": 7, "records": None}]}]}
# Api, version, request body, response body → remarks. Fields stand apart.
ROWS: Final[dict[str, tuple[int, int, str, str, list[tuple[str, str, str]]]]] = {
    "a size of two bytes, 1": (18, 3, "82 00 61 02 62 00", "", [("request", "varint", "client_software_name")]),
    "a size of five bytes": (
        *(18, 3, "82 80 80 80 00 61 02 62 00", ""),
        [("request", "varint", "client_software_name")],
    ),
    "a tag count of two bytes": (18, 3, "02 61 02 62 80 00", "", [("request", "varint", "_tagged_fields")]),
    "tags out of order": (
        *(18, 3, "02 61 02 62 02 09 01 78 07 00", ""),
        [("request", "tag_order", "_tagged_fields.7")],
    ),
    "a tag twice": (18, 3, "02 61 02 62 02 07 01 78 07 00", "", [("request", "tag_twice", "_tagged_fields.7")]),
    "a tag number of two bytes": (
        *(18, 3, "02 61 02 62 01 87 00 00", ""),
        [("request", "varint", "_tagged_fields.7")],
    ),
    "bytes behind both": (
        *(12, 0, "0001 67 00000001 0001 6d ff", "0000 beef"),
        [("request", "trailing", ""), ("response", "trailing", "")],
    ),
    "nothing odd": (12, 0, "0001 67 00000001 0001 6d", "0000", []),
}


@pytest.mark.parametrize("name", ROWS)
def test_remarks(name: str) -> None:
    key, version, asked, answered, expected = ROWS[name]
    answer = bytes.fromhex(answered) if answered else encode_message(key, version, "response", {})
    found = exchange_of(key, version, bytes.fromhex(asked), answer)
    assert remarks_of(found) == expected
    assert found.status == "complete"
    assert all(remark["id"] in REMARKS and remark["offset"] >= 0 for remark in found.remarks)
    body = bytes.fromhex(asked)
    if all(remark["id"] != "trailing" for remark in found.remarks):
        assert decode_message(key, version, "request", body) == found.request


def test_an_answer_in_the_layout_of_another_version_is_read() -> None:
    answer = encode_message(FETCH, 0, "response", FETCHED)
    found = exchange_of(FETCH, 1, encode_message(FETCH, 1, "request", {}), answer)
    assert remarks_of(found) == [("response", "other_version", "")]
    assert found.remarks[0]["text"] == ("cannot be read in version 1, but in the layout of version 0 to its last byte")
    assert (found.api_version, found.status) == (1, "complete")
    assert found.response == decode_message(FETCH, 0, "response", answer)


def test_a_record_of_an_answer_in_another_layout_has_its_fields() -> None:
    answer = encode_message(FETCH, 0, "response", FETCHED)
    record = to_json_dict(exchange_of(FETCH, 1, encode_message(FETCH, 1, "request", {}), answer), Options())
    again = FromRecords().read(record)
    assert isinstance(again, Exchange)
    assert again.view("response")["responses"] == record["response"]["responses"]
    unknown = FromRecords().read({**record, "response": {"of_a_newer_kw": 1}})
    assert isinstance(unknown, Exchange)
    assert unknown.view("response") == {}


@pytest.mark.parametrize("key", [key for key in KEYS if key not in (7, 17, 18, 36, 58)])
def test_an_answer_of_any_other_version_ends_nothing(key: int) -> None:
    rng = Random(key)
    versions = list(api(key).versions)
    for asked in versions:
        other = rng.choice(versions)
        value = random_value(resolve(api(key).response, other), rng, strange=False, values=30)
        answer = encode_message(key, other, "response", value)
        found = exchange_of(
            key, asked, encode_message(key, asked, "request", {"acks": -1} if key == PRODUCE else {}), answer
        )
        said = [identity for _, identity, _ in remarks_of(found)]
        if "other_version" in said:
            assert found.response == value or other != asked
        elif found.status == "undecoded":
            assert other != asked


def test_many_remarks_are_cut() -> None:
    body = b"\0\0\1\0" + b"\xff\xff" * 256  # Metadata 0: 256 names of topics
    found = exchange_of(METADATA, 0, body, encode_message(METADATA, 0, "response", {}))
    assert len(found.remarks) == REMARKS_MAX
    assert found.remarks[-1]["text"].endswith(f"(and {256 - REMARKS_MAX} more remarks)")


def test_remarks_on_pairing_stay_when_sides_are_read_again() -> None:
    found = exchange_of(12, 0, bytes.fromhex("0001 67 00000001 0001 6d ff"), b"\0\0")
    found._add_remark("out_of_order", "it came first", "response", path="correlation_id")
    for _ in range(2):
        found._looked = False
        assert [remark["id"] for remark in found.remarks] == ["out_of_order", "trailing"]
    replace_reading_remarks(found, [])
    assert found.extra == {"remarks": found.remarks}


ASSIGNED: Final = {"assigned_partitions": [{"topic": "orders", "partitions": [0]}]}


@pytest.mark.parametrize(
    ("cut", "behind", "protocol", "expected"),
    [
        (2, b"", "consumer", "it becomes one with the two bytes of the version before it"),
        (2, b"", None, "it becomes one with the two bytes of the version before it"),
        (0, b"", "consumer", ""),
        (0, b"abc", "consumer", "ConsumerProtocolAssignment with 3 bytes behind it"),
        (0, b"abc", "connect", ""),
        (6, b"own", "own", ""),
    ],
)
def test_structures_in_bytes(cut: int, behind: bytes, protocol: str | None, expected: str) -> None:
    data = encode_embedded("ConsumerProtocolAssignment", 0, ASSIGNED)[cut:] + behind
    version = 4 if protocol is None else 5
    body = {"group_id": "g", "assignments": [{"member_id": "m", "assignment": data}]}
    asked = encode_message(14, version, "request", body if protocol is None else {**body, "protocol_type": protocol})
    found = exchange_of(14, version, asked, encode_message(14, version, "response", {}))
    said = [("request", "embedded", "assignments[0].assignment")] if expected else []
    assert remarks_of(found) == said
    assert all(remark["text"].endswith(expected) for remark in found.remarks)
    assert found.request["assignments"][0]["assignment"] == data


def batch_of_lz4(*, linked: bool, checksum: bytes | None) -> bytes:
    """A batch of magic 2 whose LZ4 frame has linked blocks, or this content checksum."""
    plain = records_from_json([{"codec": "none", "records": [{"value": "x" * 200_000}]}], "")
    packed: bytes = lz4.frame.compress(
        plain[61:], block_size=4, block_linked=linked, store_size=False, content_checksum=checksum is not None
    )
    data = packed if checksum is None else packed[:-4] + checksum
    body = (int.from_bytes(plain[21:23], "big") | 3).to_bytes(2, "big") + plain[23:61] + data
    crc = google_crc32c.value(body).to_bytes(4, "big")
    made: bytes = plain[:8] + (len(body) + 9).to_bytes(4, "big") + plain[12:17] + crc + body
    return made


@pytest.mark.parametrize(
    ("linked", "checksum", "expected"),
    [(True, None, ["lz4_linked"]), (False, None, []), (False, bytes(4), ["lz4_checksum"])],
)
def test_lz4_frames(linked: bool, checksum: bytes | None, expected: list[str]) -> None:
    batch = batch_of_lz4(linked=linked, checksum=checksum)
    produced = {"acks": -1, "topic_data": [{"name": "t", "partition_data": [{"index": 0, "records": batch}]}]}
    refused = {"responses": [{"name": "t", "partition_responses": [{"index": 0, "error_code": -1}]}]}
    found = exchange_of(
        PRODUCE, 7, encode_message(PRODUCE, 7, "request", produced), encode_message(PRODUCE, 7, "response", refused)
    )
    record = to_json_dict(found, Options(records=True))
    assert [remark["id"] for remark in record.get("remarks", ())] == expected
    (shown,) = record["request"]["topic_data"][0]["partition_data"][0]["records"]
    assert (shown["crc"], shown.get("error"), len(shown["records"])) == ("ok", None, 1)
    found.extra = None
    assert [remark["id"] for remark in found.remarks] == [each for each in expected if each == "lz4_linked"]


def test_lz4_frame_with_a_wrong_header_checksum_is_refused() -> None:
    frame = bytearray(lz4.frame.compress(b"x" * 100, store_size=False))
    frame[6] ^= 1
    with pytest.raises(DecodeError, match="headerChecksum"):
        inflate(memoryview(bytes(frame)), 1000, 2)
