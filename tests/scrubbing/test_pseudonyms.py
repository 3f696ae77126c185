"""Pseudonyms are one-to-one, of the same length, and keep the relations between addresses and names."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import product
from string import ascii_letters, ascii_lowercase
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from decoders.scrubbing.pseudonyms import Pseudonyms
from decoders.wire.primitive_types import format_uuid

HERE = Pseudonyms(b"one key")
THERE = Pseudonyms(b"another key")


def test_short_names_are_mapped_one_to_one_and_none_to_itself() -> None:
    for size in (1, 2):
        names = ["".join(letters) for letters in product(ascii_lowercase, repeat=size)]
        made = [HERE.text(name) for name in names]
        assert sorted(made) == names
        assert all(name != pseudonym for name, pseudonym in zip(names, made, strict=True))


def test_octets_are_mapped_one_to_one() -> None:
    for place in range(4):
        made = [HERE.four(bytes(number if at == place else 10 for at in range(4)))[place] for number in range(256)]
        assert sorted(made) == list(range(256))
        assert [len(str(number)) for number in made] == [len(str(number)) for number in range(256)]
        same = [number for number, pseudonym in enumerate(made) if number == pseudonym]
        assert same == ([] if place else [127])  # loopback


def test_a_key_makes_the_same_pseudonyms_again_and_another_one_others() -> None:
    names = [f"orders-{number}" for number in range(50)]
    assert [Pseudonyms(b"one key").text(name) for name in names] == [HERE.text(name) for name in names]
    assert [THERE.text(name) for name in names] != [HERE.text(name) for name in names]


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_text_becomes_another_of_the_same_bytes(first: str, second: str) -> None:
    texts = [text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape") for text in (first, second)]
    made = [HERE.text(text) for text in texts]
    for text, pseudonym in zip(texts, made, strict=True):
        size = len(text.encode("utf-8", "surrogateescape"))
        assert len(pseudonym.encode("utf-8", "surrogateescape")) == size
        assert [part.isalnum() for part in text if part.isascii()] == [p.isalnum() for p in pseudonym if p.isascii()]
    assert (texts[0] == texts[1]) is (made[0] == made[1])


@pytest.mark.parametrize(
    "name",
    ["orders-dlq", "connect-orders", "consumer-orders-1", "orders.orders", "app-orders-changelog", "User:orders"],
)
def test_words_are_the_same_in_every_name(name: str) -> None:
    assert HERE.text(name).count(HERE.text("orders")) == name.count("orders")
    assert "orders" not in HERE.text(name)


def test_uuids_stay_uuids() -> None:
    made = HERE.text("app-6fe0e8a8-1b2c-4d3e-8f90-0123456789ab")
    assert made.partition("-")[0] == HERE.text("app")
    assert all(len(part) == size for part, size in zip(made.split("-")[1:], (8, 4, 4, 4, 12), strict=True))
    assert set(made.partition("-")[2]) <= set("0123456789abcdef-")


@given(st.ip_addresses())
def test_an_address_in_packets_is_its_text_in_every_form(address: IPv4Address | IPv6Address) -> None:
    found = ip_address(str(address))
    assume(not (isinstance(found, IPv6Address) and found.ipv4_mapped))
    made = HERE.address_pseudonym(found.packed)
    for text in {found.compressed, found.exploded, found.compressed.upper(), str(found)}:
        pseudonym = HERE.text(text)
        assert len(pseudonym) == len(text)
        assert ip_address(pseudonym).packed == made, text
    host = HERE.text(f"[{found}]:9092" if found.version == 6 else f"{found}-x")
    assert str(ip_address(made)) in host


@given(st.ip_addresses(v=6))
def test_an_ipv4_address_at_the_end_of_an_ipv6_address_is_that_one(address: IPv6Address) -> None:
    groups, four = address.exploded[:29], str(IPv4Address(address.packed[12:]))
    made = HERE.text(f"{groups}:{four}")
    assert made == f"{HERE.text(address.exploded)[:29]}:{HERE.text(four)}"
    assert ip_address(made).version == 6


@pytest.mark.parametrize("text", ["::ffff:10.1.2.3", "::FFFF:10.1.2.3", "0:0:0:0:0:ffff:10.1.2.3"])
def test_an_ipv4_mapped_address_stays_one(text: str) -> None:
    assert HERE.text(text) == text.replace("10.1.2.3", HERE.text("10.1.2.3"))
    assert HERE.six(ip_address(text).packed)[12:] == HERE.four(bytes((10, 1, 2, 3)))


@pytest.mark.parametrize("text", ["::ffff:0:0", "::ffff:a01:203", "::FFFF:C0A8:1", "0:0:0:0:0:ffff:a:ffff"])
def test_an_ipv4_address_in_hexadecimal_digits_keeps_its_shape(text: str) -> None:
    made = HERE.text(text)
    assert [len(group) for group in made.split(":")] == [len(group) for group in text.split(":")]
    address = ip_address(made)
    assert isinstance(address, IPv6Address)
    assert address.ipv4_mapped
    digits = text.split(":")[-2:]
    assert all(group != digit or digit == "0" for group, digit in zip(made.split(":")[-2:], digits, strict=True))


@pytest.mark.parametrize("text", ["ip-10-1-2-3.ec2.internal", "10_1_2_3", "10.1.2.3:9092", "http://10.1.2.3:8083/"])
def test_an_address_inside_a_name_is_that_one(text: str) -> None:
    found = HERE.text(text).replace("-", ".").replace("_", ".")
    assert HERE.text("10.1.2.3") in found


@pytest.mark.parametrize("text", ["300.1.2.3", "1.2.3", "01.2.3.4", "1:2:3", "a::b::c", "::", "1.2.3.4.5"])
def test_what_is_no_address_keeps_its_shape(text: str) -> None:
    made = HERE.text(text)
    assert [part if not part.isalnum() else "x" for part in made] == [p if not p.isalnum() else "x" for p in text]


@pytest.mark.parametrize(
    "text",
    ["127.0.0.1", "127.0.1.1", "127.255.255.254", "::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:FFFF:7F12:345"],
)
def test_loopback_stays_loopback(text: str) -> None:
    for each in (HERE, THERE):
        made = ip_address(each.text(text))
        four = getattr(made, "ipv4_mapped", None) or made
        assert four.is_loopback
        assert four != (getattr(ip_address(text), "ipv4_mapped", None) or ip_address(text))
        assert len(each.text(text)) == len(text)
        if "7f" not in text.lower():
            assert made.packed == each.address_pseudonym(ip_address(text).packed)


@pytest.mark.parametrize("text", ["::1", "0:0:0:0:0:0:0:1", "0000:0000:0000:0000:0000:0000:0000:0001", "::0:1"])
def test_the_loopback_of_ipv6_stays(text: str) -> None:
    assert HERE.text(f"[{text}]") == f"[{text}]"
    assert HERE.six(ip_address(text).packed) == ip_address(text).packed


def test_no_other_address_becomes_loopback() -> None:
    fours = [bytes((first, 1, 2, 3)) for first in range(256) if first != 127]
    assert not any(IPv4Address(HERE.four(each)).is_loopback for each in fours)
    sixes = [IPv6Address(number) for number in (*range(2, 300), 0x10001, 0x1_0000_0001)]
    made = {HERE.six(each.packed) for each in sixes}
    assert len(made) == len(sixes)
    assert made == {ip_address(HERE.text(str(each))).packed for each in sixes}
    assert not any(IPv6Address(each).is_loopback for each in made)
    mapped = [f"::ffff:{group:x}:1" for group in range(0x7E00, 0x8100)]
    shown = [ip_address(HERE.text(each)) for each in mapped]
    assert len(set(shown)) == len(mapped)
    assert sum(IPv4Address(each.packed[12:]).is_loopback for each in shown) == 256


def test_uuids_become_others() -> None:
    uuids = [UUID(int=number) for number in (256, 10**9, 2**128 - 1)] + [UUID(bytes=b"payroll-2026-q3!")]
    made = [UUID(bytes=HERE.uuid_pseudonym(each.bytes)) for each in uuids]
    assert len({*made, *uuids}) == 2 * len(uuids)
    assert [each.version for each in made] == [4] * len(made)
    assert all(HERE.uuid_pseudonym(bytes(15) + bytes((number,)))[15] == number for number in (0, 1, 255))
    assert not any(format_uuid(HERE.uuid_pseudonym(number.to_bytes(16))).startswith("-") for number in range(256, 700))


@pytest.mark.parametrize(
    ("packed", "size", "stays"),
    [
        (b"\0\0\0\7", b"\0\0aa", True),
        (b"\0abc", b"", False),
        (b"abcd", b"", False),
        (b"ab\0\0", b"\0\0\0a", True),
        (b"ab\0\0", b"\0\0aa", False),
        (b"\xff\xff\xff\xff", b"", True),
    ],
)
def test_correlation_ids_that_spell_text_become_others(packed: bytes, size: bytes, stays: bool) -> None:
    made = HERE.harmless_correlation_id(packed, size)
    assert (made == packed) is stays
    assert HERE.harmless_correlation_id(made, size) == made
    assert stays or not any(byte in ascii_letters.encode() for byte in made)


def test_hardware_addresses() -> None:
    made = HERE.mac_address_pseudonym(bytes.fromhex("001122334455"))
    assert (len(made), made[0] & 3) == (6, 2)
    assert HERE.mac_address_pseudonym(bytes.fromhex("011122334455"))[0] & 1
    assert HERE.mac_address_pseudonym(b"\xff" * 6) == b"\xff" * 6
    assert HERE.mac_address_pseudonym(bytes(6)) == bytes(6)
    assert len({HERE.mac_address_pseudonym(bytes((0, 1, 2, 3, 4, number))) for number in range(256)}) == 256
