"""Releases without definitions, 0.8.2 to 2.1: every layout against the schemas in their classes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from decoders.apis import KEYS
from decoders.protocol_facts.kafka_releases import RELEASES
from kwcli.reference.api_at_release import find_api_in_release
from kwcli.reference.wire_layout import make_wire_layouts
from tests.broker.jars import client_jars
from tests.reference.jars import FIRST_DEFINITIONS, release_jars

ROOT = Path(__file__).resolve().parents[2]
OLD = RELEASES[: RELEASES.index(FIRST_DEFINITIONS)]
# Different words for the same bytes. Nullable text was allowed later for versions that had long been published.
WORDS = {"boolean": "int8", "bool": "int8", "records": "bytes", "nullable_bytes": "bytes", "nullable_string": "string"}


@pytest.fixture(scope="module")
def schemas() -> dict[str, dict[str, Any]]:
    """The shapes of request and response by release, API key and version."""
    jars = {release: str(path) for release, path in release_jars().items() if release in OLD}
    (logging,) = (str(path) for path in client_jars("4.4.0") if path.name.startswith("slf4j-api"))
    command = [sys.executable, "-m", "tests.reference.java_schemas", logging, *jars.values()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    return {release: found[jar] for release, jar in jars.items()}


def shape(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Our rows in the form of the schemas."""
    for row in rows:
        array = row["type"].startswith("[]")
        kind = row["type"].removeprefix("[]")
        if array:
            yield "["
        if kind == "struct":
            yield from shape(row["fields"])
        else:
            yield WORDS.get(kind, kind)
        if array:
            yield "]"


@pytest.mark.oracle
@pytest.mark.long
@pytest.mark.parametrize("release", OLD)
def test_every_layout_of_an_old_release_is_that_of_its_classes(schemas: dict[str, Any], release: str) -> None:
    theirs = schemas[release]
    assert {key for key in KEYS if find_api_in_release(key, release)} == {int(key) for key in theirs}
    for key, versions in theirs.items():
        mine = find_api_in_release(int(key), release)
        assert mine is not None
        assert list(range(mine.versions.low, mine.versions.high + 1)) == sorted(map(int, versions)), mine.name
        for version, shapes in versions.items():
            row = make_wire_layouts(mine, int(version), release)
            for side, text in zip(("request", "response"), shapes, strict=True):
                expected = [WORDS.get(word, word) for word in text.lower().split()]
                assert list(shape(row[side]["body"])) == expected, (mine.name, side, version)


@pytest.mark.parametrize(
    ("release", "fields", "of_partitions"),
    [
        (
            *("0.10.0", "replica_id max_wait_ms min_bytes topics"),
            "partition fetch_offset partition_max_bytes",
        ),
        (
            *("0.10.1", "replica_id max_wait_ms min_bytes max_bytes topics"),
            "partition fetch_offset partition_max_bytes",
        ),
        (
            *("0.11.0", "replica_id max_wait_ms min_bytes max_bytes isolation_level topics"),
            "partition fetch_offset log_start_offset partition_max_bytes",
        ),
        (
            "1.1",
            "replica_id max_wait_ms min_bytes max_bytes isolation_level session_id session_epoch topics"
            " forgotten_topics_data",
            "partition fetch_offset log_start_offset partition_max_bytes",
        ),
    ],
)
def test_fields_of_fetch_that_a_release_has(release: str, fields: str, of_partitions: str) -> None:
    found = find_api_in_release(1, release, names=False)
    assert found is not None
    assert [field.name for field in found.request.fields] == fields.split()
    (topics,) = (field for field in found.request.fields if field.name == "topics")
    assert [field.name for field in topics.fields] == ["topic", "partitions"]
    assert [field.name for field in topics.fields[1].fields] == of_partitions.split()
