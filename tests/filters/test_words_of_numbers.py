"""Numbers compared with their words: the same exchanges pass as with the number, in every API with the field."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from decoders.apis import KEYS, api
from decoders.exchanges.exchange import Exchange
from decoders.filters import FilterError, parse
from decoders.filters.number_comparison_words import NamedNumber, fold_word, words_of_number_set
from decoders.protocol_facts.enum_words import BITS, ENUMS
from tests.exchanges.talks import Turns, plan, request, response, run, segments
from tests.filters.test_rows import Wanted, passed
from tests.schema.values import random_value


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("request.isolation_level == read_committed", "request.isolation_level == 1"),
        ("request.isolation_level == READ-COMMITTED", "request.isolation_level == 1"),
        ("request.isolation_level != read_committed", "request.isolation_level != 1"),
        ("request.acks == all", "request.acks == -1"),
        ("request.key_type == transaction", "request.key_type == 1"),
        ("request.topics.partitions.timestamp in (latest, earliest)", "request.topics.partitions.timestamp < 0"),
        ("response.error_code == MEMBER_ID_REQUIRED", "response.error_code == 79"),
        ("response.topics.error_code == unknown_topic_or_partition", "response.topics.error_code == 3"),
        ("request.replica_id == consumer", "request.replica_id == -1"),
    ],
)
def test_words_mean_their_numbers(word: str, number: str) -> None:
    assert passed(word) == passed(number) != []


def matches(text: str, key: int, version: int, **fields: Any) -> bool:
    """Whether an exchange with these fields in its request passes the expression."""
    asked = random_value(plan(key, version, "request"), Random(1), strange=False, values=9) | fields
    answer = random_value(plan(key, version, "response"), Random(2), strange=False, values=9)
    turns: Turns = [(True, request(key, version, 1, "app", asked)), (False, response(key, version, 1, answer))]
    asks = parse(text)
    settled = run(segments(turns, Random(3)), ports={9092}, needs=Wanted(asks))
    (found,) = (each for each in settled if isinstance(each, Exchange))
    return asks.matches(found)


def test_a_word_is_that_of_the_field_of_its_api() -> None:
    """A number has the word of its field and API: 4 is a cluster among ACL resources, a broker among configs."""
    resource = {"resource_type": 4, "resource_name": "1", "configuration_keys": None}
    for text, asks_configs, asks_acls in (
        ("request.resources.resource_type == broker", True, False),
        ("request.resources.resource_type == topic", False, False),
        ("request.resources.resource_type == 4", True, False),
        ("request.resources.resource_type >= 3", True, False),
        ("request.resource_type_filter == cluster", False, True),
        ("request.resource_type_filter == topic", False, False),
    ):
        assert matches(text, 32, 4, resources=[resource]) == asks_configs, text
        assert matches(text, 29, 3, resource_type_filter=4) == asks_acls, text


def test_any_of_the_bits() -> None:
    assert NamedNumber(0b1011000, "operations").words == {"read", "write", "delete"}
    assert NamedNumber(-(1 << 31), "operations").words == {"not_asked_for"}
    assert NamedNumber(0, "operations").words == {"none"}


def test_no_word_for_a_number() -> None:
    assert NamedNumber(77, "isolation").words == frozenset()
    assert NamedNumber(3, "error_code").words == {"unknown_topic_or_partition"}


@pytest.mark.parametrize("words", [*ENUMS, *BITS, "error_code"])
def test_every_word_of_a_set_is_found_by_its_number(words: str) -> None:
    numbers = range(-10, 200) if words == "error_code" else ENUMS.get(words) or [1 << bit for bit in range(16)]
    found = {word for number in numbers for word in NamedNumber(number, words).words}
    assert words_of_number_set(words) <= found | {"none", "not_asked_for"}
    assert all(word == fold_word(word) for word in words_of_number_set(words))


def test_what_is_no_word() -> None:
    with pytest.raises(FilterError, match=r"called 'comitted' \(there are read_committed, read_uncommitted\)"):
        parse("request.isolation_level == comitted")
    with pytest.raises(FilterError) as told:
        parse("response.error_code == NOT_CORDINATOR")
    assert "not_coordinator" in told.value.candidates
    parse("request.isolation_level == 'comitted'")  # in quotes it is a text
    parse("request.topics.name == topic")
    parse("request.isolation_level == null")


# Names of fields with known words: a field of such a name without words is a plain number.
NAMED = {
    *("isolation_level", "resource_type", "resource_type_filter", "pattern_type", "pattern_type_filter", "operation"),
    *("permission_type", "config_source", "config_type", "key_type", "coordinator_key_type", "acks"),
    *("acknowledge_types", "election_type", "compression_type", "authorized_operations"),
    *("topic_authorized_operations", "cluster_authorized_operations", "transaction_result", "upgrade_type"),
}
# Fields with such names that are texts, booleans, or numbers of another kind.
NONE_OF_THEM = {"transaction_result"}


def test_fields_of_known_sets_say_theirs() -> None:
    lacking = []

    def look(fields: Any, place: str) -> None:
        for field in fields:
            if field.name in NAMED - NONE_OF_THEM and field.kind.startswith(("int", "uint")) and not field.means:
                lacking.append(f"{place}.{field.name}")
            look(field.fields, f"{place}.{field.name}")

    for key in KEYS:
        for side in ("request", "response"):
            look(api(key).message(side).fields, f"{api(key).name} {side}")
    assert lacking == []
