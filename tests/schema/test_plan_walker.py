"""Rows of a declaration, bytes and values, read and written by the walker."""

from __future__ import annotations

import pytest

from decoders.errors import DecodeError, EncodeError, Malformed, Truncated, UnsupportedVersion
from decoders.schema.api_declaration import parse_message, resolve
from decoders.schema.decode_and_encode import decode, decode_partial, encode
from decoders.schema.plan_walker import Span, decode_by_walking

THING = parse_message("""
message Thing
versions 0-3
flexible 2+
fields
    id        int32     0+
    name      string    0+  null 1+
    parts     []struct  0+
        index     int16    0+
        codes     []int32  0+
        at_time   int64    3+  tag 1  = -1
    extra     struct    2+  null 3+
        flag      bool     0+
    note      string    2+  tag 0  null 2+  = null
    epoch     int32     1+  = -1  ignorable
    wide      int64     1   = 5
""")

ROWS = [
    (0, "0000 0007 | 0001 61 | 0000 0000", {"id": 7, "name": "a", "parts": []}),
    (1, "0000 0007 | ffff | 0000 0000 | ffff ffff | 0000 0000 0000 0005",
     {"id": 7, "name": None, "parts": [], "epoch": -1, "wide": 5}),
    (2, "0000 0007 | 02 61 | 02 0001 03 0000 0001 0000 0002 00 | 01 00 | 0000 0003 | 00",
     {"id": 7, "name": "a", "parts": [{"index": 1, "codes": [1, 2]}], "extra": {"flag": True}, "epoch": 3}),
    (3, "0000 0007 | 00 | 02 0001 01 01 01 08 0000 0000 0000 0009 | ff | 0000 0003 | 02 00 02 02 62 07 01 63",
     {"id": 7, "name": None, "parts": [{"index": 1, "codes": [], "at_time": 9}], "extra": None, "epoch": 3,
      "note": "b", "_tagged_fields": {7: b"c"}}),
]  # fmt: skip


def raw(text: str) -> bytes:
    return bytes.fromhex(text.replace("|", ""))


@pytest.mark.parametrize(("version", "text", "value"), ROWS)
def test_rows_forward_and_backward(version: int, text: str, value: dict[str, object]) -> None:
    plan = resolve(THING, version)
    assert decode(plan, raw(text)) == value
    assert list(decode(plan, raw(text))) == list(value)
    assert encode(plan, value) == raw(text)
    assert decode_partial(plan, raw(text)) == (value, None)


@pytest.mark.parametrize(("version", "text", "value"), ROWS)
def test_spans_tile_the_bytes(version: int, text: str, value: dict[str, object]) -> None:
    spans: list[Span] = []
    data = b"xx" + raw(text) + b"yy"
    assert decode_by_walking(resolve(THING, version), data, 2, len(data) - 2, spans) == (value, len(data) - 2)
    assert [span.at for span in spans] == [2, *(span.end for span in spans[:-1])]
    assert spans[-1].end == len(data) - 2


@pytest.mark.parametrize(("version", "text", "value"), ROWS)
def test_cut_at_each_byte(version: int, text: str, value: dict[str, object]) -> None:
    plan = resolve(THING, version)
    data = raw(text)
    for size in range(len(data)):
        with pytest.raises(Truncated) as caught:
            decode(plan, data[:size])
        assert caught.value.offset <= size
        assert caught.value.path
        fields, failure = decode_partial(plan, data[:size])
        assert str(failure) == str(caught.value)
        assert list(fields) == list(value)[: len(fields)]
    with pytest.raises(Malformed, match="1 byte after"):
        decode(plan, data + b"z")
    assert decode(plan, data + b"z", strict=False) == {**value, "_trailing": b"z"}


BAD = [
    (0, "0000 0007 | ffff | 0000 0000", "name", 4, "null where"),
    (0, "0000 0007 | fffe | 0000 0000", "name", 4, "length of -2"),
    (0, "0000 0007 | 0001 61 | 0000 0001 0001 0000 0009", "parts[0].codes", 17, "9 elements"),
    (0, "0000 0007 | 0000 | ffff ffff", "parts", 6, "null where"),
    (2, "0000 0007 | 80 80 80 80 80 01", "name", 4, "more than 5 bytes"),
    (2, "0000 0007 | ff ff ff ff 7f", "name", 4, "beyond 32 bits"),
    (2, "0000 0007 | 01 | 01 | 01 00 | 0000 0003 | 01 00 03 02 62 63", "note", 15, "says 3 bytes"),
    (2, "0000 0007 | 01 | 01 | 01 01 09", "extra._tagged_fields", 8, "1 elements need 2"),
]


@pytest.mark.parametrize(("version", "text", "path", "offset", "words"), BAD)
def test_errors_say_where(version: int, text: str, path: str, offset: int, words: str) -> None:
    with pytest.raises(DecodeError, match=words) as caught:
        decode(resolve(THING, version), raw(text))
    assert (caught.value.path, caught.value.offset) == (path, offset)


WRONG = [
    (0, {"id": "x"}, "id: int32 expected"),
    (0, {"id": 1 << 31}, "id: 2147483648 is outside int32"),
    (0, {"name": None}, "name: null is not allowed"),
    (0, {"name": "x" * 40000}, "name: 40000 is too long"),
    (0, {"parts": [{}, {"index": 1.5}]}, r"parts\[1\].index: int16 expected"),
    (0, {"parts": [{"codes": [1, None]}]}, r"parts\[0\].codes\[1\]: int32 expected"),
    (0, {"wide": 6}, "wide: version 0 cannot carry it; versions 1 have it"),
    (0, {"nmae": ""}, "nmae: no such field; there are id, name, parts"),
    (0, {"_tagged_fields": {9: b""}}, "_tagged_fields: this version has no tagged fields"),
    (2, {"_tagged_fields": {0: b""}}, "_tagged_fields.0: tag 0 is note"),
    (2, {"_tagged_fields": {2**31 - 1: b""}}, "_tagged_fields.2147483647: a tag is 0 to"),
    (2, {"extra": {"flag": 2}}, "extra.flag: true or false expected"),
    (2, [], "a struct"),
]


@pytest.mark.parametrize(("version", "value", "words"), WRONG)
def test_values_that_do_not_fit(version: int, value: dict[str, object], words: str) -> None:
    with pytest.raises(EncodeError, match=words):
        encode(resolve(THING, version), value)


def test_defaults_fill_in() -> None:
    plan = resolve(THING, 3)
    assert encode(plan, {}) == raw("0000 0000 | 01 | 01 | 01 00 00 | ffff ffff | 00")
    assert encode(plan, {"note": None, "wide": 5, "_tagged_fields": {"9": b"x"}}) == raw(
        "0000 0000 | 01 | 01 | 01 00 00 | ffff ffff | 01 09 01 78"
    )
    assert encode(resolve(THING, 0), {"epoch": 7}) == encode(resolve(THING, 0), {})


def test_versions_outside_the_declaration() -> None:
    assert resolve(THING, 1) is resolve(THING, 1)
    with pytest.raises(UnsupportedVersion, match="0-3, not 4"):
        resolve(THING, 4)
