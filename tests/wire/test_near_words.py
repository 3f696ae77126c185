"""Unknown words, and the known words that were probably meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.apis import KEYS, api
from decoders.wire.near_words import did_you_mean, edit_distance, nearest_words, quote_words

NAMES = [api(key).name for key in KEYS]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("Metdata", "Metadata"),
        ("metadatas", "Metadata"),
        ("fech", "Fetch"),
        ("createtopic", "CreateTopics"),
        ("CreateTopcis", "CreateTopics"),
        ("list_offset", "ListOffsets"),
        ("apiversion", "ApiVersions"),
        ("joingrop", "JoinGroup"),
        ("SaslAuth", "SaslAuthenticate"),
        ("describe-cluser", "DescribeCluster"),
        ("consumer-group-hearbeat", "ConsumerGroupHeartbeat"),
    ],
)
def test_api_names(word: str, meant: str) -> None:
    assert nearest_words(word, NAMES)[0] == meant


@pytest.mark.parametrize("word", ["", "qqqq", "zookeeper", "x" * 500, "日本"])
def test_words_that_are_near_nothing(word: str) -> None:
    assert nearest_words(word, NAMES) == []
    assert did_you_mean(word, NAMES) == ""


@pytest.mark.long
def test_every_name_is_nearest_to_itself_and_to_its_misspelling() -> None:
    for name in NAMES:
        assert nearest_words(name, NAMES)[0] == name
        swapped = name[:2] + name[3] + name[2] + name[4:]
        assert name in nearest_words(swapped, NAMES), swapped


def test_the_phrase() -> None:
    assert did_you_mean("topic", ["brokers", "topics"]) == ' (did you mean "topics"?)'
    assert [quote_words(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        '"a"',
        '"a" or "b"',
        '"a", "b" or "c"',
    ]


WORD = st.text("abc_", max_size=6)


@given(WORD, WORD, WORD)
def test_distance_is_one(one: str, other: str, third: str) -> None:
    assert (edit_distance(one, other) == 0) == (one == other)
    assert edit_distance(one, other) == edit_distance(other, one)
    assert edit_distance(one, other) <= max(len(one), len(other))
    assert abs(len(one) - len(other)) <= edit_distance(one, other)
    assert edit_distance(one + third, other + third) <= edit_distance(one, other)
