"""A scrubbed recording holds nothing of its values, keys and schemas, and closing lines say nothing of them."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.captures.plain import conversations
from tests.captures.shipped import capture_bytes
from tests.cli.worlds import kw
from tests.serializers.test_recorded_values import RECORDINGS, capture_of, shown, write_schema_files, written

# Shorter texts, and bytes that are mostly equal, are anywhere by chance.
_LEAST_TEXT = 4
_LEAST_VARIETY = 4
_WORDS_OF_KAFKA = {"share"}  # a feature of brokers: share.version
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+\.\d{6}Z")


def leaves(value: Any) -> Iterator[Any]:
    """The texts and numbers in a JSON value, names of members too."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def zigzag(number: int) -> bytes:
    left, out = number << 1 ^ number >> 63, bytearray()
    while left > 127:
        out.append(left & 127 | 128)
        left >>= 7
    return bytes([*out, left])


def encodings(leaf: Any) -> Iterator[bytes]:
    """What would give a leaf away: a text as it is, a number as its digits, a varint, or 8 bytes."""
    if isinstance(leaf, str) and len(leaf) >= _LEAST_TEXT and leaf not in _WORDS_OF_KAFKA:
        yield leaf.encode()
        if _TIME.fullmatch(leaf):
            yield zigzag(round(datetime.fromisoformat(leaf).timestamp() * 10**6))
    elif isinstance(leaf, int) and not isinstance(leaf, bool):
        yield str(leaf).encode()
        if -1 << 63 <= leaf < 1 << 63:
            yield from (zigzag(leaf), struct.pack(">q", leaf), struct.pack("<q", leaf))
    elif isinstance(leaf, float):
        yield struct.pack("<d", leaf)


def secrets(name: str) -> set[bytes]:
    """The encodings of all that a recording's records and schemas say."""
    found = {data for row in written(name)["records"] for field in ("key", "value") if row[field] is not None
             for leaf in leaves(row[field]["value"]) for data in encodings(leaf)
             if len(set(data)) >= _LEAST_VARIETY}  # fmt: skip
    for row in written(name)["schemas"]:
        found |= {row["schema"].encode(), json.dumps(row["schema"])[1:-1].encode()}
        found |= {word for word in (b"customer", b"ship_to", b"street", b"voucher") if word in row["schema"].encode()}
    return found


@pytest.mark.parametrize(
    "name", [*RECORDINGS[:1], *(pytest.param(each, marks=pytest.mark.long) for each in RECORDINGS[1:])]
)
def test_a_scrubbed_recording_says_nothing(name: str, tmp_path: Path) -> None:
    before = [bytes(side.data) for talk in conversations(capture_bytes(f"values/{name}.pcapng.zst"))
              for side in (talk.first, talk.second)]  # fmt: skip
    assert sum(any(secret in each for each in before) for secret in secrets(name)) > 3
    made = tmp_path / "b.pcapng"
    assert kw("scrub", capture_of(name), str(made)).code == 0
    data = made.read_bytes()
    # A text may be cut by the borders of packets, so streams are searched too.
    streams = [bytes(side.data) for talk in conversations(data) for side in (talk.first, talk.second)]
    kept = {secret for secret in secrets(name) if any(secret in each for each in (data, *streams))}
    assert kept == set()
    write_schema_files(name, tmp_path)
    found = shown(str(made), "--schemas", str(tmp_path))
    records = [record for lists in found.values() for rows in lists for record in rows]
    assert len(records) >= len(written(name)["records"])
    for record in records:
        assert "value_decoded" not in record or record["value_decoded"]["value"] is None, record


@pytest.mark.parametrize(
    "name", [*RECORDINGS[:1], *(pytest.param(each, marks=pytest.mark.long) for each in RECORDINGS[1:])]
)
def test_closing_lines_say_nothing_and_raw_values_have_no_decoded_view(name: str) -> None:
    run = kw("sniff", capture_of(name), "--records", "-v", "-o", "ndjson")
    said = run.err.encode()
    assert {secret for secret in secrets(name) if secret in said} == set()
    raw = kw("sniff", capture_of(name), "--records", "--raw-values", "-o", "ndjson")
    assert "_decoded" not in raw.out
    assert "schema_from" not in raw.out
