"""Rows that were packed and unpacked are equal to the original ones."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pytest

from decoders.capture.read_capture import CaptureReader
from decoders.exchanges.exchange import Exchange, Settled
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_from_json import FromRecords
from decoders.messages.exchange_json import to_json_dict
from decoders.messages.exchange_serialization import (
    RowPacker,
    RowUnpacker,
    add_topic_names,
    max_packed_size,
    pack_new_topic_names,
)
from tests.captures.plain import read_bytes
from tests.captures.shipped import FOLDER

CAPTURES: Final = sorted(path for path in FOLDER.rglob("*") if ".pcap" in path.name and path.is_file())
EVERYTHING: Final = Options(records=True, reveal_secrets=True, names=True)
# Views, bodies and their derived values are decoded again.
READ_AGAIN: Final = frozenset(
    {
        "_values",
        "_early",
        "_error_codes",
        "_failed",
        "_looked",
        "_request_view",
        "_response_view",
        "connection_info",
        "_api_reader",
    }
)


def attributes(row: Settled) -> dict[str, Any]:
    """All attributes of a row, and those of its connection and its API version."""
    names = {name for kind in type(row).__mro__ for name in getattr(kind, "__slots__", ())} - READ_AGAIN
    found = {name: getattr(row, name) for name in names if hasattr(row, name)}
    info = row.connection_info
    found["connection_info"] = (info.number, info.client, info.broker, info.began_ns, info.opened, info.tls)
    if isinstance(row, Exchange):
        found["_api_reader"] = (row._api_reader.key, row._api_reader.version)
        found.setdefault("_topics_known", 0)
    return found


def feeds(path: Path, rng: random.Random, **options: Any) -> Iterable[tuple[Engine, list[Settled]]]:
    """The rows of a capture that is read in random pieces, each with the engine."""
    data, reader, engine = read_bytes(path), CaptureReader(), Engine(**options)
    engine.pairer.enable_noting_of_earlier_facts()
    at = 0
    while at < len(data):
        size = rng.randrange(1, 1 << 15)
        yield engine, engine.feed(reader.feed(data[at : at + size]))
        at += size
    yield engine, engine.finish()


def through(rows: list[Settled], engine: Engine, other: Engine) -> list[Settled]:
    """Rows packed by one engine, and unpacked by another that knew what the first one knew before."""
    written = BytesIO()
    packer = RowPacker(written.write)
    packer.add(rows[:5])
    packer.add(rows[5:])
    topics = other.pairer.context.topics
    said = (pack_new_topic_names(engine.pairer.context.topics, len(topics.names)), packer.finish())
    new, packed = pickle.loads(pickle.dumps(said))
    add_topic_names(topics, new)
    unpacker = RowUnpacker(packed, written, other.pairer.context.api_readers, topics)
    sizes = [len(rows[:3]), len(rows[3:10]), 0, len(rows[10:])]
    return [row for size in sizes for row in unpacker.unpack(size)]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_they_have_all_that_they_had(path: Path) -> None:
    other = Engine()
    for engine, rows in feeds(path, random.Random(1)):
        assert list(map(attributes, through(rows, engine, other))) == list(map(attributes, rows))


@pytest.mark.long
@pytest.mark.one_in(12)
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_their_records_are_the_same(path: Path) -> None:
    other = Engine()
    for engine, rows in feeds(path, random.Random(2)):
        made = through(rows, engine, other)
        assert [to_json_dict(row, EVERYTHING) for row in made] == [to_json_dict(row, EVERYTHING) for row in rows]


def test_so_are_rows_that_were_read_from_records() -> None:
    engine, other = Engine(), Engine()
    records = [
        to_json_dict(row, EVERYTHING)
        for name in ("tour.pcapng", "first-steps.pcapng")
        for _, rows in feeds(FOLDER / name, random.Random(3))
        for row in rows
    ]
    read = FromRecords()
    rows = [read.read(record) for record in records]
    for number, row in enumerate(rows):
        if row.kind == "exchange":
            row.extra = {**(row.extra or {}), "file": f"{number}.ndjson"}
            row.place = number
    made = through(rows, engine, other)
    assert list(map(attributes, made)) == list(map(attributes, rows))
    assert [to_json_dict(row, EVERYTHING) for row in made] == [to_json_dict(row, EVERYTHING) for row in rows]


def test_what_many_rows_share_is_one_object() -> None:
    engine, other = Engine(), Engine()
    rows = [row for _, found in feeds(FOLDER / "tour.pcapng", random.Random(4)) for row in found]
    made = through(rows, engine, other)
    assert len({id(row.connection_info) for row in made}) == len({id(row.connection_info) for row in rows})
    assert len({row._api_reader for row in made if row.kind == "exchange"}) == len(
        {row._api_reader for row in rows if row.kind == "exchange"}
    )


def test_no_more_is_written_than_was_said() -> None:
    rows = [row for _, found in feeds(FOLDER / "tour.pcapng", random.Random(5)) for row in found]
    for some in ([], *([row] for row in rows), rows):
        written = BytesIO()
        packer = RowPacker(written.write)
        packer.add(some)
        packer.finish()
        assert len(written.getvalue()) <= max_packed_size(some)
    assert len(written.getvalue()) > max_packed_size(rows) * 3 // 4
