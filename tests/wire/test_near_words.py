"""Unknown words, and the known words that were probably meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.apis import KEYS, api
from decoders.wire.suggest_similar_words import did_you_mean, edit_distance, nearest_words, quote_words

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


@pytest.mark.parametrize(
    ("one", "other", "steps"),
    [
        ("", "", 0),
        ("", "abc", 3),
        ("abc", "", 3),
        ("ab", "ba", 1),
        ("xab", "xba", 1),
        ("abcd", "acbd", 1),
        ("ca", "abc", 3),
        ("aab", "aba", 1),
        ("kitten", "sitting", 3),
        ("abcdef", "badcfe", 3),
    ],
)
def test_distances(one: str, other: str, steps: int) -> None:
    assert edit_distance(one, other) == steps


@pytest.mark.parametrize(
    ("word", "candidates", "near"),
    [
        ("abc", ["abx", "axx"], ["abx"]),
        ("abcdef", ["abcdxx", "abcxxx"], ["abcdxx"]),
        ("a-B.c", ["abc"], ["abc"]),
        ("abcd", ["abcdz", "abcd", "abxd", "abyd"], ["abcd", "abcdz", "abxd"]),
        ("abcd", ["b", "abyd", "abxd", "abxd"], ["abyd", "abxd"]),
        ("abc", ["abcdefgh", "xxxxxabc", "abcdef"], ["abcdef", "abcdefgh", "xxxxxabc"]),
        ("ab", ["abcdefgh"], []),
        ("abcdefgh", ["abc", "fgh"], ["abc"]),
        ("x" * 80, ["x" * 80], ["x" * 80]),
        ("x" * 81, ["x" * 81], []),
    ],
)
def test_near_words_come_nearest_first_then_those_that_begin_or_end_alike(
    word: str, candidates: list[str], near: list[str]
) -> None:
    assert nearest_words(word, candidates) == near
