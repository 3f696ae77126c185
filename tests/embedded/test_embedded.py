"""Structures inside bytes fields: rows in hex, and only exact bytes are shown as a structure."""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

import pytest

from decoders import DecodeError, EncodeError, UnknownApi, UnsupportedVersion, decode_embedded, encode_embedded
from decoders.embedded import (
    STRUCTURES,
    embedded_structure_json,
    encode_embedded_from_json,
    parse_structure_declaration,
    structures_of_record,
)
from decoders.embedded.structure_holders import HOOKS
from decoders.schema.api_declaration import resolve
from tests.schema.values import random_value

# (name, version, bytes, fields)
ROWS: list[tuple[str, int, str, dict[str, Any]]] = [
    (
        "ConsumerProtocolSubscription",
        0,
        "0000  00000001 0001 61  ffffffff",
        {"topics": ["a"], "user_data": None},
    ),
    (
        "ConsumerProtocolSubscription",
        3,
        "0003  00000001 0001 61  00000001 ff  00000001 0001 61 00000001 00000002  00000005  0001 72",
        {
            "topics": ["a"],
            "user_data": b"\xff",
            "owned_partitions": [{"topic": "a", "partitions": [2]}],
            "generation_id": 5,
            "rack_id": "r",
        },
    ),
    (
        "ConsumerProtocolAssignment",
        1,
        "0001  00000001 0001 61 00000002 00000000 00000001  00000000",
        {"assigned_partitions": [{"topic": "a", "partitions": [0, 1]}], "user_data": b""},
    ),
    ("ControlRecordTypeSchema", 0, "0000 0001", {"type": 1}),
    ("OffsetCommitKey", 0, "0001 0001 67 0001 74 00000002", {"group": "g", "topic": "t", "partition": 2}),
    (
        "OffsetCommitValue",
        1,
        "0001 0000000000000009 0001 6d 0000000000000007 0000000000000008",
        {"offset": 9, "metadata": "m", "commit_timestamp": 7, "expire_timestamp": 8},
    ),
    ("TopicRecord", 0, "01 02 00 02 61 00000000000000000000000000000003 00", {"name": "a", "topic_id": UUID(int=3)}),
    (
        "RemotePartitionDeleteMetadataRecord",
        0,
        "01 02 00 02 61 00000000000000000000000000000003 00000004 00 00000006 0000000000000005 01 00",
        {
            "topic_id_partition": {"name": "a", "id": UUID(int=3), "partition": 4},
            "broker_id": 6,
            "event_timestamp_ms": 5,
            "remote_partition_delete_state": 1,
        },
    ),
    (
        "ConnectProtocolMetadata",
        1,
        "0001 0001 75 0000000000000002 ffffffff",
        {"url": "u", "config_offset": 2, "allocation": None},
    ),
    ("EndTxnMarker", 0, "0000 00000007", {"coordinator_epoch": 7}),
    ("TransactionLogKey", 0, "0000 0002 7478", {"transactional_id": "tx"}),
    ("StreamsGroupMetadataKey", 0, "0011 0001 67", {"group_id": "g"}),
    ("ShareGroupMetadataKey", 0, "000b 0001 67", {"group_id": "g"}),
    (
        "ShareSnapshotKey",
        0,
        "0000 0001 67 00000000000000000000000000000003 00000002",
        {"group_id": "g", "topic_id": UUID(int=3), "partition": 2},
    ),
    (
        "DefaultPrincipalData",
        0,
        "0000 05 55736572 06 616c696365 01 00",
        {"type": "User", "name": "alice", "token_authenticated": True},
    ),
    ("CooperativeStickyAssignorUserData", 0, "00000007", {"generation": 7}),
    (
        "SubscriptionInfoData",
        3,
        "00000003 0000000b 00000000000000000000000000000005  00000001 00000000 00000002  00000000  00000003 683a31",
        {
            "version": 3,
            "latest_supported_version": 11,
            "process_id": UUID(int=5),
            "prev_tasks": [{"topic_group_id": 0, "partition": 2}],
            "standby_tasks": [],
            "user_end_point": b"h:1",
        },
    ),
    (
        "AssignmentInfo",
        10,
        "0000000a 0000000b  00000001 00000000 00000001 00000000  00000000  00000001 00000000 0001 74"
        "00000001 0001 68 00000050 00000001 00000000 00000001  00000000  00000000  7fffffffffffffff",
        {
            "version": 10,
            "commonly_supported_version": 11,
            "active_tasks": [{"subtopology": 0, "partition": 1, "named_topology": []}],
            "standby_tasks": [],
            "topics": [{"index": 0, "name": "t"}],
            "partitions_by_host": [{"host": "h", "port": 80, "partitions": [{"topic_index": 0, "partition": 1}]}],
            "standby_partitions_by_host": [],
            "err_code": 0,
            "next_rebalance_ms": (1 << 63) - 1,
        },
    ),
    (
        "LeaderChangeMessage",
        0,
        "0000  00000001  02 00000001 00  01 00",
        {"version": 0, "leader_id": 1, "voters": [{"voter_id": 1}], "granting_voters": []},
    ),
    (
        "LeaderChangeMessage",
        1,
        "0001  00000001  02 00000001 00000000000000000000000000000003 00  01 00",
        {
            "version": 1,
            "leader_id": 1,
            "voters": [{"voter_id": 1, "voter_directory_id": UUID(int=3)}],
            "granting_voters": [],
        },
    ),
    ("SnapshotHeaderRecord", 0, "0000 0000000000000009 00", {"version": 0, "last_contained_log_timestamp": 9}),
    ("SnapshotFooterRecord", 0, "0000 00", {"version": 0}),
    ("KRaftVersionRecord", 0, "0000 0001 00", {"version": 0, "kraft_version": 1}),
    (
        "VotersRecord",
        0,
        "0000  02 00000001 00000000000000000000000000000003  02 02 63 02 68 2384 00  0000 0001 00 00  00",
        {
            "version": 0,
            "voters": [
                {
                    "voter_id": 1,
                    "voter_directory_id": UUID(int=3),
                    "endpoints": [{"name": "c", "host": "h", "port": 9092}],
                    "kraft_version_feature": {"min_supported_version": 0, "max_supported_version": 1},
                }
            ],
        },
    ),
]


@pytest.mark.parametrize(("name", "version", "text", "fields"), ROWS)
def test_rows(name: str, version: int, text: str, fields: dict[str, Any]) -> None:
    data = bytes.fromhex(text)
    found = decode_embedded(name, data)
    assert found == {"$type": name, "$version": version, **fields}
    assert list(found)[:2] == ["$type", "$version"]
    assert decode_embedded(name.lower(), data) == found
    assert encode_embedded(name, version, found) == encode_embedded(name, version, fields) == data
    shown = embedded_structure_json(name, data)
    assert shown is not None
    assert (shown["$type"], shown["$version"], list(shown)) == (name, version, list(found))
    for size in range(len(data)):
        with pytest.raises(DecodeError):
            decode_embedded(name, data[:size])
        assert embedded_structure_json(name, data[:size]) is None
    more = decode_embedded(name, data + b"\0")
    assert more == {**found, "_trailing": b"\0"}
    assert encode_embedded(name, version, more) == data + b"\0"
    assert embedded_structure_json(name, data + b"\0") is None
    behind = embedded_structure_json(name, data + b"\0", allow_trailing=True)
    assert behind == {**shown, "_trailing": {"base64": "AA=="}}
    assert encode_embedded_from_json(behind, "") == data + b"\0"


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", STRUCTURES)
def test_random_values_come_back(name: str) -> None:
    rng = Random(name)
    versions = parse_structure_declaration(name).versions
    for version in range(versions.low, versions.high + 1):
        for _ in range(20):
            value = random_value(resolve(parse_structure_declaration(name), version), rng, values=60)
            if "version" in value:
                value["version"] = version
            data = encode_embedded(name, version, value)
            assert decode_embedded(name, data) == {"$type": name, "$version": version, **value}
            assert embedded_structure_json(name, data) is not None


SUBSCRIPTION = "ConsumerProtocolSubscription"


@pytest.mark.parametrize("member", [None, {"session_timeout_ms": 9, "supported_protocols": [{"name": "range"}] * 2}])
def test_structures_are_shown_wherever_they_are(member: dict[str, Any] | None) -> None:
    """In arrays of structs that are null, or absent, in some records."""
    held = encode_embedded(SUBSCRIPTION, 0, {"topics": ["a"]})
    for each in (member or {}).get("supported_protocols", ()):
        each["metadata"] = held
    data = encode_embedded("ConsumerGroupMemberMetadataValue", 0, {"classic_member_metadata": member})
    shown = embedded_structure_json("ConsumerGroupMemberMetadataValue", data)
    assert shown is not None
    found = shown["classic_member_metadata"]
    names = None if found is None else [each["metadata"]["$type"] for each in found["supported_protocols"]]
    assert names == (None if member is None else [SUBSCRIPTION] * 2)
    assert encode_embedded_from_json(shown, "") == data


def test_versions_that_the_bytes_do_not_say() -> None:
    old = bytes.fromhex("00000001 0001 74 00000001 00000002")
    fields = {"previous_assignment": [{"topic": "t", "partitions": [2]}]}
    for version, data, more in ((0, old, {}), (1, old + bytes.fromhex("00000007"), {"generation": 7})):
        found = decode_embedded("StickyAssignorUserData", data)
        assert found == {"$type": "StickyAssignorUserData", "$version": version, **fields, **more}
        assert encode_embedded("StickyAssignorUserData", version, found) == data
    for size in range(len(old)):
        with pytest.raises(DecodeError):
            decode_embedded("StickyAssignorUserData", old[:size])


STICKY = "00000001 0001 74 00000001 00000002 00000007"


@pytest.mark.parametrize(
    ("user_data", "name"),
    [
        (STICKY, "StickyAssignorUserData"),
        ("00000007", "CooperativeStickyAssignorUserData"),
        ("ffffffff", "CooperativeStickyAssignorUserData"),
        ("00000001 00000000000000000000000000000005 00000000 00000000", "SubscriptionInfoData"),
        ("61626364", None),
        (STICKY + "00", None),
    ],
)
def test_user_data_of_assignors(user_data: str, name: str | None) -> None:
    held = bytes.fromhex(user_data)
    data = encode_embedded("ConsumerProtocolSubscription", 1, {"topics": ["a"], "user_data": held})
    shown = embedded_structure_json("ConsumerProtocolSubscription", data)
    assert shown is not None
    inner = shown["user_data"]
    assert (inner.get("$type") if isinstance(inner, dict) else None) == name
    assert encode_embedded_from_json(shown, "") == data
    group = encode_embedded("GroupMetadataValue", 3, {"members": [{"subscription": data, "assignment": b"x"}]})
    member = (embedded_structure_json("GroupMetadataValue", group) or {})["members"][0]
    assert (member["subscription"], member["assignment"]) == (shown, "x")


def test_workers_of_connect_say_what_they_have() -> None:
    held = encode_embedded("ConnectProtocolAssignment", 1, {"leader": "w", "assignment": [], "revoked": None})
    data = encode_embedded("ConnectProtocolMetadata", 1, {"url": "u", "allocation": held})
    shown = embedded_structure_json("ConnectProtocolMetadata", data)
    assert shown is not None
    assert shown["allocation"]["leader"] == "w"
    assert encode_embedded_from_json(shown, "") == data


def test_types_of_keys_and_frames() -> None:
    legacy = bytes.fromhex("0000 0001 67 0001 74 00000002")
    found = decode_embedded("OffsetCommitKey", legacy)
    assert found == {"$type": "LegacyOffsetCommitKey", "$version": 0, "group": "g", "topic": "t", "partition": 2}
    assert encode_embedded("LegacyOffsetCommitKey", 0, found) == legacy
    key = bytes.fromhex("0003 0001 67")
    assert encode_embedded("ConsumerGroupMetadataKey", 3, {"group_id": "g"}) == key  # as before 4.1
    with pytest.raises(UnsupportedVersion, match="a key of type 2, not 3"):
        decode_embedded("GroupMetadataKey", key)
    with pytest.raises(UnsupportedVersion, match="a record of type 2, not 3"):
        decode_embedded("TopicRecord", bytes.fromhex("01 03 00 00"))
    old = bytes.fromhex("00 02 00 02 61 00000000000000000000000000000003 00")
    found = decode_embedded("TopicRecord", old)
    assert found == {"$type": "TopicRecord", "$version": 0, "$frame": 0, "name": "a", "topic_id": UUID(int=3)}
    assert encode_embedded("TopicRecord", 0, found) == old
    with pytest.raises(EncodeError, match="a number is expected"):
        encode_embedded("TopicRecord", 0, {**found, "$frame": -1})
    assert (
        embedded_structure_json("TopicRecord", bytes.fromhex("8100 02 00 02 61") + old[5:]) is None
    )  # a longer varint


@pytest.mark.parametrize(
    ("topic", "key", "value", "names"),
    [
        ("__consumer_offsets", "0001 00", "0004", ("OffsetCommitKey", "OffsetCommitValue")),
        ("__consumer_offsets", "0000 00", None, ("LegacyOffsetCommitKey", "LegacyOffsetCommitValue")),
        ("__consumer_offsets", "0017", "0000", ("StreamsGroupTopologyKey", "StreamsGroupTopologyValue")),
        ("__consumer_offsets", "0063", "0000", (None, None)),
        ("__consumer_offsets", "00", None, (None, None)),
        ("__transaction_state", "0000 0001 74", "0001", ("TransactionLogKey", "TransactionLogValue")),
        ("__share_group_state", "0001", "0000", ("ShareUpdateKey", "ShareUpdateValue")),
        ("__cluster_metadata", None, "01 0e 00", (None, "ClientQuotaRecord")),
        ("__cluster_metadata", None, "00 0e 00", (None, "QuotaRecord")),
        ("__cluster_metadata", None, "01 7f 00", (None, None)),
        ("__remote_log_metadata", "6b", "01 02 00", (None, "RemotePartitionDeleteMetadataRecord")),
        ("orders", "0001", "0000", (None, None)),
    ],
)
def test_records_of_internal_topics(
    topic: str, key: str | None, value: str | None, names: tuple[str | None, str | None]
) -> None:
    given = (None if each is None else bytes.fromhex(each) for each in (key, value))
    assert structures_of_record(topic, *given) == names


def test_secrets_inside_are_redacted() -> None:
    scram = encode_embedded("UserScramCredentialRecord", 0, {"name": "u", "salt": b"S" * 9, "stored_key": b"K" * 8})
    shown = embedded_structure_json("UserScramCredentialRecord", scram)
    assert shown is not None
    assert (shown["salt"], shown["stored_key"]) == ({"redacted": 9}, {"redacted": 8})
    for name, value in (("ssl.keystore.password", {"redacted": 3}), ("retention.ms", "abc")):
        config = embedded_structure_json(
            "ConfigRecord", encode_embedded("ConfigRecord", 0, {"name": name, "value": "abc"})
        )
        assert config is not None
        assert config["value"] == value


@pytest.mark.parametrize("text", ["", "00", "7b22", "0004 00000000 ffffffff", "ffff 00000000 ffffffff"])
def test_what_is_no_subscription(text: str) -> None:
    data = bytes.fromhex(text)
    with pytest.raises(DecodeError):
        decode_embedded("ConsumerProtocolSubscription", data)
    assert embedded_structure_json("ConsumerProtocolSubscription", data) is None


def test_bytes_that_mean_the_same_but_are_not_the_same_stay_bytes() -> None:
    data = bytes.fromhex("0000 0000000000000009 01 07 00")  # an unknown tag is kept
    assert embedded_structure_json("SnapshotHeaderRecord", data) is not None
    data = bytes.fromhex("0000 0000000000000009 8000")  # a tag count of 0 in two bytes
    assert decode_embedded("SnapshotHeaderRecord", data)["last_contained_log_timestamp"] == 9
    assert embedded_structure_json("SnapshotHeaderRecord", data) is None


def test_unknown_names_and_versions() -> None:
    with pytest.raises(UnknownApi):
        decode_embedded("Nobody", bytes(8))
    with pytest.raises(UnsupportedVersion):
        decode_embedded("EndTxnMarker", bytes.fromhex("0001 00000007"))
    with pytest.raises(EncodeError, match="versions 0, not 1"):
        encode_embedded("EndTxnMarker", 1, {})


def test_hooks_show_the_structure_or_the_bytes() -> None:
    show = HOOKS["ConsumerProtocolSubscription"]
    assert show(bytes.fromhex("0000 00000001 0001 61 00000002 6869")) == {
        "$type": "ConsumerProtocolSubscription",
        "$version": 0,
        "topics": ["a"],
        "user_data": "hi",
    }
    assert show(b'{"version":1}') == '{"version":1}'
    assert show(b"\0\1\0") == {"base64": "AAEA"}
    assert show(b"") == ""
    assert show(None) is None


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"topics": ["a", 7]}, "value.topics[1]"),
        ({"user_data": 7}, "value.user_data"),
        ({"_trailing": 7}, "value._trailing"),
        ({"$frame": -1}, "value.$frame"),
    ],
)
def test_an_error_says_where_in_the_structure_it_is(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(EncodeError) as caught:
        encode_embedded_from_json({"$type": "ConsumerProtocolSubscription", "$version": 1, **fields}, "value")
    assert caught.value.path == path
