"""The captures that ship: nothing undecoded, every byte accounted for, every record valid by the schema."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

import decoders
from decoders.capture.read_capture import CaptureReader
from decoders.exchanges.exchange import Exchange, Settled, Skipped
from decoders.exchanges.exchange_attribute_table import SCALARS
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.build_body_json import Options, list_errors_in_body
from decoders.messages.exchange_from_json import FromRecords
from decoders.messages.exchange_json import to_json_dict
from decoders.messages.read_ndjson import check_exchange_record
from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Gap
from tests.captures.plain import read_bytes
from tests.messages.json_lines import to_json_bytes
from tests.sampling import sampled

FOLDER = Path(__file__).resolve().parents[2] / "captures"
CAPTURES = sorted(path for path in FOLDER.iterdir() if ".pcap" in path.name)
NEGATIVE = sorted((FOLDER / "negative").iterdir())
PROTOCOLS = {
    "http1": "HTTP/1",
    "http2": "HTTP/2",
    "mongodb": "MongoDB",
    "postgresql": "PostgreSQL",
    "redis": "Redis",
    "tls": "TLS",
    "zookeeper": "ZooKeeper",
}
SCHEMA = json.loads((FOLDER.parent / "decoders" / "messages" / "record.schema.json").read_bytes())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def name_of(path: Path) -> str:
    return path.name


def settled_of(path: Path, **options: Any) -> list[Settled]:
    """Everything that an engine settles from a capture."""
    reader, engine = CaptureReader(), Engine(**options)
    return engine.feed(reader.feed(read_bytes(path))) + engine.finish()


def stream_bytes(path: Path) -> Counter[str]:
    """Bytes that each direction of each connection carries, by `number sender`."""
    reader, stage = CaptureReader(), Reassembly()
    sizes: Counter[str] = Counter()
    for half, _, _, data in (*stage.feed(reader.feed(read_bytes(path))), *stage.finish()):
        if isinstance(data, bytes | Gap):
            sizes[f"{half.connection.number} {half.source}"] += data.size if isinstance(data, Gap) else len(data)
    return sizes


def shown_bytes(settled: list[Settled]) -> Iterator[tuple[str, int]]:
    """The bytes that each exchange and skipped run accounts for, by `number sender`."""
    for each in settled:
        if isinstance(each, Skipped):
            source = each.client if each.direction == "request" else each.broker
            yield f"{each.connection} {source}", each.size
            continue
        if each.envelope is not None:
            continue  # its bytes are part of the Envelope's
        if each.request_raw is not None:
            yield f"{each.connection} {each.client}", len(each.request_raw)
        if each.response_raw is not None:
            yield f"{each.connection} {each.broker}", len(each.response_raw)


@pytest.mark.parametrize("path", CAPTURES, ids=name_of)
def test_nothing_is_undecoded_and_no_byte_is_missing(path: Path) -> None:
    settled = settled_of(path)
    assert [
        each for each in settled if isinstance(each, Skipped) or each.status in ("undecoded", "orphan_response")
    ] == []
    shown: Counter[str] = Counter()
    for place, size in shown_bytes(settled):
        shown[place] += size
    assert shown == stream_bytes(path)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("path", sampled(CAPTURES, 3), ids=name_of)
@pytest.mark.parametrize("options", [Options(), Options(records=True, reveal_secrets=True)], ids=["plain", "all"])
def test_every_record_follows_the_schema(path: Path, options: Options) -> None:
    for each in settled_of(path):
        record = json.loads(to_json_bytes(each, options))
        VALIDATOR.validate(record)
        assert tuple(record)[: len(SCALARS)] == SCALARS


@pytest.mark.parametrize("path", sampled(CAPTURES, 3), ids=name_of)
def test_views_records_and_values_agree(path: Path) -> None:
    for each in settled_of(path):
        assert isinstance(each, Exchange)
        record = to_json_dict(each)
        assert record["status"] == each.status
        assert record["reason"] == each.reason
        assert record["latency_ms"] == each.latency_ms
        assert record["duration_ms"] == each.duration_ms
        assert record["packets"] == each.packets
        assert record["time"] == each.time
        assert record["errors"] == [error._asdict() for error in each.errors]
        assert record.get("topic_names", {}) == each.topic_names
        if each._api_reader.key is not None and each.response_raw is not None and not each.failures:
            plan = each._api_reader.list_layouts("response")[0].plan
            if not (each.api == "ApiVersions" and each.errors):
                plain = [{key: error[key] for key in ("path", "code", "name")} for error in record["errors"]]
                assert list_errors_in_body(plan, each.response) == plain


@pytest.mark.parametrize("path", sampled(CAPTURES + NEGATIVE, 3), ids=name_of)
def test_a_record_gives_the_exchange_back(path: Path) -> None:
    for each in settled_of(path):
        record = json.loads(to_json_bytes(each))
        check_exchange_record(record)
        again = FromRecords().read(record)
        assert to_json_dict(again) == record
        assert (again.kind, again.time_ns, again.client, again.connection) == (
            *(each.kind, each.time_ns, each.client, each.connection),
        )
        if isinstance(each, Exchange):
            assert isinstance(again, Exchange)
            for name in (*SCALARS, "errors", "packets", "topic_names", "closed", "client_software", "layout"):
                if name != "schema":
                    assert getattr(again, name) == getattr(each, name), name
            assert again.response == record["response"]
    with pytest.raises(decoders.DecodeError):
        FromRecords().read({"kind": "exchange"})


@pytest.mark.parametrize("path", NEGATIVE, ids=name_of)
def test_other_protocols_give_no_exchange(path: Path) -> None:
    settled = settled_of(path)
    assert settled
    assert {type(each) for each in settled} == {Skipped}
    numbers = [each.connection for each in settled]
    assert sorted(numbers) == sorted(set(numbers))
    details = {re.split(r":| \d", each.detail)[0] for each in settled if isinstance(each, Skipped)}
    assert details == {PROTOCOLS[path.name.partition(".")[0]]}
    sizes = stream_bytes(path)
    assert sum(each.size for each in settled if isinstance(each, Skipped)) == sum(sizes.values())
    for each in settled:
        VALIDATOR.validate(to_json_dict(each))


def test_a_source_is_bytes_or_a_file_or_pieces() -> None:
    data = read_bytes(FOLDER / "tour.pcapng")
    whole = [each.correlation_id for each in decoders.read_exchanges(data)]
    assert len(whole) == len(settled_of(FOLDER / "tour.pcapng"))
    assert [each.correlation_id for each in decoders.read_exchanges(BytesIO(data))] == whole
    pieces = (data[at : at + 1000] for at in range(0, len(data), 1000))
    assert [each.correlation_id for each in decoders.read_exchanges(pieces)] == whole
    with pytest.raises(decoders.DecodeError):
        list(decoders.read_exchanges(data[:-10], strict=True))
    assert len(list(decoders.read_exchanges(data[:-10]))) >= 163


def test_several_captures_are_merged_by_time() -> None:
    first, second = (read_bytes(FOLDER / name) for name in ("sasl-framed.pcapng", "sasl-raw.pcap"))
    count = sum(1 for each in (first, second) for _ in decoders.read_exchanges(each))
    times = [each.time_ns for each in decoders.read_exchanges(second, first)]
    assert len(times) == count
    assert times[0] < times[-1]


def test_ports_force_and_exclude() -> None:
    path = FOLDER / "tour.pcapng"
    every = settled_of(path)
    named = settled_of(path, ports=[9093])
    wanted = [each.connection for each in every if each.broker.endswith(":9093")]
    assert [each.connection for each in named if isinstance(each, Exchange)] == wanted
    assert {each.reason for each in named if isinstance(each, Skipped)} == {"not_kafka"}
