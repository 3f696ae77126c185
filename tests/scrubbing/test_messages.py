"""A planted text in any field of any version of any message and structure is gone, and all other bytes stay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from struct import pack
from typing import Any
from uuid import UUID

import pytest

from decoders import decode_embedded, encode_embedded
from decoders.apis import KEYS, api
from decoders.embedded import STRUCTURES, TOPICS, parse_structure_declaration
from decoders.exchanges.body_reader import ApiReader, Needs
from decoders.frames.read_and_judge_headers import find_response_body_offset, read_request_head
from decoders.protocol_facts.api_keys import ENVELOPE, FETCH, FIND_COORDINATOR, JOIN_GROUP
from decoders.schema.api_declaration import Side, resolve
from decoders.schema.decode_and_encode import decode
from decoders.scrubbing import scrub_frames
from decoders.scrubbing.pseudonyms import Pseudonyms
from decoders.scrubbing.replace_names import NameReplacer
from decoders.scrubbing.scrub_frames import Scrubber
from tests.exchanges.talks import framed, plan, request, response
from tests.records.making import batch, record
from tests.scrubbing.planting import MARK, Planter

# File of structures → the topic whose records hold them.
TOPIC_OF = {module: topic for topic, modules in TOPICS.items() for module in modules}
LONG = pytest.mark.long
SOFTWARE = {"client_software_name": "java", "client_software_version": "4.0"}
# The head of a Kerberos token.
GSSAPI = bytes.fromhex("60820100 06092a864886f712010202 0100")


def scrubber(*keep: str) -> Scrubber:
    return Scrubber(NameReplacer(Pseudonyms(b"key"), keep))


def nameless(_: object) -> None:
    """Name no topic id."""


def every_frame() -> Iterator[tuple[int, int, Side, bytes, Planter]]:
    for key in KEYS:
        versions = api(key).versions
        for version in range(versions.low, versions.high + 1):
            for side in ("request", "response"):
                planter = Planter()
                value = planter.value(plan(key, version, side), f"{api(key).name} {version} {side}")
                if side == "request":
                    frame = request(key, version, 7, planter.text("client id").decode(), value)
                else:
                    frame = response(key, version, 7, value)
                yield key, version, side, frame, planter


def scrubbed(key: int, version: int, side: Side, frame: bytes, by: Scrubber) -> bytes:
    if side == "request":
        return by.scrub_request(frame, key, version, nameless)
    return by.scrub_response(frame, key, version, nameless)


def body(key: int, version: int, side: Side, frame: bytes) -> Any:
    end = len(frame)
    at = (
        read_request_head(frame, 0, end).body
        if side == "request"
        else find_response_body_offset(frame, 0, end, key, version)
    )
    return decode(plan(key, version, side), frame, at)


def shape(value: Any) -> Any:
    """A value with its texts and bytes replaced by their lengths."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogateescape"))
    return len(value) if isinstance(value, bytes) else value


@pytest.mark.long
def test_no_field_of_any_message_keeps_its_text() -> None:
    count = 0
    for key, version, side, frame, planter in every_frame():
        made = scrubbed(key, version, side, frame, scrubber())
        found = [planter.where.get(mark, "?") for mark in MARK.findall(made)]
        assert found == [], (api(key).name, version, side)
        assert shape(body(key, version, side, made)) == shape(body(key, version, side, frame))
        count += len(planter.where)
    assert count > 2000


def test_a_message_that_breaks_off_is_overwritten_whole() -> None:
    """A message cut anywhere is overwritten to the same length, but for its head; an undecodable one stays so."""
    api_reader = ApiReader(JOIN_GROUP, 9, Needs())
    planter = Planter()
    sent = request(JOIN_GROUP, 9, 7, "app", planter.value(plan(JOIN_GROUP, 9, "request"), "")) + planter.text("behind")
    got = response(JOIN_GROUP, 9, 7, planter.value(plan(JOIN_GROUP, 9, "response"), "")) + planter.text("behind")
    frames: list[tuple[Side, bytes]] = [("request", sent), ("response", got)]
    for side, frame in frames:
        for end in range(4, len(frame)):
            cut = framed(frame[4:end])
            made = scrubbed(JOIN_GROUP, 9, side, cut, scrubber())
            assert len(made) == len(cut)
            assert MARK.search(made) is None
            before, after = api_reader.project_side(side, cut), api_reader.project_side(side, made)
            assert (before is None) is (after is None)
            begin = 12 + len(b"\0\x0eZq9x00000xHunter\0") if side == "request" else 9
            if before is None:
                assert set(made[begin:]) <= {0x80, 0xFF}


def test_what_the_capture_has_of_a_message_stays() -> None:
    """If the capture lacks the end of a message, the fields before it stay, unless they cannot be read."""
    value = {
        "throttle_time_ms": 250,
        "error_code": 0,
        "session_id": 7,
        "responses": [
            {"topic_id": UUID(int=2**100), "partitions": [{"partition_index": 3, "high_watermark": 5, "records": None}]}
        ],
    }
    frame = response(FETCH, 13, 7, value)
    by = scrubber()
    made = by.scrub_response(frame[:-12], FETCH, 13, nameless, whole=False)
    assert made[:20] == frame[:20]
    assert made[20:36] == by.names.replace_uuid(value["responses"][0]["topic_id"].bytes)  # type: ignore[index]
    assert made[36:41] == frame[36:41]
    assert by.counts["unread"] == 0
    broken = frame[:19] + b"\x80" * 6 + frame[25:-12]
    made = by.scrub_response(broken, FETCH, 13, nameless, whole=False)
    assert set(made[9:]) <= {0x80, 0xFF}
    assert by.counts["unread"] == 1


def test_a_uuid_is_the_same_everywhere() -> None:
    by = scrubber()
    topic = UUID(bytes=b"payroll-2026-q3!")
    frame = request(FETCH, 13, 7, "app", {"topics": [{"topic_id": topic, "partitions": []}]})
    made = body(FETCH, 13, "request", by.scrub_request(frame, FETCH, 13, nameless))["topics"][0]["topic_id"]
    held = by.scrub_record_structure("TopicRecord", encode_embedded("TopicRecord", 0, {"name": "a", "topic_id": topic}))
    assert held is not None
    assert decode_embedded("TopicRecord", held)["topic_id"] == made != topic
    assert by.names.uuids == {topic.bytes: made.bytes}


@pytest.mark.parametrize(
    ("numbers", "spelled"),
    [
        ({"max_wait_ms": 0x7A71776B, "min_bytes": 5}, ["max_wait_ms"]),
        ({"max_wait_ms": 0x0071776B, "min_bytes": 0x7A000000}, ["max_wait_ms", "min_bytes"]),
        ({"max_wait_ms": 0x0071776B, "min_bytes": 0x017A7776}, []),
        ({"max_wait_ms": 0x3330322D, "min_bytes": 0x31392D31}, ["max_wait_ms", "min_bytes"]),  # eight characters
        ({"max_wait_ms": 0x03C4CF8C - (1 << 24) * 3, "min_bytes": 5}, []),
        ({"max_wait_ms": 0xCF84CF8C - 2**32, "min_bytes": 0xCF80CEBF - 2**32}, ["max_wait_ms", "min_bytes"]),  # τόπο
    ],
)
def test_numbers_that_spell_text_become_none(numbers: dict[str, int], spelled: list[str]) -> None:
    by = scrubber()
    frame = request(FETCH, 4, 7, "app", {**numbers, "max_bytes": 1, "isolation_level": 0, "topics": []})
    made = body(FETCH, 4, "request", by.scrub_request(frame, FETCH, 4, nameless))
    assert [made[name] for name in numbers] == [-1 if name in spelled else value for name, value in numbers.items()]
    assert by.counts["numbers"] == len(spelled)


def test_a_message_whose_sizes_and_tags_spell_text_is_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """No known layout has four such letters in a row: here two are enough, a tag `a` of `b` bytes."""
    frame = framed(request(18, 3, 1, "app", SOFTWARE)[4:-1] + b"\1ab" + b"\0" * 98)
    by, api_reader = scrubber(), ApiReader(18, 3, Needs())
    assert api_reader.project_side("request", by.scrub_request(frame, 18, 3, nameless)) is not None
    monkeypatch.setattr(scrub_frames, "SPELLED", re.compile(b"[a-z]{2}"))
    made = by.scrub_request(frame, 18, 3, nameless)
    assert api_reader.project_side("request", made) is None
    assert set(made[18:]) == {0x80, 0xFF}
    assert by.counts["unread"] == 1


def test_what_follows_an_overwritten_message_is_told_as_before() -> None:
    """A Produce request keeps whether it wants a response, a step of a login its error; the rest cannot be read."""
    for version, transaction in ((2, b""), (3, b"\0\4zqwk"), (3, b"\xff\xff"), (9, b"\5zqwk"), (9, b"\0")):
        for acks in (0, 1):
            head = read_request_head(request(0, version, 7, "app", {"topic_data": []}), 0, 99).body
            start = request(0, version, 7, "app", {"topic_data": []})[4:head]
            frame = framed(start + transaction + pack(">h", acks) + b"\0\0\0\1" + b"\x7fzqwkvyjm")
            api_reader = ApiReader(0, version, Needs())
            assert api_reader.project_side("request", frame) is None
            made = scrubber().scrub_request(frame, 0, version, nameless)
            assert api_reader.has_acks_zero(made, head) is api_reader.has_acks_zero(frame, head) is (acks == 0)
            assert api_reader.project_side("request", made) is None
            assert b"zqwk" not in made
    for code in (0, 33):
        frame = framed(pack(">ihi", 7, code, 3) + b"\0\4zqwk")
        made = scrubber().scrub_response(frame, 17, 0, nameless)
        assert made[8:10] == frame[8:10]
        assert ApiReader(17, 0, Needs()).project_side("response", made) is None


def test_what_nobody_asked_has_its_header_alone() -> None:
    frame = response(FETCH, 12, 7, {"responses": [], "throttle_time_ms": 1, "error_code": 0, "session_id": 5})
    assert scrubber().scrub_response(frame, None, None, nameless) == frame[:8] + b"\xff" * (len(frame) - 8)


@pytest.mark.parametrize(
    ("side", "alone", "start", "correlation_id", "spelled"),
    [
        # Each spells text by itself.
        ("response", False, b"zqwk", b"\0\0\0\7", "start"),
        ("response", False, b"\0\0\0\7", b"zqwk", "id"),
        ("request", False, b"zqwk\0\1\0\4", b"\0\0\0\7", "start"),
        ("response", False, b"zqwk", b"vyjm", "start, id"),
        ("response", False, b"\0\0\0\7", b"\0\0\0\7", ""),
        # Both together do.
        ("response", False, b"\0\0zq", b"wk\0\0", ""),
        ("response", True, b"\0\0zq", b"wk\0\0", "id"),
        ("request", False, b"\0\0\0\7\0\1zq", b"wk\0\0", "id"),
    ],
)
def test_starts_and_correlation_ids_that_spell_text(
    side: Side, alone: bool, start: bytes, correlation_id: bytes, spelled: str
) -> None:
    """Those bytes become others, and what is behind them stays."""
    by, rest = scrubber(), b"\1\2\3\4\5"
    made = by.replace_spelling_numbers_at_start(start + correlation_id + rest, side, alone=alone)
    at = len(start)
    assert made[at + 4 :] == rest
    assert (made[:at] != start) is ("start" in spelled)
    assert (made[at : at + 4] != correlation_id) is ("id" in spelled)
    assert by.counts["numbers"] == bool(spelled)


def test_a_response_that_nobody_asked_spells_no_text_over_its_first_two_fields() -> None:
    """Inside an Envelope the size field is none of its bytes."""
    frame = b"\0\0zq" + b"wk\0\0" + b"secret"
    alone = scrubber().scrub_response(frame, None, None, nameless)
    assert alone[:4] + alone[8:] == frame[:4] + b"\xff" * 6
    assert alone[4:8] == scrubber().names.pseudonyms.harmless_correlation_id(b"wk\0\0", b"\0\0zq") != b"wk\0\0"
    assert scrubber().scrub_response(frame, None, None, nameless, depth=1) == frame[:8] + b"\xff" * 6


def test_unknown_apis_and_tags() -> None:
    planter = Planter()
    head = b"\x03\xe7\0\1\0\0\0\7\0\x10" + planter.text("client")
    made = scrubber().scrub_request(framed(head + planter.text("body")), 999, 1, nameless)
    assert MARK.search(made) is None
    value = {"_tagged_fields": {99: planter.text("tag")}}
    frame = request(18, 3, 1, "app", {"client_software_name": "kgo", "client_software_version": "1.2", **value})
    made = scrubber().scrub_request(frame, 18, 3, nameless)
    assert MARK.search(made) is None
    assert body(18, 3, "request", made)["client_software_name"] == "kgo"
    assert body(18, 3, "request", made)["client_software_version"] == "1.2"


# Structures.


def planted_structures() -> Iterator[tuple[str, int, bytes, Planter]]:
    for name in STRUCTURES:
        message = parse_structure_declaration(name)
        for version in range(message.versions.low, message.versions.high + 1):
            planter = Planter()
            value = planter.value(resolve(message, version), f"{name} {version}")
            if "version" in value:
                value["version"] = version
            yield name, version, encode_embedded(name, version, value), planter


def test_no_field_of_any_structure_keeps_its_text() -> None:
    count = 0
    for name, version, data, planter in planted_structures():
        made = scrubber().scrub_record_structure(name, data)
        assert made is not None, (name, version)
        assert [planter.where.get(mark, "?") for mark in MARK.findall(made)] == [], (name, version)
        assert shape(decode_embedded(name, made)) == shape(decode_embedded(name, data))
        count += len(planter.where)
    assert count > 250


@pytest.mark.long
@pytest.mark.parametrize(
    "codec", ["none", "lz4", *(pytest.param(each, marks=LONG) for each in ("gzip", "snappy", "zstd"))]
)
def test_structures_in_records_of_internal_topics(codec: str) -> None:
    """Names in structures are replaced, in compressed batches too; structures still decode, at the same length."""
    from decoders import decode_records
    from decoders.records.codecs import NUMBERS, deflate

    by = scrubber()
    for name, row in STRUCTURES.items():
        topic = TOPIC_OF.get(row.module)
        if topic is None or name.endswith("Value") or row.number is None or name == "QuotaRecord":
            continue  # QuotaRecord is in frames of version 0, where another structure has its number
        data = next(made for each, _, made, _ in planted_structures() if each == name)
        other = f"{name.removesuffix('Key')}Value"
        value = next((made for each, _, made, _ in planted_structures() if each == other), b"")
        one = record(key=data, value=value) if row.framing == "key" else record(value=data)
        payload = deflate(codec, one * 40)
        field = batch(attributes=NUMBERS[codec], payload=payload, count=40)
        made = by.scrub_records_field(field, topic)
        assert len(made) == len(field)
        (found,) = decode_records(made)
        assert found.error is None
        records = found.records or []
        assert len(records) == 40, (name, codec)
        for each in records:
            assert MARK.search(repr(each).encode()) is None
            if not by.counts["blanked"]:
                told = decode_embedded(name, (each.key if row.framing == "key" else each.value) or b"")
                assert MARK.search(repr(told).encode()) is None
                assert told["$type"] in (name, f"Legacy{name}")
        assert codec != "none" or not by.counts["blanked"]
        by.counts["blanked"] = 0
    assert by.counts["emptied"] == 0


def test_groups_of_streams_and_connect_in_join_group() -> None:
    info = encode_embedded("SubscriptionInfoData", 10, {"user_end_point": b"streams-host.internal:7070"})
    subscription = {"topics": ["orders"], "user_data": info, "owned_partitions": [], "generation_id": 1}
    consumer = encode_embedded("ConsumerProtocolSubscription", 3, subscription)
    connect = encode_embedded(
        "ConnectProtocolMetadata", 0, {"url": "http://connect-host.internal:8083/", "config_offset": 4}
    )
    protocols = [{"name": "stream", "metadata": consumer}, {"name": "default", "metadata": connect}]
    frame = request(JOIN_GROUP, 5, 7, "app", {
        "group_id": "billing", "session_timeout_ms": 1, "rebalance_timeout_ms": 1, "member_id": "app-1",
        "group_instance_id": None, "protocol_type": "consumer", "protocols": protocols,
    })  # fmt: skip
    by = scrubber()
    made = by.scrub_request(frame, JOIN_GROUP, 5, nameless)
    text = made.decode("latin-1")
    assert not any(word in text for word in ("orders", "billing", "streams-host", "internal", "connect-host"))
    first, second = (each["metadata"] for each in body(JOIN_GROUP, 5, "request", made)["protocols"])
    pseudonym = by.names.pseudonyms.text
    told = decode_embedded("ConsumerProtocolSubscription", first)
    assert told["topics"] == [pseudonym("orders")]
    point = decode_embedded("SubscriptionInfoData", told["user_data"])["user_end_point"]
    assert point.decode() == f"{pseudonym('streams-host.internal')}:7070"
    assert (
        decode_embedded("ConnectProtocolMetadata", second)["url"]
        == f"http://{pseudonym('connect-host.internal')}:8083/"
    )


def test_an_envelope_is_opened() -> None:
    planter = Planter()
    sent = request(JOIN_GROUP, 9, 5, "app", planter.value(plan(JOIN_GROUP, 9, "request"), "inner"))
    got = response(JOIN_GROUP, 9, 5, planter.value(plan(JOIN_GROUP, 9, "response"), "inner"))
    principal = encode_embedded(
        "DefaultPrincipalData", 0, {"type": "User", "name": "alice", "token_authenticated": False}
    )
    asked = {"request_data": sent[4:], "request_principal": principal, "client_host_address": bytes((10, 1, 2, 3))}
    by = scrubber()
    made = by.scrub_request(request(ENVELOPE, 0, 8, "app", asked), ENVELOPE, 0, nameless)
    assert MARK.search(made) is None
    outer = body(ENVELOPE, 0, "request", made)
    assert shape(body(JOIN_GROUP, 9, "request", framed(outer["request_data"]))) == shape(
        body(JOIN_GROUP, 9, "request", sent)
    )
    assert decode_embedded("DefaultPrincipalData", outer["request_principal"])["name"] == by.names.pseudonyms.text(
        "alice"
    )
    assert outer["client_host_address"] == by.names.pseudonyms.four(bytes((10, 1, 2, 3)))
    answer = response(ENVELOPE, 0, 8, {"response_data": got[4:], "error_code": 0})
    made = by.scrub_response(answer, ENVELOPE, 0, nameless, request=asked)
    assert MARK.search(made) is None
    inner = framed(body(ENVELOPE, 0, "response", made)["response_data"])
    assert shape(body(JOIN_GROUP, 9, "response", inner)) == shape(body(JOIN_GROUP, 9, "response", got))


@pytest.mark.parametrize(("envelopes", "is_opened"), [(1, True), (2, True), (3, False), (4, False)])
def test_envelopes_in_envelopes_are_opened_down_to_the_second(envelopes: int, is_opened: bool) -> None:
    """What is deeper is overwritten, at its size."""
    inner = sent = request(JOIN_GROUP, 0, 5, "app", {"group_id": "g", "protocols": []})
    for _ in range(envelopes):
        asked = {"request_data": sent[4:], "request_principal": None, "client_host_address": bytes(4)}
        sent = request(ENVELOPE, 0, 8, "app", asked)
    made = scrubber().scrub_request(sent, ENVELOPE, 0, nameless)
    for _ in range(min(envelopes, 3)):
        held = body(ENVELOPE, 0, "request", made)["request_data"]
        made = framed(held)
    if is_opened:
        assert shape(body(JOIN_GROUP, 0, "request", made)) == shape(body(JOIN_GROUP, 0, "request", inner))
    else:
        assert set(made[4:]) == {0xFF}
        if envelopes == 3:
            assert len(made) == len(inner)


def test_an_enclosed_frame_without_a_header_is_overwritten_at_its_size() -> None:
    asked = {"request_data": b"zqw", "request_principal": None, "client_host_address": bytes(4)}
    made = scrubber().scrub_request(request(ENVELOPE, 0, 8, "app", asked), ENVELOPE, 0, nameless)
    assert body(ENVELOPE, 0, "request", made)["request_data"] == b"\xff\xff\xff"


# Values that stay.


@pytest.mark.parametrize(
    ("keep", "stays"),
    [
        ((), set()),
        (("topics",), {"orders"}),
        (("groups",), {"billing"}),
        (("clients",), {"app-7"}),
        (("transactions",), {"tx-9"}),
        (("topics", "groups", "clients", "transactions"), {"orders", "billing", "app-7", "tx-9"}),
    ],
)
def test_kinds_that_are_kept(keep: tuple[str, ...], stays: set[str]) -> None:
    by = scrubber(*keep)
    frame = request(28, 3, 7, "app-7", {
        "transactional_id": "tx-9", "group_id": "billing", "producer_id": 1, "producer_epoch": 0,
        "generation_id_or_member_epoch": 1,
        "member_id": "app-7-6fe0e8a8-1b2c-4d3e-8f90-0123456789ab", "group_instance_id": None,
        "topics": [{"name": "orders", "partitions": [{
            "partition_index": 0, "committed_offset": 5, "committed_leader_epoch": -1, "committed_metadata": "secret",
        }]}],
    })  # fmt: skip
    made = by.scrub_request(frame, 28, 3, nameless)
    value = body(28, 3, "request", made)
    client = read_request_head(made, 0, len(made)).client_id
    assert client is not None
    found = {value["transactional_id"], value["group_id"], client.decode(), value["topics"][0]["name"]}
    assert found & {"orders", "billing", "app-7", "tx-9"} == stays
    assert value["member_id"].startswith(client.decode() + "-")
    assert value["member_id"] != "app-7-6fe0e8a8-1b2c-4d3e-8f90-0123456789ab"
    assert value["topics"][0]["partitions"][0]["committed_metadata"] == "xxxxxx"


@pytest.mark.parametrize(
    ("kind", "keep", "stays"), [(0, "groups", True), (1, "groups", False), (1, "transactions", True)]
)
def test_what_a_coordinator_is_asked_for_is_told_by_its_type(kind: int, keep: str, stays: bool) -> None:
    by = scrubber(keep)
    frame = request(FIND_COORDINATOR, 4, 7, "app", {"key_type": kind, "coordinator_keys": ["billing"]})
    made = by.scrub_request(frame, FIND_COORDINATOR, 4, nameless)
    assert (body(FIND_COORDINATOR, 4, "request", made)["coordinator_keys"] == ["billing"]) is stays
    answer = response(FIND_COORDINATOR, 4, 7, {"throttle_time_ms": 0, "coordinators": [{
        "key": "billing", "node_id": 1, "host": "kafka-1", "port": 9092, "error_code": 0, "error_message": None,
    }]})  # fmt: skip
    made = by.scrub_response(answer, FIND_COORDINATOR, 4, nameless, request=body(FIND_COORDINATOR, 4, "request", frame))
    assert (body(FIND_COORDINATOR, 4, "response", made)["coordinators"][0]["key"] == "billing") is stays


def test_words_of_kafka_stay_and_others_do_not() -> None:
    frame = request(JOIN_GROUP, 5, 7, "app", {
        "group_id": "g", "session_timeout_ms": 1, "rebalance_timeout_ms": 1, "member_id": "",
        "group_instance_id": None, "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}, {"name": "our-own-assignor", "metadata": b""}],
    })  # fmt: skip
    made = body(JOIN_GROUP, 5, "request", scrubber().scrub_request(frame, JOIN_GROUP, 5, nameless))
    first, second = (each["name"] for each in made["protocols"])
    assert (made["protocol_type"], first) == ("consumer", "range")
    assert second not in ("our-own-assignor", "x" * 16)


# Logins.


@pytest.mark.parametrize(
    ("token", "kept"),
    [
        (b"\0alice\0Secret-Secret", rb"\0[a-z]{5}\0x{13}"),
        (b"bob\0alice\0Secret-Secret", rb"[a-z]{3}\0[a-z]{5}\0x{13}"),
        (b"n,,n=alice,r=Secret-Secret", rb"n,,n=[a-z]{5},r=x{13}"),
        (b"n,a=bob,n=alice,r=Secret-Secret,tokenauth=true", rb"n,a=[a-z]{3},n=[a-z]{5},r=x{13},tokenauth=true"),
        (b"r=Secret-Secret,s=U2VjcmV0LVNlY3JldA==,i=4096", rb"r=x{13},s=x{18}==,i=4096"),
        (b"c=biws,r=Secret-Secret,p=U2VjcmV0", rb"c=biws,r=x{13},p=x{8}"),
        (b"v=U2VjcmV0LVNlY3JldC1TZWNyZXQ=", rb"v=x{27}="),
        (b"e=invalid-proof", rb"e=invalid-proof"),
        (b"n,a=alice,\1auth=Bearer Secret.Sec\1\1", rb"n,a=[a-z]{5},\x01auth=Bearer x{6}\.x{3}\x01\x01"),
        (GSSAPI + b"Secret", re.escape(GSSAPI) + b"x{6}"),
        (b"\5\4\1\xff\0\x0c\0\0\0\0\0\0\1\2\3\4alice Secret", rb"\x05\x04\x01\xff\0\x0c\0{6}\x01\x02\x03\x04x{12}"),
        (GSSAPI[:4] + b"\x06\x20" + b"alice Secret" * 3, rb"x{42}"),
        (b"`A\x06\x20alice Secret alice Secret", rb"x{29}"),
        (b"\5\4alice Secret alice", rb"x{20}"),
        (b"\5\4\1\xff\0\x0c\0\0aliceSecalice Secret", rb"\x05\x04\x01\xff[\0\x0cx]+"),
        (b'{"Secret":"Secret"}', rb"x{19}"),
        (b"n=alice,r=Secret-Secret", rb"n=[a-z]{5},r=x{13}"),
        (b"p=tls-exporter,,n=alice,r=Secret", rb"p=tls-exporter,,n=[a-z]{5},r=x{6}"),
        (b"p=alice,,n=alice,r=Secret", rb"p=x{5},,n=x{5},r=x{6}|x{25}"),
        (b"e=alice", rb"e=x{5}"),
        (b"n,,\1alice=Secret\1auth=Bearer Secret\1\1", rb"n,,\x01x{5}=x{6}\x01auth=Bearer x{6}\x01\x01"),
        (b"", rb""),
    ],
)  # fmt: skip
def test_tokens_keep_their_shape(token: bytes, kept: bytes) -> None:
    made = scrubber().scrub_token_frame(framed(token))
    assert len(made) == len(token) + 4
    assert re.fullmatch(kept, made[4:], re.DOTALL), made
    assert json.dumps(made.decode("latin-1")).find("alice") < 0
