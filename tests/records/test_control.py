"""Control records and secrets in records."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest

from decoders import Record, decode_records, encode_embedded
from decoders.records.read_batches import batches_json
from decoders.records.records_as_json import TYPES, metadata_record_holds_secret, records_json
from tests.records.making import batch, record

CONTROL = 0x20
DIRECTORY = UUID(int=5)


def control(kind: int, value: bytes | None) -> bytes:
    return batch(record(key=struct.pack(">hh", 0, kind), value=value), attributes=CONTROL | 0x10, producer=4, epoch=1)


def test_commit_marker() -> None:
    data = control(1, bytes.fromhex("0000 00000007"))  # version, coordinator epoch
    (found,) = decode_records(data)
    marker = {"$type": "EndTxnMarker", "$version": 0, "coordinator_epoch": 7}
    meaning = {"type": "COMMIT", "version": 0, "value": marker}
    assert found.control
    assert found.records == [Record(0, 1000, b"\0\0\0\1", b"\0\0\0\0\0\7", (), meaning)]
    (shown,) = batches_json(data, records=True) or []
    assert shown["records"] == [
        {
            "offset": 0,
            "timestamp": 1000,
            "key": {"base64": "AAAAAQ=="},
            "value": {"base64": "AAAAAAAH"},
            "headers": [],
            "control_record": meaning,
        }
    ]


VALUES: dict[str, dict[str, object]] = {
    "EndTxnMarker": {"coordinator_epoch": 3},
    "LeaderChangeMessage": {"leader_id": 2, "voters": [{"voter_id": 1}, {"voter_id": 2}]},
    "SnapshotHeaderRecord": {"last_contained_log_timestamp": 99},
    "SnapshotFooterRecord": {},
    "KRaftVersionRecord": {"kraft_version": 1},
    "VotersRecord": {"voters": [{"voter_id": 1, "voter_directory_id": DIRECTORY}]},
}


@pytest.mark.parametrize("kind", TYPES)
def test_every_type(kind: int) -> None:
    name, structure = TYPES[kind]
    data = control(kind, encode_embedded(structure, 0, VALUES[structure]))
    (found,) = decode_records(data)
    assert found.records
    meaning = found.records[0].control_record
    assert meaning is not None
    assert (meaning["type"], meaning["value"]["$type"]) == (name, structure)
    (shown,) = batches_json(data, records=True) or []
    assert shown["records"][0]["control_record"]["value"]["$type"] == structure
    if structure == "VotersRecord":
        assert meaning["value"]["voters"][0]["voter_directory_id"] == DIRECTORY
        voter = shown["records"][0]["control_record"]["value"]["voters"][0]
        assert voter["voter_directory_id"] == "AAAAAAAAAAAAAAAAAAAABQ"


@pytest.mark.parametrize(
    ("key", "value", "python", "json"),
    [
        (b"\0\0\0\1", b"", ("COMMIT", 0, b""), ("COMMIT", 0, "")),
        (b"\0\0\0\1", None, ("COMMIT", 0, None), ("COMMIT", 0, None)),
        (b"\0\1\0\x63", b"ab", ("UNKNOWN(99)", 1, b"ab"), ("UNKNOWN(99)", 1, "ab")),
        (b"\0", b"ab", (None, None, b"ab"), (None, None, "ab")),
        (None, None, (None, None, None), (None, None, None)),
    ],
)
def test_what_is_none(key: bytes | None, value: bytes | None, python: object, json: object) -> None:
    data = batch(record(key=key, value=value), record(1), attributes=CONTROL)
    (found,) = decode_records(data)
    assert found.records
    assert tuple((found.records[0].control_record or {}).values()) == python
    (shown,) = batches_json(data, records=True) or []
    assert tuple(shown["records"][0]["control_record"].values()) == json
    assert "control_record" in shown["records"][1]


def test_append_time_in_a_control_batch() -> None:
    data = batch(record(key=b"\0\0\0\0", value=bytes(6)), attributes=CONTROL | 8, latest=77)
    (found,) = decode_records(data)
    assert found.records
    assert found.records[0].timestamp == 77
    assert (found.records[0].control_record or {})["type"] == "ABORT"


def config(name: bytes) -> bytes:
    """A ConfigRecord: frame 1, type 4, version 0, resource type, resource name, config name, value, no tags."""
    return b"\1\4\0\2" + b"\3t1" + bytes([len(name) + 1]) + name + b"\3ab" + b"\0"


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        (bytes.fromhex("01 02 00") + b"\3t1" + bytes(17), False),  # TopicRecord
        (bytes.fromhex("01 0b 00") + b"\3me", True),  # UserScramCredentialRecord
        (config(b"retention.ms"), False),
        (config(b"ssl.keystore.password"), True),
        (config(b"my.own"), True),
        (config(b"retention.ms")[:12], True),
        (b"\1\4\0\2", True),
        (b"\1\x7f\0", True),
        (b"\1", True),
        (b"", True),
    ],
)
def test_secrets_of_the_metadata_topic(value: bytes, secret: bool) -> None:
    assert metadata_record_holds_secret(value) == secret
    shown = records_json(iter([Record(0, 0, None, value)]), metadata_record_holds_secret)
    found = shown[0]["value"]
    if secret and isinstance(found, dict) and "$type" in found:  # the rest of it may be shown
        assert found["value"] == {"redacted": 2}
    else:
        assert (found == {"redacted": len(value)}) == secret


def test_null_is_no_secret() -> None:
    assert records_json(iter([Record(0, 0, None, None)]), metadata_record_holds_secret)[0]["value"] is None
