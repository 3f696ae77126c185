"""Produce by short words: words to records, records to requests, and mistakes refused before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from decoders import Record, decode_message, decode_records
from decoders.apis import api
from decoders.messages.whole_messages import encode_json
from decoders.records.codecs import NAMES
from decoders.schema.api_declaration import Versions
from kwcli.calling.records.produce_request import ProduceToTopic
from kwcli.calling.words.record_words import ProduceRecord
from kwcli.calling.words.short_request_words import RecordOptions, parse_short_request
from kwcli.commands.call import CODECS
from kwcli.run_environment import Exit, Failure
from tests.calling.surroundings import environment
from tests.oracle.asking import ask

NOW_MS = 1_800_000_000_000
ID = UUID(int=7)


HIGHEST = api(0).versions.high
# Version, options, words, and the magic byte of the batch that they make.
FORMATS: list[tuple[int, Mapping[str, Any], list[str], int]] = [
    (0, {}, [], 0),
    (1, {}, [], 0),
    (1, {}, ["timestamp=5"], 1),
    (0, {"magic": 1}, [], 1),
    (1, {"magic": 0}, [], 0),
    (2, {}, [], 1),
    (2, {"magic": 1}, [], 1),
    (3, {}, [], 2),
    (HIGHEST, {"magic": 2}, [], 2),
]


class Topics:
    """A cluster with one topic."""

    def list_partitions(self, topic: str) -> Sequence[int]:
        assert topic == "orders"
        return range(6)

    def find_topic_id(self, name: str) -> UUID:
        assert name == "orders"
        return ID

    def find_offset_at_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        raise AssertionError(f"not asked for: {topic} {partition} {timestamp}")


def asked(*words: str, stdin: bytes | None = None, **options: Any) -> ProduceToTopic:
    found, rest = parse_short_request(0, words, RecordOptions(**options), environment(stdin, now_ms=NOW_MS))
    assert isinstance(found, ProduceToTopic)
    assert rest == []
    return found


def records(produce: ProduceToTopic, version: int, topics: Topics | None = None) -> dict[int, list[Record]]:
    """The records in a Produce request, by partition."""
    body = decode_message(0, version, "request", encoded(produce, version, topics))
    (topic,) = body["topic_data"]
    return {
        data["index"]: [record for batch in decode_records(data["records"]) for record in batch.records or ()]
        for data in topic["partition_data"]
    }


def encoded(produce: ProduceToTopic, version: int, topics: Topics | None = None) -> bytes:
    return encode_json(0, version, "request", produce.build_body(version, topics))


def refused(*words: str, stdin: bytes | None = None, **options: Any) -> str:
    with pytest.raises(Failure) as caught:
        parse_short_request(0, words, RecordOptions(**options), environment(stdin, now_ms=NOW_MS))
    assert caught.value.code == Exit.USAGE
    return caught.value.text


WORDS: list[tuple[list[str], list[ProduceRecord]]] = [
    (["value=v"], [ProduceRecord(None, b"v")]),
    (["key=k", "value="], [ProduceRecord(b"k", b"")]),
    (["key:=null", "value:=null"], [ProduceRecord(None, None)]),
    (['value:={"base64":"AP8="}', 'key:="@k"'], [ProduceRecord(b"@k", b"\0\xff")]),
    (['value:={"id": 1.0}', "key:=5"], [ProduceRecord(b"5", b'{"id": 1.0}')]),
    (["value=a=b:c"], [ProduceRecord(None, b"a=b:c")]),
    (["value=1", "value=2"], [ProduceRecord(None, b"1"), ProduceRecord(None, b"2")]),
    (["key=a", "value=1", "key=b", "value=2"], [ProduceRecord(b"a", b"1"), ProduceRecord(b"b", b"2")]),
    (["value=1", "key=a", "value=2"], [ProduceRecord(b"a", b"1"), ProduceRecord(None, b"2")]),
    (
        ["header=a:1", "value=1", "header=a:2", "header=n", "header=e:", "value=2", "header=b:x:y"],
        [
            ProduceRecord(None, b"1", (("a", b"1"), ("a", b"2"), ("n", None), ("e", b""))),
            ProduceRecord(None, b"2", (("b", b"x:y"),)),
        ],
    ),
    (["value=1", 'header:={"key":"k","value":{"base64":"/w=="}}'], [ProduceRecord(None, b"1", (("k", b"\xff"),))]),
    (
        ["partition=3", "timestamp=5", "value=1", "value=2", "partition=4", "value=3"],
        [ProduceRecord(None, b"1", (), 5, 3), ProduceRecord(None, b"2", (), 5, 4), ProduceRecord(None, b"3", (), 5, 4)],
    ),
    (["Timestamp=1970-01-01T00:00:01Z", "value=1"], [ProduceRecord(None, b"1", (), 1000)]),
]


@pytest.mark.parametrize(("words", "expected"), WORDS, ids=[" ".join(words) for words, _ in WORDS])
def test_words_are_records(words: list[str], expected: list[ProduceRecord]) -> None:
    assert asked("topic=orders", *words).entries == expected


def test_contents_of_files(tmp_path: Path) -> None:
    (tmp_path / "v").write_bytes(b"\0\xff\n")
    (tmp_path / "j").write_bytes(b'{"base64":"AA=="}')
    words = [f"value=@{tmp_path}/v", f"key:=@{tmp_path}/j", f"header=h:@{tmp_path}/v"]
    assert asked("topic=orders", *words).entries == [ProduceRecord(b"\0", b"\0\xff\n", (("h", b"\0\xff\n"),))]
    assert asked("topic=orders", "value=@-", stdin=b"from a pipe").entries == [ProduceRecord(None, b"from a pipe")]


LINES = b"""{"key":"a","value":"1","headers":[{"key":"h","value":null}],"timestamp":7,"partition":2,"offset":99}

{"value":null,"headers":{"x":"y"}}
{"key":{"base64":"/w=="},"value":{"id":1},"timestamp":"1970-01-01T00:00:01Z"}
"""
OF_LINES = [
    ProduceRecord(b"a", b"1", (("h", None),), 7, 2),
    ProduceRecord(None, None, (("x", b"y"),), None, 0),
    ProduceRecord(b"\xff", b'{"id":1}', (), 1000, 0),
]


def test_records_as_lines(tmp_path: Path) -> None:
    (tmp_path / "r.ndjson").write_bytes(LINES)
    for words in ([f"@{tmp_path}/r.ndjson"], ["-"], ["@-"], []):
        assert asked("topic=orders", "partition=0", *words, stdin=LINES).entries == OF_LINES
    words = [line for line in LINES.decode().splitlines() if line]
    assert asked("topic=orders", "partition=0", *words).entries == OF_LINES


def test_what_sniff_shows_as_records_can_be_sent() -> None:
    """The records that `--records` shows are lines that produce takes, with the same bytes."""
    from decoders.records.encode_batches import encode_batch
    from decoders.records.read_batches import batches_json

    made = [Record(5, 1000, b"\0", None, (("h", b"\xff"), ("n", None))), Record(6, 1001, None, b"text\n", ())]
    shown = batches_json(encode_batch(made), records=True)
    assert shown is not None
    lines = "".join(json.dumps(record) + "\n" for record in shown[0]["records"]).encode()
    found = records(asked("topic=orders", "partition=1", stdin=lines), 9)
    assert found == {1: [record._replace(offset=index) for index, record in enumerate(made)]}


def test_partitions_by_key_by_name_and_together() -> None:
    words = ["key=a", "value=1", "key=b", "value=2", "key=a", "value=3", "value=4", "value=5"]
    found = records(asked("topic=orders", *words), 9, Topics())
    # Java's Utils.toPositive(Utils.murmur2(key)) % 6; records without a key go to one partition (here the last).
    assert {index: [(record.offset, record.value) for record in held] for index, held in found.items()} == {
        4: [(0, b"1"), (1, b"3")],
        2: [(0, b"2")],
        0: [(0, b"4"), (1, b"5")],
    }


def test_not_connected_partition_0_is_taken() -> None:
    assert list(records(asked("topic=orders", "key=k", "value=v"), 9)) == [0]


def test_timestamps_left_out_are_now() -> None:
    (record,) = records(asked("topic=orders", "value=v"), 9)[0]
    assert record.timestamp == NOW_MS


@pytest.mark.parametrize(
    ("version", "options", "words", "magic", "codec"),
    [
        (version, options, words, magic, codec)
        for version, options, words, magic in FORMATS
        for codec in ("none", "gzip", "snappy", "lz4", "zstd")
        if codec != "zstd" or version >= 7
    ],
)
def test_every_version_has_its_format(
    version: int, options: Mapping[str, Any], words: list[str], magic: int, codec: str
) -> None:
    produce = asked("topic=orders", "value=v", "key=k", *words, compression=codec, **options)
    assert version in produce.narrow_versions(api(0).versions)
    body = decode_message(0, version, "request", encoded(produce, version, Topics()))
    (topic,) = body["topic_data"]
    assert topic.get("name", "orders") == "orders"
    assert topic.get("topic_id", ID) == ID
    (batch,) = decode_records(topic["partition_data"][0]["records"])
    assert (batch.magic, batch.codec, batch.error) == (magic, codec, None)
    assert body["acks"] == -1
    assert body["timeout_ms"] == 30_000


def test_producer_and_transaction() -> None:
    words = ["producer_id=4000", "producer_epoch=3", "baseSequence=7", "transactional_id=tx", "partition=0"]
    produce = asked("topic=orders", "value=v", *words, acks="all")
    body = decode_message(0, 9, "request", encoded(produce, 9))
    assert body["transactional_id"] == "tx"
    (batch,) = decode_records(body["topic_data"][0]["partition_data"][0]["records"])
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.transactional) == (4000, 3, 7, True)
    plain = asked("topic=orders", "value=v", "producer_id=1", "partition=0")
    body = decode_message(0, 3, "request", encoded(plain, 3))
    (batch,) = decode_records(body["topic_data"][0]["partition_data"][0]["records"])
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.transactional) == (1, 0, 0, False)


@pytest.mark.parametrize(("said", "acks"), [("all", -1), ("0", 0), ("1", 1), ("-1", -1)])
def test_acks(said: str, acks: int) -> None:
    assert asked("topic=orders", "value=v", acks=said).acks == acks
    assert asked("topic=orders", "value=v", f"acks={said}").acks == acks


def test_other_words_are_left_alone() -> None:
    env = environment(None, now_ms=NOW_MS)
    found, rest = parse_short_request(
        0, ["topic=orders", "timeout_ms=5", "value=v", "topic_data[].name=x"], RecordOptions(), env
    )
    assert found is not None
    assert rest == ["timeout_ms=5", "topic_data[].name=x"]
    words = ["topic_data[].name=orders", "acks=1"]
    assert parse_short_request(0, words, RecordOptions(), env) == (None, words)
    assert parse_short_request(3, ["topics[].name=orders"], RecordOptions(), env) == (None, ["topics[].name=orders"])


def test_words_as_json() -> None:
    produce = asked('topic:="orders"', "partition:=3", "timestamp:=5", "acks:=1", "value:=1", "transactional_id:=null")
    assert (produce.topic, produce.acks, produce.transactional_id) == ("orders", 1, None)
    assert produce.entries == [ProduceRecord(None, b"1", (), 5, 3)]


REFUSED: list[tuple[list[str], dict[str, Any], str]] = [
    (["topic=a", "vlaue=v"], {}, 'Produce has no field "vlaue" (did you mean "value"?)'),
    (["headers=a:b"], {}, 'Produce has no field "headers" (did you mean "header"?)'),
    (["value=v"], {}, "topic= is missing"),
    (["topic=a", "topic=b", "value=v"], {}, "topic= is given twice"),
    (["topic=a"], {}, "no record: give value="),
    (["topic=a", "key=k"], {}, "record 0 has no value= (value:=null is a tombstone)"),
    (["topic=a", "value=1", "key=k", "key=l"], {}, "record 1 has no value="),
    (
        ["topic=a", "value=v", "@file"],
        {},
        "records come from words, from objects or from one file: leave @file out",
    ),
    (["topic=a", "@one", "@two"], {}, "leave @two out"),
    (["topic=a", "value=v", '{"value":1}'], {}, 'leave {"value":1} out'),
    (["topic=a", '{"topic_data":[]}'], {}, "record:1: a record has no 'topic_data'"),
    (["topic=a", "value=v"], {"acks": "2"}, "acks are all, -1, 0, 1, not 2"),
    (["topic=a", "value=v", "acks=most"], {}, "acks are all, -1, 0, 1, not most"),
    (["topic=a", "value=v"], {"compression": "brotli"}, "compression is one of none, gzip"),
    (["topic=a", "value=v", "partition=-1"], {}, "partition=-1 is outside 0 to 2147483647"),
    (["topic=a", "value=v", "partition=x"], {}, "partition=x is no number"),
    (["topic=a", "value=v", "timestamp=soon"], {}, "timestamp=: 'soon' is no time"),
    (["topic=a", "value:={"], {}, "value:=: no JSON"),
    (["topic=a", 'value:={"base64":"?"}'], {}, "value:=: no base64"),
    (["topic=a", 'value:={"redacted":5}'], {}, "--reveal-secrets"),
    (["topic=a", "value=v", "header:=5"], {}, 'header:=: headers are a list of {"key", "value"}'),
    (["topic=a", "value=v", "base_sequence=5"], {}, "base_sequence= needs producer_id="),
    (["topic=a", "value=v", "transactional_id=t"], {}, "transactional_id= needs producer_id="),
    (["topic=a", "value=v", "producer_id=1", "producer_epoch=40000"], {}, "outside -1 to 32767"),
    (
        ["topic=a", "value=v"],
        {"magic": 1, "compression": "zstd"},
        f"zstd needs Produce 7-{HIGHEST}, not 0-2",
    ),
    (["topic=a", "value=v", "header=a:b"], {"magic": 0}, f"a record with headers needs Produce 3-{HIGHEST}"),
    (["topic=a", "value=v", "timestamp=5"], {"magic": 0}, "timestamp= needs message format 1 or 2, this is --magic 0"),
    (["topic:=[]", "value=v"], {}, "topic:=[] is neither text nor a number"),
    (["acks=1"], {"compression": "gzip"}, "--compression needs topic=… value=…"),
    ([], {"magic": 0}, "--magic needs topic=… value=…"),
]


@pytest.mark.parametrize(("words", "options", "text"), REFUSED)
def test_what_is_wrong_is_said_before_anything_is_sent(words: list[str], options: dict[str, Any], text: str) -> None:
    assert text in refused(*words, **options)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("[]", "standard input:2: a record is an object"),
        ("{", "standard input:2: no JSON"),
        ("{}", 'standard input:2: a record without "value"'),
        ('{"value":1,"topic":"x"}', "standard input:2: a record has no 'topic'"),
        ('{"value":1,"partition":"x"}', "standard input:2: partition is no number"),
        ('{"value":1,"timestamp":1.5}', "standard input:2: timestamp is no number"),
        ('{"value":1,"headers":[5]}', "standard input:2: headers are a list"),
        ('{"value":1,"headers":[{"key":null}]}', "standard input:2: a header has a key"),
        ('{"value":{"redacted":5}}', "standard input:2: value: a redacted secret"),
    ],
)
def test_a_line_that_is_no_record_is_named(line: str, text: str) -> None:
    assert text in refused("topic=a", stdin=f'{{"value":1}}\n{line}\n'.encode())


def test_nothing_on_standard_input() -> None:
    assert "no record in standard input" in refused("topic=a", stdin=b"")


LINE_BY_LINE: list[tuple[bytes, str | None, list[ProduceRecord]]] = [
    (b"a\nb\n", None, [ProduceRecord(None, b"a"), ProduceRecord(None, b"b")]),
    (b"a\nb", None, [ProduceRecord(None, b"a"), ProduceRecord(None, b"b")]),
    (b"\n", None, [ProduceRecord(None, b"")]),
    (
        b"a\n\nb\n\n",
        None,
        [ProduceRecord(None, b"a"), ProduceRecord(None, b""), ProduceRecord(None, b"b"), ProduceRecord(None, b"")],
    ),
    (b"x\0y\n\xff\xfe\r\n", None, [ProduceRecord(None, b"x\0y"), ProduceRecord(None, b"\xff\xfe\r")]),
    (b"  a b \n", None, [ProduceRecord(None, b"  a b ")]),
    (
        b"k=v=w\nnone\n=v\nk=\n",
        "=",
        [ProduceRecord(b"k", b"v=w"), ProduceRecord(None, b"none"), ProduceRecord(b"", b"v"), ProduceRecord(b"k", b"")],
    ),
    (b"k\tv\n", "\\t", [ProduceRecord(b"k", b"v")]),
    (b"k\0v\n", "\\x00", [ProduceRecord(b"k", b"v")]),
    ("k→v\n".encode(), "→", [ProduceRecord(b"k", b"v")]),
    (b'{"id":1}\n{"id":2}\n', None, [ProduceRecord(None, b'{"id":1}'), ProduceRecord(None, b'{"id":2}')]),
    (b"{broken\n", None, [ProduceRecord(None, b"{broken")]),
    (b'{"value":1}\n', ":", [ProduceRecord(b'{"value"', b"1}")]),
    (b"[1,2]\n", None, [ProduceRecord(None, b"[1,2]")]),
]


@pytest.mark.parametrize(("data", "separator", "expected"), LINE_BY_LINE)
def test_a_line_is_a_record(data: bytes, separator: str | None, expected: list[ProduceRecord], tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(data)
    assert asked("topic=orders", stdin=data, key_separator=separator).entries == expected
    assert asked("topic=orders", f"@{tmp_path}/lines", key_separator=separator).entries == expected
    assert asked("topic=orders", "-", "partition=3", stdin=data, key_separator=separator).entries == [
        ProduceRecord(entry.key, entry.value, partition=3) for entry in expected
    ]


def test_lines_that_look_like_records_are_values_where_that_is_said() -> None:
    data = b'{"value":1}\n{\n'
    assert asked("topic=orders", stdin=data, lines=True).entries == [
        ProduceRecord(None, b'{"value":1}'),
        ProduceRecord(None, b"{"),
    ]


@pytest.mark.parametrize(
    ("words", "stdin", "options", "text"),
    [
        ([], b'{\n"a":1}\n', {}, "standard input: JSON over several lines"),
        ([], b"[\n1]\n", {}, "--lines sends each line as a value"),
        ([], b'{"key":1}\n', {}, 'standard input:1: a record without "value"'),
        ([], b'{"value":1,"amount":2}\n', {}, "a record has no 'amount'"),
        ([], b'{"value":1,"amount":2}\n', {}, "--lines sends each line as a value"),
        ([], b"a\n", {"key_separator": ""}, "-K is empty"),
        ([], b"a\n", {"key_separator": "\\q\\"}, "unknown escape"),
        ([], b"a\n", {"key_separator": "\\n"}, "line end"),
        (["value=1"], b"a\n", {"key_separator": ":"}, "-K is for records that come as lines"),
        (['{"value":1}'], b"a\n", {"lines": True}, "--lines is for records that come as lines"),
    ],
)
def test_lines_that_are_no_records(words: list[str], stdin: bytes, options: dict[str, Any], text: str) -> None:
    assert text in refused("topic=a", *words, stdin=stdin, **options)


def test_a_version_that_cannot_carry_it() -> None:
    produce = asked("topic=a", "value=v", compression="zstd")
    assert produce.narrow_versions(api(0).versions) == Versions(7, HIGHEST)
    assert produce.narrow_versions(api(0).versions, connected=False) == Versions(7, 12)
    with pytest.raises(Failure, match=f"zstd needs Produce 7-{HIGHEST}, not 0-6"):
        produce.narrow_versions(Versions(0, 6))
    with pytest.raises(Failure, match="a topic whose id is not known needs Produce 0-12, not 13"):
        asked("topic=a", "value=v").narrow_versions(Versions(13, 13), connected=False)
    assert asked("topic=a", "value=v", magic=1).narrow_versions(Versions(0, 11)) == Versions(0, 2)


def test_the_command_offers_every_codec() -> None:
    assert CODECS == NAMES


@pytest.mark.oracle
def test_the_bytes_are_those_of_the_java_producer() -> None:
    """Uncompressed batches equal those that Kafka's MemoryRecordsBuilder writes for the same records, byte for byte."""
    records = ["partition=0", "key=k", "value=naïve", "value:=null", "key=", "value=", f"value={'x' * 300}"]
    stamped = [*records, "timestamp=1700000000123"]
    whole = ["header=h:v", "header=n", *stamped, "header=e:"]
    mine = ["producer_id=4000", "producer_epoch=2", "base_sequence=9", "transactional_id=t"]
    made, told = [], []
    for version, words in ((0, records), (1, stamped), (2, stamped), (3, whole), (9, [*whole, *mine]), (13, whole)):
        produce = asked("topic=orders", *words)
        body = decode_message(0, version, "request", encoded(produce, version, Topics()))
        made.append(body["topic_data"][0]["partition_data"][0]["records"].hex())
        told.append(["write", as_java_is_told(produce, produce.choose_message_format(version))])
    assert made == ask(told)


def as_java_is_told(produce: ProduceToTopic, magic: int) -> dict[str, Any]:
    def hexed(data: bytes | None) -> str | None:
        return None if data is None else data.hex()

    return {
        "magic": magic,
        "codec": "none",
        "append_ms": None,
        "base_offset": 0,
        "last_offset": None,
        "producer_id": -1 if produce.producer_id is None else produce.producer_id,
        "producer_epoch": -1 if produce.producer_epoch is None else produce.producer_epoch,
        "base_sequence": -1 if produce.base_sequence is None else produce.base_sequence,
        "transactional": produce.transactional_id is not None,
        "leader_epoch": -1,
        "delete_horizon_ms": None,
        "records": [
            [
                at,
                NOW_MS if entry.timestamp is None else entry.timestamp,
                hexed(entry.key),
                hexed(entry.value),
                [[name, hexed(data)] for name, data in entry.headers],
            ]
            for at, entry in enumerate(produce.entries)
        ],
    }
