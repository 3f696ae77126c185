"""Addresses as people and brokers write them, and the words for what is none."""

from __future__ import annotations

import pytest

from decoders.limits import HOST_MAX
from kwcli.net.parse_addresses import (
    AddressError,
    find_address_problem,
    format_address,
    parse_address,
    parse_addresses,
)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("h", ("h", 9092)),
        (" h:1 ", ("h", 1)),
        ("h:65535", ("h", 65535)),
        ("SSL://h:9093/", ("h", 9093)),
        ("[::1]", ("::1", 9092)),
        ("[::1]:1", ("::1", 1)),
        ("::1", ("::1", 9092)),
        ("h:0", "'h:0' has no port between 1 and 65535"),
        ("h:65536", "'h:65536' has no port between 1 and 65535"),
        ("h:1234567", "'h:1234567' has no port between 1 and 65535"),
        ("h:", "'h:' has no port between 1 and 65535"),
        ("h:x", "'h:x' has no port between 1 and 65535"),
        ("h:²", "'h:²' has no port between 1 and 65535"),
        ("[::1", "'[::1' is no address: write [IPv6]:port"),
        ("[::1]x", "'[::1]x' is no address: write [IPv6]:port"),
        (":1", "':1' is no address: write host:port"),
        ("a b:1", "'a b:1' is no address: write host:port"),
        ("a/b:1", "'a/b:1' is no address: write host:port"),
        ("user@h:1", "'{redacted 4}@h:1' is no address: write host:port"),
        ("SSL://user:pass@h:1", "'SSL://{redacted 9}@h:1' is no address: write host:port"),
    ],
)
def test_an_address(text: str, address: tuple[str, int] | str) -> None:
    try:
        found: object = parse_address(text)
    except AddressError as failure:
        found = str(failure)
    assert found == address


def test_a_port_may_be_asked_for() -> None:
    with pytest.raises(AddressError, match=r"^'h' has no port: write host:port$"):
        parse_address("h", None)
    assert parse_address("h", 7) == ("h", 7)


def test_a_list_of_addresses() -> None:
    assert parse_addresses(" a, ,b:1,", 2) == (("a", 2), ("b", 1))
    with pytest.raises(AddressError, match=r"^there is no host:port in it$"):
        parse_addresses(" , ")


@pytest.mark.parametrize(
    ("where", "text"),
    [(("h", 1), "h:1"), (("::1", 1), "[::1]:1"), (("h" * HOST_MAX, 1), f"{'h' * HOST_MAX}:1")],
)
def test_an_address_as_text(where: tuple[str, int], text: str) -> None:
    assert format_address(where) == text
    longer = format_address(("h" * (HOST_MAX + 1), 1))
    assert longer.endswith("h…:1")
    assert len(longer) < HOST_MAX


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        (("h", 1), None),
        (("h", 65535), None),
        (("h", 0), "a port is between 1 and 65535"),
        (("h", 65536), "a port is between 1 and 65535"),
        (("", 1), "it names no host"),
        (("h" * HOST_MAX, 1), None),
        (("h" * (HOST_MAX + 1), 1), f"its host has {HOST_MAX + 1:,} characters, and none has more than {HOST_MAX}"),
        (("a b", 1), "it cannot be a host name"),
        (("a\x07", 1), "it cannot be a host name"),
        (("bücher.example", 1), None),
        (("ü" * 64, 1), "it cannot be a host name"),
    ],
)
def test_an_address_of_an_answer_may_be_impossible(where: tuple[str, int], problem: str | None) -> None:
    assert find_address_problem(where) == problem
