"""Words for APIs, structures, releases and versions, and what is said of those that name none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from decoders.apis import NAMES, api
from decoders.protocol_facts.kafka_releases import RELEASES
from decoders.protocol_facts.parse_versions_and_releases import split_version_range
from kwcli.names_in_any_spelling import find_api, find_release, find_structure_name, find_version, parse_api_version
from kwcli.run_environment import Exit, Failure

METADATA = api("Metadata")
NEWEST = METADATA.versions.high
KNOWN = f"kw knows {RELEASES[0]} to {RELEASES[-1]}"


def find_version_of_metadata(word: str) -> int:
    return find_version(METADATA, word)


def parse_version_of_metadata(word: str) -> int:
    return parse_api_version(METADATA, word)


@pytest.mark.parametrize(
    ("find", "word", "found"),
    [
        (find_api, "meta-data", "Metadata"),
        (find_api, "3", "Metadata"),
        (find_api, "99", f"no API has the number 99 (kw knows 0 to {max(NAMES)})"),
        (
            find_api,
            "10001",
            f"no API has the number 10001 (kw knows 0 to {max(NAMES)}); Confluent's own APIs begin at 10000",
        ),
        (find_api, "9" * 21, f"no API has the number {'9' * 20} (kw knows 0 to {max(NAMES)})"),
        (find_api, "-1", "no API has the name '-1'"),
        (find_api, "²", "no API has the name '²'"),
        (find_api, "Metdata", "no API has the name 'Metdata' (did you mean \"Metadata\"?)"),
        (find_api, "x" * 81, f"no API has the name '{'x' * 80}'"),
        (find_structure_name, "offset-commit-key", "OffsetCommitKey"),
        (
            find_structure_name,
            "OffsetCommitKye",
            "no structure 'OffsetCommitKye' (did you mean \"OffsetCommitKey\"?); kw decode --as list shows all",
        ),
        (find_structure_name, "x" * 81, f"no structure '{'x' * 80}'; kw decode --as list shows all"),
        (find_release, "v3.9.1", "3.9"),
        (find_release, "kafka_2.13-3.9.1", "3.9"),
        (find_release, "0.10", "0.10.2"),
        (find_release, "3", "3.9"),
        (find_release, "latest", RELEASES[-1]),
        (find_release, "oldest", RELEASES[0]),
        (find_release, "V3.99", f'no release V3.99 (did you mean "3.9"?); {KNOWN}'),
        (find_release, "9.9", f"no release 9.9; {KNOWN}"),
        (find_release, "x" * 81, f"no release {'x' * 80}; {KNOWN}"),
        (find_version_of_metadata, "v12", 12),
        (find_version_of_metadata, "latest", NEWEST),
        (find_version_of_metadata, "first", 0),
        (find_version_of_metadata, "99", f"Metadata has versions 0-{NEWEST}, not 99"),
        (parse_version_of_metadata, "99", 99),
        (parse_version_of_metadata, "x", f"'x' is no version of Metadata: write {NEWEST}, v{NEWEST} or latest"),
        (
            parse_version_of_metadata,
            "9" * 81,
            f"'{'9' * 80}' is no version of Metadata: write {NEWEST}, v{NEWEST} or latest",
        ),
    ],
)
def test_a_word_names_something_or_the_error_says_what_there_is(
    find: Callable[[str], Any], word: str, found: object
) -> None:
    try:
        named = find(word)
    except Failure as failure:
        named = failure.text if failure.code == Exit.USAGE else failure
    assert getattr(named, "name", named) == found


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("3.9..4.0", ("3.9", "4.0")),
        ("3.9...4.0", ("3.9", "4.0")),
        ("12-13", ("12", "13")),
        ("v12:v13", ("v12", "v13")),
        ("2.8,latest", ("2.8", "latest")),
        (" 3.9 - 4.0 ", ("3.9", "4.0")),
        ("3.9", None),
        ("a..b..c", None),
    ],
)
def test_a_range_has_two_ends(text: str, ends: tuple[str, str] | None) -> None:
    assert split_version_range(text) == ends
