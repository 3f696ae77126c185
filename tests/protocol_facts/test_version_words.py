"""Versions and releases as people write them."""

from __future__ import annotations

import pytest

from decoders.protocol_facts.kafka_releases import RELEASES
from decoders.protocol_facts.parse_versions_and_releases import (
    parse_api_version,
    parse_release_name,
    split_version_range,
)
from decoders.schema.api_declaration import Versions


@pytest.mark.parametrize(
    ("text", "version"),
    [("12", 12), ("v12", 12), ("V3", 3), ("latest", 17), ("MAX", 17), ("earliest", 4), ("min", 4), ("99", 99)],
)
def test_versions(text: str, version: int) -> None:
    assert parse_api_version(text, Versions(4, 17)) == version


@pytest.mark.parametrize("text", ["", "v", "12.0", "-1", "new", "v123456"])
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_api_version(text, Versions(4, 17))


@pytest.mark.parametrize(
    ("text", "release"),
    [
        *(
            ("2.8", "2.8"),
            ("2.8.2", "2.8"),
            ("v2.8.1", "2.8"),
            ("0.10", "0.10.2"),
            ("3", "3.9"),
            ("kafka-3.9.1", "3.9"),
        ),
        *(
            ("kafka-3.9.1", "3.9"),
            ("kafka_2.13-3.9.1", "3.9"),
            ("latest", RELEASES[-1]),
            ("oldest", RELEASES[0]),
            (" 4.0 ", "4.0"),
        ),
    ],
)
def test_releases(text: str, release: str) -> None:
    assert parse_release_name(text) == release


@pytest.mark.parametrize("text", ["", "9.9", "2.88", "two", "2.x"])
def test_what_is_no_release(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_release_name(text)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        *(("3.9..4.0", ("3.9", "4.0")), ("3.9...4.0", ("3.9", "4.0")), ("3.9-4.0", ("3.9", "4.0"))),
        *(("12..13", ("12", "13")), ("v12:latest", ("v12", "latest")), ("2.8.1,4.0", ("2.8.1", "4.0"))),
        *(("3.9", None), ("12", None), ("Fetch", None), ("", None), ("3..", None)),
    ],
)
def test_ranges(text: str, ends: tuple[str, str] | None) -> None:
    assert split_version_range(text) == ends
