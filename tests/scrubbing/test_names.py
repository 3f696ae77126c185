"""Texts of each kind, and what stays of them."""

from __future__ import annotations

import pytest

from decoders.scrubbing.pseudonyms import Pseudonyms
from decoders.scrubbing.replace_names import NameReplacer


@pytest.mark.parametrize(
    "text",
    [
        "localhost",
        "LOCALHOST",
        "localhost:9092",
        "http://localhost:8083/",
        "localhost.localdomain",
        "localhost6.localdomain6",
        "ip6-loopback",
        "localhost.",
        "[::1]:9092",
        "::1",
    ],
)
def test_a_host_that_is_everybodys_own_stays(text: str) -> None:
    names = NameReplacer(Pseudonyms(b"key"))
    assert names.replace_text("hosts", text) == text
    assert (names.replaced, names.kept) == ({}, {text})
    assert names.replace_text("topics", "localhost") != "localhost"


@pytest.mark.parametrize(
    ("text", "end"),
    [("kafka.localhost:9092", ".localhost:9092"), ("a.b.localhost.localdomain", ".localhost.localdomain")],
)
def test_names_above_it_are_replaced(text: str, end: str) -> None:
    made = NameReplacer(Pseudonyms(b"key")).replace_text("hosts", text)
    assert made.endswith(end)
    assert made != text
    assert len(made) == len(text)


@pytest.mark.parametrize("text", ["localhosts", "mylocalhost", "localhost-7", "localhost.example", "xlocalhost:9092"])
def test_other_hosts_are_replaced(text: str) -> None:
    assert "localhost" not in NameReplacer(Pseudonyms(b"key")).replace_text("hosts", text)
