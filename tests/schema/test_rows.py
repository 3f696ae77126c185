"""A row per type and form, hex and value: decoded, encoded, cut at each byte, by walker and generated code."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from decoders.errors import DecodeError, LimitExceeded, Truncated
from decoders.limits import VALUES_MAX
from decoders.schema.api_declaration import Plan, parse_message, resolve
from decoders.schema.codegen_support import CRUDE
from decoders.schema.decode_and_encode import decode, decode_exactly, encode
from decoders.schema.lazy_decoder import get_decoder, get_encoder, get_json_decoder, get_projector
from decoders.schema.plan_walker import encode_by_walking
from tests.schema.readers import generated

ID = UUID("00112233-4455-6677-8899-aabbccddeeff")
LONG = "61" * 200
SIX = [{"x": number} for number in range(1, 7)]

# Type, options, flexible or not; bytes of the field; value; JSON form of the value.
ROWS: list[tuple[str, bool, str, Any, Any]] = [
    ("bool", False, "01", True, True),
    ("bool", False, "00", False, False),
    ("int8", False, "ff", -1, -1),
    ("int16", False, "8000", -32768, -32768),
    ("uint16", False, "ffff", 65535, 65535),
    ("int32", False, "7fff ffff", 2**31 - 1, 2**31 - 1),
    ("uint32", False, "ffff ffff", 2**32 - 1, 2**32 - 1),
    ("int64", False, "8000 0000 0000 0001", -(2**63) + 1, -(2**63) + 1),
    ("float64", False, "3ff8 0000 0000 0000", 1.5, 1.5),
    ("float64", False, "7ff0 0000 0000 0000", float("inf"), "Infinity"),
    ("float64", False, "fff0 0000 0000 0000", float("-inf"), "-Infinity"),
    ("uuid", False, "00112233445566778899aabbccddeeff", ID, "ABEiM0RVZneImaq7zN3u_w"),
    ("varint", False, "ff ff ff ff 0f", -(2**31), -(2**31)),
    ("varlong", False, "03", -2, -2),
    ("uvarint", False, "ff 01", 255, 255),
    ("string", False, "0003 616263", "abc", "abc"),
    ("string", False, "0000", "", ""),
    ("string", False, "0002 6100", "a\0", "a\0"),
    ("string", False, "0002 c3a9", "é", "é"),
    ("string", False, "0002 61ff", "a\udcff", {"base64": "Yf8="}),
    ("string null", False, "ffff", None, None),
    ("string", False, "00c8" + LONG, "a" * 200, "a" * 200),
    ("string", True, "04 616263", "abc", "abc"),
    ("string", True, "01", "", ""),
    ("string null", True, "00", None, None),
    ("string", True, "c901" + LONG, "a" * 200, "a" * 200),
    ("string inflexible", True, "0003 616263", "abc", "abc"),
    ("bytes", False, "0000 0002 00ff", b"\x00\xff", {"base64": "AP8="}),
    ("bytes", False, "0000 0002 6162", b"ab", "ab"),
    ("bytes null", False, "ffff ffff", None, None),
    ("bytes", True, "03 6162", b"ab", "ab"),
    ("bytes", True, "c901" + LONG, b"a" * 200, "a" * 200),
    ("bytes", True, "81 8001" + "62" * 16384, b"b" * 16384, "b" * 16384),
    ("bytes null", True, "00", None, None),
    ("records", False, "0000 0001 07", b"\x07", {"base64": "Bw=="}),
    ("records null", True, "00", None, None),
    ("[]int8", False, "0000 0002 01 ff", [1, -1], [1, -1]),
    ("[]int16", True, "03 0001 ffff", [1, -1], [1, -1]),
    ("[]int32", True, "01", [], []),
    ("[]int32 null", True, "00", None, None),
    ("[]int32 null", False, "ffff ffff", None, None),
    ("[]int64", True, "02 0000 0000 0000 0009", [9], [9]),
    ("[]int8", True, "c901" + "05" * 200, [5] * 200, [5] * 200),
    ("[]int8", False, "0000 00c8" + "05" * 200, [5] * 200, [5] * 200),
    ("[]bool", True, "03 00 01", [False, True], [False, True]),
    ("[]float64", True, "02 7ff0 0000 0000 0000", [float("inf")], ["Infinity"]),
    ("[]uuid", True, "02 00112233445566778899aabbccddeeff", [ID], ["ABEiM0RVZneImaq7zN3u_w"]),
    ("[]string", True, "03 02 61 01", ["a", ""], ["a", ""]),
    ("[]string null", False, "0000 0001 0001 61", ["a"], ["a"]),
    ("[]bytes", True, "02 03 0102", [b"\x01\x02"], [{"base64": "AQI="}]),
    ("[]varint", False, "0000 0002 02 01", [1, -1], [1, -1]),
    ("struct", True, "05 00", {"x": 5}, {"x": 5}),
    ("struct", False, "05", {"x": 5}, {"x": 5}),
    ("struct null", True, "01 05 00", {"x": 5}, {"x": 5}),
    ("struct null", True, "ff", None, None),
    ("struct null", False, "ff", None, None),
    ("[]struct", True, "03 05 00 06 00", [{"x": 5}, {"x": 6}], [{"x": 5}, {"x": 6}]),
    ("[]struct", False, "0000 0006 01 02 03 04 05 06", SIX, SIX),
    ("[]struct", True, "07" + "0100 0200 0300 0400 0500 0600", SIX, SIX),
    ("[]struct", True, "07" + "0100 0200 0300 0400 0500 06 01 09 01 aa",
     [*SIX[:5], {"x": 6, "_tagged_fields": {9: b"\xaa"}}],
     [*SIX[:5], {"x": 6, "_tagged_fields": {"9": {"base64": "qg=="}}}]),
    ("[]struct null", True, "00", None, None),
]  # fmt: skip


def plan_of(kind: str, flexible: bool) -> Plan:
    word, _, option = kind.partition(" ")
    option = "null 0+" if option == "null" else option
    inner = "\n        x int8 0+" if word.endswith("struct") else ""
    return resolve(
        parse_message(f"""
message Row
versions 0
flexible {"0+" if flexible else "none"}
fields
    before  int16  0+
    field   {word}  0+  {option}{inner}
    after   int8   0+
"""),
        0,
    )


@pytest.mark.parametrize(("kind", "flexible", "text", "value", "shown"), ROWS)
def test_forward_and_backward(kind: str, flexible: bool, text: str, value: Any, shown: Any) -> None:
    plan = plan_of(kind, flexible)
    data = bytes.fromhex("fffe" + text + "07" + ("00" if flexible else ""))
    whole = {"before": -2, "field": value, "after": 7}
    assert decode(plan, data) == decode_exactly(plan, data, 0, len(data)) == whole
    assert encode(plan, whole) == encode_by_walking(plan, whole) == data
    if "\\udc" not in ascii(value):
        assert get_encoder(plan)(whole) == data
    end = len(data)
    generated(get_decoder(plan))  # generates the code
    assert get_decoder(plan)(b"\xff" + data + b"\xff", 1, end + 1) == (whole, end + 1)
    assert get_json_decoder(plan)(data, 0, end, {}) == ({**whole, "field": shown}, end)
    assert get_projector(plan, frozenset(["field"]), False)(data, 0, end) == ({"field": value}, None, end)
    assert get_projector(plan, frozenset(["after"]), False)(data, 0, end) == ({"after": 7}, None, end)


@pytest.mark.parametrize(("kind", "flexible", "text", "value", "shown"), [row for row in ROWS if len(row[2]) < 9999])
def test_cut_at_each_byte(kind: str, flexible: bool, text: str, value: Any, shown: Any) -> None:
    plan = plan_of(kind, flexible)
    data = bytes.fromhex("fffe" + text + "07" + ("00" if flexible else ""))
    assert (decode(plan, data)["field"], shown is None) == (value, value is None)
    for size in range(len(data)):
        with pytest.raises(Truncated) as caught:
            decode(plan, data[:size])
        assert caught.value.offset <= size
        for read in (get_decoder(plan), get_projector(plan, frozenset(["after"]), False)):
            generated(read)  # generates the code
            with pytest.raises(CRUDE):
                read(data, 0, size)  # the buffer goes on behind `end`
            with pytest.raises(CRUDE):
                read(data[:size], 0, size)


BAD = [
    ("string", False, "ffff", "null"),
    ("string", True, "00", "null"),
    ("string", False, "8000", "length of -32768"),
    ("bytes", False, "ffff fffe", "length of -2"),
    ("[]int8", True, "00", "null"),
    ("[]int32", False, "7fff ffff", "2147483647 elements"),
    ("[]string", True, "ff ff ff ff 0f", "elements need"),
    ("bytes", True, "ff ff ff ff 0f", "bytes"),
    ("string", True, "80 80 80 80 80 80", "more than 5 bytes"),
]


@pytest.mark.parametrize(("kind", "flexible", "text", "words"), BAD)
def test_what_cannot_be(kind: str, flexible: bool, text: str, words: str) -> None:
    plan = plan_of(kind, flexible)
    data = bytes.fromhex("fffe" + text + "07" + ("00" if flexible else ""))
    with pytest.raises(DecodeError, match=words) as caught:
        decode(plan, data)
    assert caught.value.path == "field"
    for read in (get_decoder(plan), get_projector(plan, frozenset(["after"]), False)):
        with pytest.raises(CRUDE):
            read(data, 0, len(data))


def test_more_values_than_a_message_may_have() -> None:
    plan = plan_of("[]int8", False)
    count = VALUES_MAX + 1
    data = b"\0\0" + count.to_bytes(4, "big") + bytes(count) + b"\7"
    with pytest.raises(LimitExceeded) as caught:
        decode(plan, data)
    assert (caught.value.path, caught.value.offset, caught.value.reason) == ("field", 6, "limit")
    for read in (get_decoder(plan), get_projector(plan, frozenset(["after"]), False)):
        with pytest.raises(CRUDE):
            read(data, 0, len(data))
