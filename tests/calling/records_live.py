"""Records through real brokers: rows sent by kw, the records that other consumers read, and the ones kw reads back."""

from __future__ import annotations

import json
import time
from base64 import b64decode
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from decoders.protocol_facts.errors.error_codes import ERRORS
from decoders.records.codecs import NAMES
from tests.cli.worlds import Outcome, kw, world

TIMESTAMP: Final = 1_700_000_000_000
# The number of tries of a call whose error is retriable.
TRIES: Final = 60


class Row(NamedTuple):
    """One Produce request: its version, message format and codec."""

    version: int
    magic: int
    codec: str


class Read(NamedTuple):
    """A record as any consumer sees it. The timestamp is None in magic 0, whose records get the broker's time."""

    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def rows(low: int, high: int) -> list[Row]:
    """Every Produce version with every message format that it may carry, and every codec that the format may have."""
    return [
        Row(version, magic, codec)
        for version in range(low, high + 1)
        for magic in ((0, 1) if version < 3 else (2,))
        for codec in NAMES
        if codec != "zstd" or version >= 7
    ]


def words_of(row: Row, number: int) -> tuple[list[str], list[Read]]:
    """The words that send four records, and the records to be read: keys and values null, empty, binary, text."""
    stamp = TIMESTAMP + number if row.magic else None
    headers: tuple[tuple[str, bytes | None], ...] = (
        (("a", b"b:c"), ("null", None), ("empty", b"")) if row.magic == 2 else ()
    )
    words = ["key=k", f"value=row {number} naïve"]
    if headers:
        words += ["header=a:b:c", "header=null", "header=empty:"]
    words += ["key:=null", "value=", "key=", "value:=null", 'value:={"base64":"AP+A"}']
    if stamp is not None:
        words.append(f"timestamp={stamp}")
        words = [words[-1], *words[:-1]]
    expected = [
        Read(0, stamp, b"k", f"row {number} naïve".encode(), headers),
        Read(1, stamp, None, b""),
        Read(2, stamp, b"", None),
        Read(3, stamp, None, b"\0\xff\x80"),
    ]
    return words, expected


def call(bootstrap: str, *words: str, stdin: bytes = b"") -> Outcome:
    """Run `kw call … -b BOOTSTRAP -o ndjson`."""
    return kw("call", *words, "-b", bootstrap, "-o", "ndjson", env=world(stdin))


def answered(bootstrap: str, *words: str, stdin: bytes = b"") -> dict[str, Any]:
    """The exchange record of a call that went well; a retriable error is tried again."""
    for _ in range(TRIES):
        outcome = call(bootstrap, *words, stdin=stdin)
        record: dict[str, Any] = json.loads(outcome.out.splitlines()[-1]) if outcome.out else {}
        errors = record.get("errors") or []
        if not errors or any(not ERRORS[error["code"]].retriable for error in errors):
            break
        time.sleep(0.1)
    assert (outcome.code, errors) == (0, []), (words, outcome)
    return record


def create(bootstrap: str, topics: dict[str, int], config: dict[str, str] | None = None) -> None:
    """Create topics on one node (name → partitions), and wait until all partitions have their leader."""
    words = []
    for name, count in topics.items():
        words += [f"topics[].name={name}", f"topics[].num_partitions={count}", "topics[].replication_factor=1"]
        for key, value in (config or {}).items():
            words += [f"topics[].configs[].name={key}", f"topics[].configs[].value={value}"]
    answered(bootstrap, "CreateTopics", *words)
    for name in topics:
        answered(bootstrap, "fetch", f"topic={name}", "partition=all", "offset=0", "max_wait_ms=0")


def fetched(bootstrap: str, *words: str) -> dict[int, list[Read]]:
    """The records that `kw call fetch --records` shows, by partition; control records left out."""
    return read(answered(bootstrap, "fetch", *words, "--records"))


def read(record: dict[str, Any]) -> dict[int, list[Read]]:
    """The records in an exchange record of a Fetch, by partition."""
    found: dict[int, list[Read]] = {}
    for topic in record["response"]["responses"]:
        for partition in topic["partitions"]:
            for batch in partition["records"] or ():
                assert "error" not in batch, batch
                if not batch["control"]:
                    found.setdefault(partition["partition_index"], []).extend(map(shown, batch["records"]))
    return found


def shown(record: dict[str, Any]) -> Read:
    """A record in the JSON form, as a `Read`."""
    headers = tuple((header["key"], plain(header["value"])) for header in record["headers"])
    return Read(record["offset"], record["timestamp"], plain(record["key"]), plain(record["value"]), headers)


def plain(value: Any) -> bytes | None:
    if value is None:
        return None
    return b64decode(value["base64"]) if isinstance(value, dict) else str(value).encode()


def consumed(records: Iterable[dict[str, Any]]) -> dict[int, list[Read]]:
    """The records that consumers of tests.broker.clients read, by partition."""
    out: dict[int, list[Read]] = {}
    for record in records:
        headers = tuple((name, None if data is None else b64decode(data)) for name, data in record["headers"])
        data = [None if record[name] is None else b64decode(record[name]) for name in ("key", "value")]
        read = Read(record["offset"], record["timestamp"], data[0], data[1], headers)
        out.setdefault(record["partition"], []).append(read)
    return out


def comparable(found: Sequence[Read], expected: Sequence[Read]) -> list[Read]:
    """The records found, without timestamps where none is expected."""
    return [
        each._replace(timestamp=None) if wanted.timestamp is None else each
        for each, wanted in zip(found, expected, strict=True)
    ]
