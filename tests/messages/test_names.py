"""Words for numbers beside the bodies: the `names` of records, with --names."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from decoders.apis import KEYS, api
from decoders.embedded import encode_embedded
from decoders.messages import add_words_for_numbers_to_json
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import to_json_dict
from decoders.messages.single_message_json import SingleMessage, frame_body, message_json
from decoders.messages.split_frame_into_parts import split_frame
from decoders.messages.whole_messages import encode_message
from decoders.protocol_facts.enum_words import BITS, ENUMS
from decoders.protocol_facts.number_words import API, ERROR, number_set_of_field, word_for_number_in_set
from decoders.schema.api_declaration import Plan, Side, resolve
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw
from tests.exchanges.talks import Turns, plan, request, response, run, segments
from tests.exchanges.test_captures import VALIDATOR
from tests.schema.values import random_value

NAMED = Options(names=True, records=True)
# APIs whose only numbers with words are error codes, which are 0 here by chance.
FEW = {46, 58, 64, 81, 94}
TOUR = str(FOLDER / "tour.pcapng")


def word_numbers(plan: Plan, value: dict[str, Any], rng: Random) -> None:
    """Put numbers that have words into fields that take them."""
    for field in (*plan.fields, *plan.tagged):
        inner = value.get(field.name)
        if inner is None:
            continue
        means = number_set_of_field(field)
        if means:
            number = rng.choice([*{ERROR: (0, 3, 79), API: (3, 18)}.get(means, ENUMS.get(means, (0, 0b1010)))])
            value[field.name] = [number, number] if field.array else number
        elif field.plan is not None:
            for each in inner if field.array else [inner]:
                word_numbers(field.plan, each, rng)


def walked(frame: bytes, side: Side, key: int, version: int) -> dict[str, Any]:
    """The words of the numbers that the walker finds, byte for byte."""
    found: dict[str, Any] = {}
    for part in split_frame(frame, side, key, version).body:
        name = part.path.rpartition(".")[2].partition("[")[0]
        means = part.means or {"api_key": API}.get(name, ERROR if name.endswith("error_code") else "")
        if part.what != "value" or not means or not isinstance(part.value, int) or (means == ERROR and not part.value):
            continue
        word = word_for_number_in_set(means, part.value)
        if part.path.endswith("]"):
            found.setdefault(part.path.rpartition("[")[0], []).append(word)
        elif word is not None:
            found[part.path] = word.split(",") if means in BITS else word
    return {path: word for path, word in found.items() if word != [None, None]}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("key", KEYS)
def test_each_number_with_a_word(key: int) -> None:
    """Every number with a word, in every version and direction of an API; early layouts too."""
    seen = 0
    for side in ("request", "response"):
        for version in range(api(key).versions.low, api(key).versions.high + 1):
            rng = Random(version)
            layout = resolve(api(key).message(side), version)
            value = random_value(layout, rng, strange=False, values=40)
            word_numbers(layout, value, rng)
            frame = frame_body(encode_message(key, version, side, value), side, key, version)
            told = message_json(SingleMessage(frame, side, key, version), NAMED)
            expected = walked(frame, side, key, version)
            assert told.record.get("names", {}).get("body", {}) == expected, (side, version)
            seen += len(expected)
    assert seen or key in FEW


def test_early_layouts_have_the_words_of_theirs() -> None:
    early = [(key, *which) for key in KEYS for which in api(key).early]
    checked = 0
    for key, side, version, release in early:
        layout = resolve(api(key).early[side, version, release], version)
        rng = Random(9)
        value = random_value(layout, rng, strange=False, values=40)
        word_numbers(layout, value, rng)
        frame = frame_body(encode_message(key, version, side, value, layout=release), side, key, version)
        told = message_json(SingleMessage(frame, side, key, version), NAMED)
        if told.record.get("layout") == release:
            assert told.record.get("names", {}).get("body", {}) == walked(frame, side, key, version), (
                key,
                side,
                version,
            )
            checked += "names" in told.record
    assert checked > 5


def sniffed(*options: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kw("sniff", TOUR, "-q", "-o", "ndjson", *options).out.splitlines()]


def test_nothing_but_names_is_added() -> None:
    plain, named = sniffed("--records"), sniffed("--records", "--names")
    assert sum("names" in record for record in named) > 50
    assert [{key: record[key] for key in record if key != "names"} for record in named] == plain
    for record in named:
        VALIDATOR.validate(record)


def test_a_record_that_was_written_without_them_gets_them(tmp_path: Any) -> None:
    written = tmp_path / "tour.ndjson"
    written.write_text(kw("sniff", TOUR, "-q", "-o", "ndjson", "--records").out)
    assert (
        kw("sniff", str(written), "-q", "-o", "ndjson", "--names").out
        == kw("sniff", TOUR, "-q", "-o", "ndjson", "--records", "--names").out
    )


def exchange_of(key: int, version: int, asked: dict[str, Any], answered: dict[str, Any]) -> Any:
    """The exchange of this request and response, as an engine settles it."""
    turns: Turns = [
        (True, request(key, version, 1, "app", {**random_value(plan(key, version, "request"), Random(1)), **asked})),
        (False, response(key, version, 1, answered)),
    ]
    (settled,) = run(segments(turns, Random(3)), ports={9092})
    return settled


def test_structures_inside_bytes() -> None:
    member = encode_embedded("ConsumerProtocolSubscription", 3, {"topics": ["t"], "generation_id": -1})
    asked = {"protocols": [{"name": "range", "metadata": member}], "group_id": "g", "protocol_type": "consumer"}
    told = to_json_dict(exchange_of(11, 5, asked, {"error_code": 79, "generation_id": -1}), NAMED)
    assert told["names"]["request"]["protocols[0].metadata.generation_id"] == "no_group"
    assert told["names"]["response"] == {"error_code": "MEMBER_ID_REQUIRED", "generation_id": "no_group"}


@pytest.mark.parametrize("deferred", [False, True])
def test_more_than_are_listed_are_counted(monkeypatch: pytest.MonkeyPatch, deferred: bool) -> None:
    monkeypatch.setattr(add_words_for_numbers_to_json, "NAMES_SHOWN_MAX", 7)
    answered = {
        "topics": [{"name": f"t{number}", "error_code": 3} for number in range(20)],
        "brokers": [],
        "controller_id": 1,
    }
    told = to_json_dict(exchange_of(3, 1, {"topics": None}, answered), Options(names=True, deferred=deferred))
    assert [*told["names"]["response"]] == [f"topics[{number}].error_code" for number in range(7)]
    assert told["names_cut"] == 13


@pytest.mark.long
def test_a_large_answer_is_named_as_it_is_read() -> None:
    answered = {
        "topics": [{"name": f"topic-{number}" * 9, "error_code": 3} for number in range(20_000)],
        "brokers": [],
        "controller_id": 1,
    }
    exchange = exchange_of(3, 1, {"topics": None}, answered)
    assert exchange.response_size > 1 << 20
    told = to_json_dict(exchange, Options(names=True, deferred=True))
    assert told["names"]["response"] == {
        f"topics[{number}].error_code": "UNKNOWN_TOPIC_OR_PARTITION" for number in range(20_000)
    }


@pytest.mark.parametrize(
    "record",
    [
        {"layout": "x", "request": {"acks": {"1": {}}, "topic_data": 7}, "response": None},
        {"request": {"topic_data": [7, {"partition_data": [{"records": [{"records": [9, {"key": []}]}]}]}]}},
        {"request": {"topic_data": [{"partition_data": [{"records": [{"records": 3}, 4, None]}]}]}},
        {"request": {"topic_data": [{"partition_data": [{"records": {"$type": [], "$version": {}}}]}]}},
        {"request": {"topic_data": [{"partition_data": [{"records": {"$type": "TopicRecord", "$version": 99}}]}]}},
        {"api_version": 999, "request": {"acks": 1}},
    ],
)
def test_records_of_others_break_nothing(record: dict[str, Any]) -> None:
    whole = {"kind": "exchange", "api_key": 0, "api_version": 9, "request": None, "response": None, **record}
    add_words_for_numbers_to_json.add_words_for_numbers(whole)
    assert "names" not in whole


def test_structures_by_name() -> None:
    outcome = kw("decode", "--as", "AccessControlEntryRecord", "--names", "-o", "ndjson", ACL)
    assert json.loads(outcome.out)["names"] == {
        "value": {"resource_type": "topic", "pattern_type": "literal", "operation": "all", "permission_type": "allow"}
    }


ACL = encode_embedded(
    "AccessControlEntryRecord",
    0,
    {"resource_type": 2, "resource_name": "t", "pattern_type": 3, "operation": 2, "permission_type": 3},
).hex()


def test_fields_have_the_word_behind_the_number() -> None:
    words = ("sniff", TOUR, "-q", "--api", "Produce", "-o", "fields", "-e", "request.acks")
    plain = kw(*words).out.split("\n")
    named = {"-1": "-1 all", "0": "0 none", "1": "1 leader", "": ""}
    assert {*plain} == {*named}
    assert kw(*words, "--names").out.split("\n") == [named[line] for line in plain]


def test_versions_of_apis_by_their_names() -> None:
    assert (
        kw("sniff", TOUR, "-q", "-o", "fields", "-e", "api", "-f", "response.api_keys.api_key == fetch").out
        == kw("sniff", TOUR, "-q", "-o", "fields", "-e", "api", "-f", "response.api_keys.api_key == 1").out
    )
