"""Words in, bodies out: paths, `[]`, types, examples to start from, and the one line for each mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from decoders import decode_message, decode_records, encode_message
from decoders.apis import api
from decoders.protocol_facts.example_requests import example_request
from kwcli.calling.words.path_value_words import compose_body, encode_composed_body, parse_body_words
from kwcli.run_environment import Exit, Failure
from tests.cli.worlds import kw, world

METADATA = api("Metadata").versions


EXAMPLE = {"topics": [{"name": "kw-example", "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"}], "allow_auto_topic_creation": False}


@pytest.mark.parametrize(
    ("name", "version", "words", "body"),
    [
        ("metadata", 12, "topics[].name=orders", {"topics": [{"name": "orders"}]}),
        ("metadata", 12, "topics[].name=a topics[].name=b", {"topics": [{"name": "a"}, {"name": "b"}]}),
        ("metadata", 12, "topics[0].name=a topics[1].name=b", {"topics": [{"name": "a"}, {"name": "b"}]}),
        (
            "Metadata",
            12,
            "Topics[].Name=a allowAutoTopicCreation=TRUE",
            {"topics": [{"name": "a"}], "allow_auto_topic_creation": True},
        ),
        ("metadata", 12, "topics:=null", {"topics": None}),
        ("FindCoordinator", 3, "key=x keyType=Transaction", {"key": "x", "key_type": 1}),
        (
            "ListOffsets",
            7,
            "topics[].partitions[].timestamp=max-timestamp",
            {"topics": [{"partitions": [{"timestamp": -3}]}]},
        ),
        ("ListConfigResources", 1, "resource_types[]=broker resourceTypes[]=16", {"resource_types": [4, 16]}),
        ("metadata", 12, 'topics[].name:="@x"', {"topics": [{"name": "@x"}]}),
        ("metadata", 12, "topics:=[]", {"topics": []}),
        ("metadata", 12, 'topics:=[{"name":"a"}] topics[].name=b', {"topics": [{"name": "a"}, {"name": "b"}]}),
        ("metadata", 12, "topics[]:={} topics[].name=b", {"topics": [{"name": "b"}]}),
        (
            "metadata",
            12,
            '_tagged_fields.7=abc topics[]._tagged_fields.9:={"base64":"/w=="}',
            {"_tagged_fields": {"7": "abc"}, "topics": [{"_tagged_fields": {"9": {"base64": "/w=="}}}]},
        ),
        (
            "fetch",
            12,
            "topics[].topic=a topics[].partitions[].partition=0 topics[].partitions[].partition=1 topics[].topic=b"
            " topics[0].partitions[0].fetchOffset=0x10",
            {
                "topics": [
                    {"topic": "a", "partitions": [{"partition": 0, "fetch_offset": 16}, {"partition": 1}]},
                    {"topic": "b"},
                ]
            },
        ),
        (
            "fetch",
            12,
            "forgottenTopicsData[].partitions[]=3 forgotten[].partitions[]=4 forgotten[].topic=a"
            " forgotten[].topic=b forgotten[].partitions[]=5",
            {"forgotten_topics_data": [{"partitions": [3, 4], "topic": "a"}, {"topic": "b", "partitions": [5]}]},
        ),
        (
            "fetch",
            15,
            "replica_state.replica_id=7 replica_state.replica_epoch=9",
            {"replica_state": {"replica_id": 7, "replica_epoch": 9}},
        ),
        ("fetch", 15, "max_wait_ms=+5", {"max_wait_ms": 5}),
        ("find-coordinator", 1, "key=my-group=1:=2", {"key": "my-group=1:=2"}),
        ("saslauthenticate", 2, "auth_bytes=\0a\0b", {"auth_bytes": "\0a\0b"}),
        (
            "alterclientquotas",
            1,
            "entries[].ops[].key=x entries[].ops[].value=1.5e3",
            {"entries": [{"ops": [{"key": "x", "value": 1500.0}]}]},
        ),
    ],
)
def test_bodies(name: str, version: int, words: str, body: dict[str, Any]) -> None:
    found = api(name)
    assert compose_body(found, version, words.split(" ")) == body
    encode_composed_body(found, version, body)


def test_a_hexadecimal_number_has_no_sign() -> None:
    with pytest.raises(Failure, match="int64"):
        compose_body(api("fetch"), 12, ["topics[].partitions[].fetchOffset=-0x5"])


@pytest.mark.parametrize(
    ("words", "body"),
    [
        ([], EXAMPLE),
        (["allow_auto_topic_creation=true"], EXAMPLE | {"allow_auto_topic_creation": True}),
        (["topics[].name=x"], EXAMPLE | {"topics": [{"name": "x", "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"}]}),
        (
            ["topics[].name=x", "topics[].name=y"],
            EXAMPLE
            | {
                "topics": [
                    {"name": "x", "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"},
                    {"name": "y", "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"},
                ]
            },
        ),
        (["topics:=null"], EXAMPLE | {"topics": None}),
        (["topics:=[]"], EXAMPLE | {"topics": []}),
    ],
)
def test_what_words_set_replaces_the_example(words: list[str], body: dict[str, Any]) -> None:
    before = repr(EXAMPLE)
    assert compose_body(api("metadata"), 12, words, start=EXAMPLE) == body
    assert repr(EXAMPLE) == before


@pytest.mark.parametrize(
    ("name", "version", "words", "field", "value"),
    [
        ("CreateTopics", 7, ["topics[].name=x"], "topics",
         [{"name": "x", "num_partitions": -1, "replication_factor": -1}]),
        ("DeleteRecords", 2, ["topics[].name=x", "topics[].partitions[].partition_index=3"], "topics",
         [{"name": "x", "partitions": [{"partition_index": 3, "offset": 0}]}]),
        ("DescribeTopicPartitions", 0, ["cursor.topic_name=x"], "cursor", {"topic_name": "x", "partition_index": -1}),
        ("OffsetFetch", 8, ["groups[].group_id=x"], "groups",
         [{"group_id": "x", "topics": None}]),
    ],
)  # fmt: skip
def test_a_new_element_begins_with_what_names_nothing(
    name: str, version: int, words: list[str], field: str, value: Any
) -> None:
    found = api(name)
    assert compose_body(found, version, words, start=example_request(found, version))[field] == value


@pytest.mark.parametrize(
    ("name", "version", "word", "line"),
    [
        (
            "metadata",
            12,
            "topcis=orders",
            f'Metadata has no field "topcis" (did you mean "topics"? it is in versions {METADATA})',
        ),
        (
            "metadata",
            12,
            "name=orders",
            f'Metadata has no field "name" (did you mean "topics[].name"? it is in versions {METADATA})',
        ),
        (
            "metadata",
            12,
            "topics[].nmae=orders",
            f'Metadata has no field "topics[].nmae" (did you mean "name"? it is in versions {METADATA})',
        ),
        (
            "metadata",
            12,
            "qqqqq=1",
            'Metadata has no field "qqqqq" (there are topics, allow_auto_topic_creation, '
            "include_cluster_authorized_operations, include_topic_authorized_operations)",
        ),
        ("unregisterbroker", 0, "x=1", 'UnregisterBroker has no field "x" (there is only broker_id)'),
        (
            "listgroups",
            0,
            "states_filter[]=x",
            f'ListGroups 0 has no field "states_filter": it is in versions 4-{api("ListGroups").versions.high}',
        ),
        ("fetch", 13, "topics[].topic=a", 'Fetch 13 has no field "topics[].topic": it is in versions 0-12'),
        ("fetch", 13, "maxWaitMs=99999999999", "maxWaitMs: 99999999999 is outside int32 (-2147483648 to 2147483647)"),
        ("fetch", 13, "max_wait_ms=abc", 'max_wait_ms: int32 (-2147483648 to 2147483647) expected, not "abc"'),
        (
            "FindCoordinator",
            3,
            "key_type=shared",
            'key_type: a number or one of group, transaction, share expected, not "shared" (did you mean "share"?)',
        ),
        ("FindCoordinator", 3, 'key_type:="share"', 'key_type: int8 (-128 to 127) expected, not "share"'),
        ("fetch", 13, "max_wait_ms:=true", "max_wait_ms: int32 (-2147483648 to 2147483647) expected, not true"),
        ("fetch", 13, "max_wait_ms:=1.0", "max_wait_ms: int32 (-2147483648 to 2147483647) expected, not 1.0"),
        (
            "fetch",
            13,
            "max_wait_ms:=" + "9" * 300,
            "max_wait_ms: a number of 997 bits is outside int32 (-2147483648 to 2147483647)",
        ),
        ("fetch", 13, "rack_id:=null", "rack_id: null is not allowed"),
        (
            "fetch",
            13,
            "rack_id:={",
            "rack_id: no JSON: Expecting property name enclosed in double quotes at line 1, column 2",
        ),
        (
            "createtopics",
            5,
            "topics[0].configs=a",
            "topics[0].configs is an array: write topics[0].configs[].…=… or topics[0].configs:=[…]",
        ),
        ("fetch", 13, "topics:=5", "topics: an array expected, not 5"),
        ("fetch", 13, "topics[]:=5", "topics[]: an object expected, not 5"),
        ("fetch", 13, "topics.topic_id=a", "topics.topic_id: topics is an array, write topics[0] or topics[]"),
        ("fetch", 13, "rack_id[]=a", "rack_id[]: rack_id is no array, leave out the brackets"),
        ("fetch", 13, "rack_id.x=a", 'rack_id.x: rack_id is string, it has no field "x"'),
        (
            "fetch",
            13,
            "topics[2].topic_id=AAAAAAAAAAAAAAAAAAAAAQ",
            "topics[2]: topics has 0 elements, the next is topics[0]",
        ),
        (
            "fetch",
            13,
            "topics[].topic_id=x",
            'topics[].topic_id: uuid (22 characters of URL-safe base64, or hex) expected, not "x"',
        ),
        (
            "fetch",
            15,
            "replica_state=1",
            "replica_state is a struct: write replica_state.replica_id=… or replica_state:={…}",
        ),
        ("vote", 1, "nothing", '"nothing" is no path=value: write topic=nothing'),
        ("fetch", 13, "a..b=x", '"a..b" is no path (write topics[0].name=… or topics[].name=…)'),
        ("fetch", 3, "_tagged_fields.7=x", "_tagged_fields.7: Fetch 3 has no tagged fields"),
        (
            "saslauthenticate",
            2,
            "auth_bytes.x=1",
            "auth_bytes.x: auth_bytes is bytes, write auth_bytes:=JSON, auth_bytes:=@file or auth_bytes=@file",
        ),
        (
            "produce",
            9,
            "topic_data[].partition_data[].records[].records[].kye=1",
            'Produce has no field "topic_data[].partition_data[].records[].records[].kye" (did you mean "key"?'
            f" it is in versions {api('Produce').versions})",
        ),
        (
            "produce",
            9,
            "topic_data[].partition_data[].records[].producer_epoch=99999",
            "topic_data[].partition_data[].records[].producer_epoch: 99999 is outside int16 (-32768 to 32767)",
        ),
        (
            "produce",
            9,
            "topic_data[].partition_data[].records.x=1",
            "topic_data[].partition_data[].records.x: records is an array, write records[0] or records[]",
        ),
        (
            "produce",
            9,
            'topic_data[].partition_data[].records:=[{"records":[{"kye":"a"}]}]',
            "topic_data[].partition_data[].records[0].records[0].kye: a record has no such field; there are "
            "control_record, headers, key, offset, timestamp, value",
        ),
        (
            "joingroup",
            5,
            'protocols[].metadata:={"$type":"Nothing"}',
            'protocols[].metadata.$type: no structure "Nothing"',
        ),
        (
            "metadata",
            9,
            "include_topic_authorized_operations=yes",
            'include_topic_authorized_operations: true or false expected, not "yes"',
        ),
    ],
)
def test_mistakes(name: str, version: int, word: str, line: str) -> None:
    with pytest.raises(Failure) as caught:
        compose_body(api(name), version, [word])
    assert caught.value.text == line
    assert caught.value.code == Exit.USAGE


def test_the_same_leaf_twice_is_a_mistake() -> None:
    with pytest.raises(Failure, match="given twice"):
        compose_body(api("metadata"), 12, ["topics[].name=x", "topics[0].name=y"])


def test_a_word_does_not_undo_those_before_it() -> None:
    with pytest.raises(Failure, match="topics would overwrite what earlier words have set"):
        compose_body(api("metadata"), 12, ["topics[].name=x", "topics:=[]"])
    assert compose_body(api("metadata"), 12, ["topics:=[{}]", "topics[0].name=x"]) == {"topics": [{"name": "x"}]}


def test_a_field_that_no_version_has_is_found_before_any_version_is_known() -> None:
    with pytest.raises(Failure, match='has no field "topcis"'):
        parse_body_words(api("metadata"), ["topcis=orders"])
    given = parse_body_words(api("fetch"), ["topics[].topic=a", "rack_id=r"])
    assert compose_body(api("fetch"), 11, given) == {"topics": [{"topic": "a"}], "rack_id": "r"}
    with pytest.raises(Failure, match="Fetch 13 has no field"):
        compose_body(api("fetch"), 13, given)


def test_files(tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.write_bytes(b"\xff\0a")
    number = tmp_path / "number"
    number.write_text("17\n")
    topics = tmp_path / "topics.yaml"
    topics.write_text("- name: 1234\n- {name: 'null', topic_id: ~}\n- name: yes\n")
    assert compose_body(api("saslauthenticate"), 2, [f"auth_bytes=@{blob}"]) == {"auth_bytes": {"base64": "/wBh"}}
    assert compose_body(api("unregisterbroker"), 0, [f"broker_id=@{number}"]) == {"broker_id": 17}
    names = ["1234", "yes"]
    topics.write_text("- name: 1234\n- name: yes  # no bool\n")
    assert compose_body(api("metadata"), 12, [f"topics:=@{topics}"]) == {"topics": [{"name": name} for name in names]}
    with pytest.raises(Failure, match="No such file"):
        compose_body(api("metadata"), 12, [f"topics:=@{tmp_path}/missing"])


def test_a_whole_body_with_words_that_change_it(tmp_path: Path) -> None:
    file = tmp_path / "body.json"
    file.write_text('{"topics":[{"name":"a"}],"allowAutoTopicCreation":false}')
    found = compose_body(api("metadata"), 12, [f"@{file}", "topics[].name=b", "topics[0].name=c"], start=EXAMPLE)
    added = EXAMPLE["topics"][0] | {"name": "b"}  # type: ignore[index]  # a list
    assert found == {"topics": [{"name": "c"}, added], "allow_auto_topic_creation": False}
    found = compose_body(api("metadata"), 12, ["-"], start=EXAMPLE, env=world(b"topics:\n- name: x\n"))
    assert found == {"topics": [{"name": "x"}], "allow_auto_topic_creation": False}
    with pytest.raises(Failure, match="a second body"):
        compose_body(api("metadata"), 12, [f"@{file}", "-"], env=world(b"{}"))


def test_a_body_given_for_one_version_is_bytes_like_those_of_the_library() -> None:
    body = compose_body(api("metadata"), 12, ["topics[].name=orders"])
    assert encode_composed_body(api("metadata"), 12, body) == encode_message(3, 12, "request", body)


def test_words_go_into_batches() -> None:
    path = "topic_data[].partition_data[].records[]"
    words = [f"{path}.codec=gzip", f"{path}.records[].key=a", f"{path}.records[].value:=null"]
    words += [f"{path}.records[].headers[].key=h", f"{path}.records[].headers[].value=1", f"{path}.records[].key=7"]
    found = compose_body(api("produce"), 9, words, start=example_request(api("produce"), 9))
    (partition,) = found["topic_data"][0]["partition_data"]
    assert partition == {
        "index": -1,
        "records": [
            {
                "codec": "gzip",
                "records": [{"key": "a", "value": None, "headers": [{"key": "h", "value": "1"}]}, {"key": "7"}],
            }
        ],
    }
    (batch,) = decode_records(
        decode_message(0, 9, "request", encode_composed_body(api("produce"), 9, found))["topic_data"][0][
            "partition_data"
        ][0]["records"]
    )
    assert batch.codec == "gzip"
    assert [record.key for record in batch.records or []] == [b"a", b"7"]


def test_one_record_of_a_recorded_batch_is_changed(tmp_path: Path) -> None:
    capture = Path(__file__).resolve().parents[2] / "captures" / "tour.pcapng"
    lines = kw("sniff", str(capture), "--api", "Produce", "--limit", "1", "-o", "ndjson", "--records", "-q").out
    file = tmp_path / "produce.json"
    file.write_text(lines)
    path = "topic_data[0].partition_data[0].records[0]"
    body = compose_body(api("produce"), 10, [f"@{file}", f"{path}.records[1].value=changed", f"{path}.codec=none"])
    data = encode_composed_body(api("produce"), 10, body)
    records = decode_message(0, 10, "request", data)["topic_data"][0]["partition_data"][0]["records"]
    (batch,) = decode_records(records)
    before = json.loads(lines)["request"]["topic_data"][0]["partition_data"][0]["records"][0]
    assert batch.codec == "none"
    assert batch.records is not None
    assert [record.value for record in batch.records] == [
        b"changed" if number == 1 else record["value"].encode() for number, record in enumerate(before["records"])
    ]
