"""Records of internal topics are shown as structures, and encode to the same bytes again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from decoders import Record
from decoders.embedded import STRUCTURES, TOPICS, encode_embedded, parse_structure_declaration
from decoders.exchanges.exchange import Exchange
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import to_json_dict
from decoders.messages.whole_messages import encode_json
from decoders.records.encode_batches import encode_batch
from decoders.schema.api_declaration import resolve
from kwcli.run_environment import Exit
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw
from tests.exchanges.talks import Turns, request, response, run, segments
from tests.schema.values import random_value

FETCH, PRODUCE = 1, 0
SHOWN, DEFERRED = Options(records=True), Options(records=True, deferred=True)


def pairs(rng: Random, module: str) -> Iterator[tuple[str, bytes | None, str, bytes]]:
    """Keys and values of a topic's structures, as its coordinator writes them."""
    for name, row in STRUCTURES.items():
        if row.module != module or row.number is None:
            continue
        held = name if row.framing == "framed" else f"{name.removesuffix('Key')}Value"
        versions = parse_structure_declaration(held).versions
        for version in range(versions.low, versions.high + 1):
            fields = random_value(resolve(parse_structure_declaration(held), version), rng, values=20)
            frame = {"$frame": 0} if held == "QuotaRecord" else {}  # whose number others have in frames of version 1
            value = encode_embedded(held, version, {**fields, **frame})
            if row.framing == "framed":
                yield "", None, held, value
            else:
                key = random_value(resolve(parse_structure_declaration(name), 0), rng, strange=False, values=9)
                yield name, encode_embedded(name, 0, key), held, value


def talk(topic: str, records: list[Record]) -> tuple[Turns, bytes]:
    """A Produce and a Fetch of these records, and their bytes."""
    data = encode_batch(records)
    sent = {
        "acks": 1,
        "timeout_ms": 1,
        "topic_data": [{"name": topic, "partition_data": [{"index": 0, "records": data}]}],
    }
    answered = {
        "responses": [{"topic": topic, "partitions": [{"partition_index": 0, "records": data, "high_watermark": 1}]}]
    }
    asked = request(PRODUCE, 8, 1, "app", sent)
    fetched = response(FETCH, 4, 2, answered)
    turns: Turns = [
        (True, asked),
        (False, response(PRODUCE, 8, 1, {"responses": []})),
        (True, request(FETCH, 4, 2, "app", {"topics": []})),
        (False, fetched),
    ]
    return turns, asked


MODULES = [(topic, module) for topic, modules in TOPICS.items() for module in modules]


@pytest.mark.parametrize(("topic", "module"), MODULES, ids=[module for _, module in MODULES])
def test_every_structure_is_shown_in_its_topic(topic: str, module: str) -> None:
    made = list(pairs(Random(module), module))
    records = [Record(offset, 5, key, value) for offset, (_, key, _, value) in enumerate(made)]
    turns, asked = talk(topic, records)
    reveal = Options(records=True, reveal_secrets=True)
    settled = [each for each in run(segments(turns, Random(1)), ports={9092}) if isinstance(each, Exchange)]
    for options in (reveal, reveal._replace(deferred=True)):
        produced, consumed = (json.loads(json.dumps(to_json_dict(each, options), default=list)) for each in settled)
        for body, topics, parts in (
            (produced["request"], "topic_data", "partition_data"),
            (consumed["response"], "responses", "partitions"),
        ):
            (batch,) = body[topics][0][parts][0]["records"]
            for shown, (key_name, key, name, _) in zip(batch["records"], made, strict=True):
                assert shown["value"]["$type"] in (
                    name,
                    "ClientQuotaRecord",
                )  # 14 was QuotaRecord in frames of version 0
                assert key is None or shown["key"]["$type"] == key_name
    if module != "cluster_metadata":  # those are redacted unless secrets are revealed, as here
        assert encode_json(PRODUCE, 8, "request", produced["request"]) == asked[4 + 10 + len("app") :]


def test_other_topics_are_not_looked_into() -> None:
    key = encode_embedded("OffsetCommitKey", 0, {"group": "g", "topic": "t"})
    value = encode_embedded("OffsetCommitValue", 1, {"offset": 5})
    turns, _ = talk("orders", [Record(0, 5, key, value)])
    settled = run(segments(turns, Random(1)), ports={9092})
    assert "$type" not in json.dumps([to_json_dict(each, SHOWN) for each in settled if isinstance(each, Exchange)])


def test_bytes_behind_and_bytes_that_are_none() -> None:
    key = encode_embedded("OffsetCommitKey", 0, {"group": "g", "topic": "t"})
    value = encode_embedded("OffsetCommitValue", 1, {"offset": 5})
    turns, _ = talk(
        "__consumer_offsets",
        [Record(0, 5, key, value + b"\7\7"), Record(1, 5, key, value[:9]), Record(2, 5, b"", None)],
    )
    produced = next(each for each in run(segments(turns, Random(1)), ports={9092}) if isinstance(each, Exchange))
    body: Any = to_json_dict(produced, SHOWN)["request"]
    (batch,) = body["topic_data"][0]["partition_data"][0]["records"]
    more, cut, empty = batch["records"]
    assert more["value"]["_trailing"] == {"base64": "Bwc="}
    assert cut["key"]["$type"] == "OffsetCommitKey"
    assert cut["value"].keys() == {"base64"}
    assert (empty["key"], empty["value"]) == ("", None)


def test_secrets_of_the_cluster_are_hidden_inside_their_record() -> None:
    scram = encode_embedded(
        "UserScramCredentialRecord", 0, {"name": "alice", "salt": b"SALTSALT", "stored_key": b"KEYKEY"}
    )
    config = encode_embedded("ConfigRecord", 0, {"name": "ssl.key.password", "value": "hunter2"})
    unknown = bytes.fromhex("01 7f 00") + b"who knows"
    records = [Record(at, 5, None, value) for at, value in enumerate((scram, config, unknown))]
    turns, _ = talk("__cluster_metadata", records)
    (_, fetched) = (each for each in run(segments(turns, Random(1)), ports={9092}) if isinstance(each, Exchange))
    for options in (SHOWN, DEFERRED):
        text = json.dumps(to_json_dict(fetched, options), default=list)
        assert '"alice"' in text
        assert '"ssl.key.password"' in text
        assert not any(word in text for word in ("SALTSALT", "KEYKEY", "hunter2", "who knows"))


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("zookeeper-cluster.pcap.gz", {"GroupMetadataKey": 4, "OffsetCommitKey": 6}),
        ("three-nodes.pcapng.zst", {"FeatureLevelRecord": 12, "TopicRecord": 8}),
    ],
)
def test_shipped_captures(name: str, counts: dict[str, int]) -> None:
    outcome = kw("sniff", str(FOLDER / name), "--records", "-o", "ndjson", "-q")
    assert outcome.code == Exit.DONE
    found: Counter[str] = Counter()

    def look(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("$type"), str):
                found[value["$type"]] += 1
            for each in value.values():
                look(each)
        elif isinstance(value, list):
            for each in value:
                look(each)

    for line in outcome.out.splitlines():
        look(json.loads(line))
    assert {kind: found[kind] for kind in counts} == counts, found
