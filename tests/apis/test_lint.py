"""The lint of declarations: one mistake a row, on an otherwise clean API."""

from __future__ import annotations

import pytest

from decoders.schema.api_declaration import parse_api, parse_message
from tests.apis.lint import check_api, check_message

HEAD = "api 500 Probe\nversions 0-3\nflexible 2+\nlisteners broker\nrequest\n"
CLEAN = """
    name     string    0+  null 1+  = null
    value    string    0+  secret unless name
    port     uint16    0+  = 9092
    rate     float64   0+  = 0.5
    on       bool      0+  = true
    extra    struct    2+  tag 0  null 2+  = null
        id       uuid      2+
    more     []int32   1+  tag 1 2+
    twice    int8      0-1
    twice    int16     2+  was older
response
early response 0 in 3.9
    gone     int8      0
"""


def test_a_clean_declaration() -> None:
    assert check_api(parse_api(HEAD + CLEAN)) == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("camelCase int8 0+", "camelCase: not snake_case"),
        ("a int8 5+", "a: versions 5+ are none of 0-3"),
        ("a string 1+  null 0+", "a: null 0+ outside its versions"),
        ("a int8 0+  null 0+", "a: int8 cannot be null"),
        ("a uuid 0+  null 0+", "a: uuid cannot be null"),
        ("a int8 0+  tag 0", "a: tagged 0+ in versions that have no tags"),
        ("a int8 2+  tag 0\n    b int8 2+  tag 0", "the message: a tag twice in version 2"),
        ("a int8 0+\n    a int16 3+", "a: twice in version 3"),
        ("a string 0+  = null", "a: null is its default but not allowed"),
        ("a []int8 0+  = 1", "a: 1 is no default for it"),
        ("a int8 0+  = 128", "a: default 128 is no int8"),
        ("a uint16 0+  = -1", "a: default -1 is no uint16"),
        ("a int8 0+  = true", "a: default True is no int8"),
        ("a bool 0+  = 1", "a: default 1 is no bool"),
        ('a int32 0+  = "1"', "a: default '1' is no int32"),
        ("a int32 0+  secret", "a: int32 cannot be secret"),
        ("a string 0+  secret unless b\n    b string 0+", "a: no string b before it to tell whether it is secret"),
        ("b int8 0+\n    a string 0+  secret unless b", "a: no string b before it to tell whether it is secret"),
        ("a int8 0+  was b\n    b int8 3+", "a: its older name b is another field's name"),
        ("s struct 0+\n        a int8 0+  null 0+", "s.a: int8 cannot be null"),
    ],
)
def test_mistakes(line: str, problem: str) -> None:
    assert f"ProbeRequest: {problem}" in check_api(parse_api(f"{HEAD}    {line}\nresponse"))


def test_mistakes_of_the_whole() -> None:
    text = "api 500 Probe\nversions 0\nflexible none\nrequest\nresponse\nearly answer 0 in 3.9\n  a int8 0\n"
    assert check_api(parse_api(text + "early request 7 in 3.9\n  a int8 7")) == [
        "Probe early answer 0 in 3.9: no such side",
        "Probe early request 7 in 3.9: no such version",
        "Probe: who answers it? listeners are missing",
    ]
    assert check_message(parse_message("message Probe\nfields\n  a int8 0+")) == [
        "no versions",
        "a: versions 0+ are none of none",
    ]
