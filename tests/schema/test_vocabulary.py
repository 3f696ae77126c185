"""The words of declarations: text in, model out, and every mistake is reported with its line."""

from __future__ import annotations

import pytest

from decoders.schema.api_declaration import DeclarationError, Versions, find_section, parse_api, parse_message

FETCH = """
api 1 Fetch
versions 0-18
flexible 12+
listeners broker controller
request
    cluster_id   string    12+  null 12+  tag 0  = null  ignorable
    topics       []struct  0+
        topic    string    0-12  is topicName  was name,title
    states       []State   3+
    configs      []struct  0+
        name     string    0+
        value    string    0+  null 0+  secret unless name  ignorable
        token    bytes     0+  secret  ignorable
response
    throttle_time_ms  int32  1+
struct State 3+
    epoch        int32     3+  tag 1 5+  = -1  ignorable
early response 0 in 2.7 2.8
    old_field    int16     0+
"""


def test_parse_api() -> None:
    api = parse_api(FETCH)
    assert (api.key, api.name, str(api.versions), str(api.flexible)) == (1, "Fetch", "0-18", "12+")
    assert api.listeners == ("broker", "controller")
    cluster, topics, states, configs = api.request.fields
    assert (cluster.kind, cluster.tag, str(cluster.tagged), cluster.default, cluster.has_default) == (
        "string",
        0,
        "12+",
        None,
        True,
    )
    assert topics.array
    assert (topics.fields[0].name, topics.fields[0].was, topics.fields[0].entity) == (
        "topic",
        ("name", "title"),
        "topicName",
    )
    assert states.struct == "State"
    assert (str(states.fields[0].tagged), states.fields[0].default, states.fields[0].ignorable) == ("5+", -1, True)
    assert [(f.secret, f.unless, f.ignorable) for f in configs.fields] == [
        (False, "", False),
        (True, "name", True),
        (True, "", True),
    ]
    assert {key: [f.name for f in message.fields] for key, message in api.early.items()} == {
        ("response", 0, "2.7"): ["old_field"],
        ("response", 0, "2.8"): ["old_field"],
    }


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("message A\nversions 0\nfields\n  x int99 0+", "line 4: no type 'int99'"),
        ("message A\nversions 0\nfields\n  x int32 0+ wow", "line 4: no word 'wow'"),
        ("message A\nversions 0\nfields\n  x int32 0+ =", "line 4: a value is missing"),
        ("message A\nversions 0\nfields\n  x int32 0+ = [1]", "line 4: '.1.' is no plain literal"),
        ("message A\nversions 0\nfields\n  x string 0+ = a", "line 4: 'a' is no plain literal"),
        ("message A\nversions 0\nfields\n  x struct 0+", "line 4: a struct has fields"),
        ("message A\nversions 0\nfields\n  x int32", "line 4: a field needs"),
        ("wow", "line 1: no word"),
    ],
)
def test_mistakes_name_their_line(text: str, place: str) -> None:
    with pytest.raises(DeclarationError, match=place):
        parse_message(text)


def test_versions() -> None:
    assert 5 in Versions.parse("5+")
    assert 5 not in Versions.parse("0-4")
    assert not Versions.parse("none")
    assert str(Versions.parse("2-7") & Versions.parse("5+")) == "5-7"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("true", True),
        ("false", False),
        ("0", 0),
        ("-2147483648", -(2**31)),
        ("1.5", 1.5),
        ("-1e3", -1000.0),
        ('""', ""),
        ('"a:b"', "a:b"),
    ],
)
def test_literals(text: str, value: object) -> None:
    (field,) = parse_message(f"message A\nversions 0\nfields\n  x int32 0+ = {text}").fields
    assert (field.default, type(field.default), field.has_default) == (value, type(value), True)


FACTS = """
api 12 Heartbeat
versions 0-4
flexible 4+
route group group_id
mutates
    # a note
line group >group_id
    # another
    gen >generation_id:known
request
    route  string  0+
    more   string  0+
response
"""


@pytest.mark.parametrize(
    ("word", "place", "text"),
    [
        ("route", "line 5: route", "group group_id"),
        ("mutates", "line 6: mutates", ""),
        ("line", "line 8: line", "group >group_id\n    gen >generation_id:known"),
    ],
)
def test_a_section_of_facts_is_text_for_its_reader(word: str, place: str, text: str) -> None:
    assert [field.name for field in parse_api(FACTS).request.fields] == ["route", "more"]
    section = find_section(FACTS, word)
    assert section is not None
    assert (section.place, section.text) == (place, text)
    assert str(section.error("it is wrong")) == f"{place}: it is wrong"


def test_a_section_that_is_not_there() -> None:
    assert find_section(FACTS, "example") is None
    with pytest.raises(DeclarationError, match="line 5: no word 'routes'"):
        parse_api(FACTS.replace("\nroute ", "\nroutes "))
