"""Captures that ship, wrapped in TLS by OpenSSL: their rows are those of the plain text, however they are read."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]  # jsonschema ships no types
import pytest

from decoders.exchanges.exchange import Ended, Settled, Skipped
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.filters import parse
from decoders.messages.exchange_from_json import FromRecords
from decoders.messages.exchange_json import to_json_dict
from decoders.read_exchanges_of_captures import read_settled
from decoders.tcp.connection_and_halves import MASK, reverse_key
from decoders.tcp.stream_chunks import Segment
from decoders.tls.key_log import KeyLog
from tests.exchanges.prefixes import PROXY_1
from tests.sampling import sampled
from tests.splits.cut_captures import cut, stitched, whole
from tests.tls.conversations import keys_of
from tests.tls.wrapping import Wrapped, pcapng_of, segments_of, wrap

FOLDER: Final = Path(__file__).resolve().parents[2] / "captures"
NAMES: Final = ("first-steps.pcapng", "sasl-raw.pcap", "tour.pcapng")
SCHEMA: Final = json.loads((FOLDER.parent / "decoders" / "messages" / "record.schema.json").read_bytes())


@lru_cache
def wrapped(name: str, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> Wrapped:
    """A capture wrapped in TLS."""
    options: dict[str, Any] = {"version": version}
    if version == ssl.TLSVersion.TLSv1_2:
        options["ciphers"] = "ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0"
    return wrap(segments_of(FOLDER / name), client_certificate=True, **options)


def settled(segments: list[Segment], keys: KeyLog | None = None) -> list[Settled]:
    """Everything that an engine settles from segments."""
    engine = Engine(keys=keys)
    return engine.feed(segments) + engine.finish()


def plain_records(rows: list[Settled]) -> list[str]:
    """The records without values that must differ: packet and connection numbers, TLS, retransmissions."""
    found = []
    for row in rows:
        record = to_json_dict(row)
        for name in ("packets", "connection", "retransmitted", "tls", *(["user"] if "mechanism" not in record else [])):
            record.pop(name, None)
        found.append(json.dumps(record, sort_keys=True))
    return sorted(found)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("name", sampled(NAMES, 3))
def test_the_rows_are_those_of_the_plain_text(name: str, version: ssl.TLSVersion) -> None:
    made = wrapped(name, version)
    rows = settled(made.segments, keys_of(made.key_log))
    assert plain_records(rows) == plain_records(settled(segments_of(FOLDER / name)))
    wanted = {"version": "1.3" if version == ssl.TLSVersion.TLSv1_3 else "1.2", "sni": "kafka1.example"}
    for row in rows:
        record = to_json_dict(row)
        assert {key: record["tls"][key] for key in wanted} == wanted
        assert record["tls"]["client_subject"] == "CN=client,O=Example"


def test_the_record_with_tls_is_as_the_schema_says_and_comes_back() -> None:
    made = wrapped(NAMES[0])
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for row in settled(made.segments, keys_of(made.key_log))[:20]:
        record = json.loads(json.dumps(to_json_dict(row)))
        validator.validate(record)
        again = FromRecords().read(record)
        assert again.connection_info.tls == record["tls"]


@pytest.mark.parametrize(
    ("text", "some"),
    [
        ("tls == '1.3'", True),
        ("tls == '1.2'", False),
        ("sni == kafka1.example", True),
        ("subject ~ 'CN=client*'", True),
        ("cipher ~ GCM", True),
    ],
)
def test_filters_may_ask_for_tls(text: str, some: bool) -> None:
    made = wrapped(NAMES[0])
    wanted = parse(text)
    rows = [row for row in settled(made.segments, keys_of(made.key_log)) if row.kind == "exchange"]
    assert {wanted.matches(row) for row in rows} == {some}
    plain = [row for row in settled(segments_of(FOLDER / NAMES[0])) if row.kind == "exchange"]
    assert {wanted.matches(row) for row in plain} == {False}


def test_secrets_in_a_pcapng_are_used() -> None:
    made = wrapped(NAMES[1])
    rows = list(read_settled(pcapng_of(made.segments, [made.key_log])))
    assert plain_records(rows) == plain_records(settled(segments_of(FOLDER / NAMES[1])))
    assert {row.kind for row in read_settled(pcapng_of(made.segments))} == {"skipped"}


def test_without_keys_each_connection_is_one_row() -> None:
    made = wrapped(NAMES[0])
    rows = settled(made.segments)
    assert {type(row) for row in rows} == {Skipped}
    plain = Engine(connections=True)
    connections = [row for row in plain.feed(made.segments) + plain.finish() if isinstance(row, Ended)]
    assert len(rows) == len(connections) > 0
    for row in rows:
        assert isinstance(row, Skipped)
        assert (row.reason, row.direction) == ("tls", None)
        assert row.detail.startswith("TLS 1.3, TLS_AES_256_GCM_SHA384, for kafka1.example, ")


def damaged(segments: list[Segment], rng: Random) -> Iterator[Segment]:
    """The segments with some lost after the beginning of each connection."""
    seen: dict[bytes, int] = {}
    for segment in segments:
        seen[segment[0]] = seen.get(segment[0], 0) + 1
        if seen[segment[0]] < 9 or not segment[6] or rng.random() > 0.04:
            yield segment


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
def test_lost_segments_give_no_wrong_exchange(seed: int) -> None:
    made = wrapped(NAMES[0], ssl.TLSVersion.TLSv1_2 if seed % 3 == 2 else ssl.TLSVersion.TLSv1_3)
    sound = set(plain_records(settled(made.segments, keys_of(made.key_log))))
    left = list(damaged(made.segments, Random(seed)))
    lost = len(made.segments) - len(left)
    rows = settled(left, keys_of(made.key_log))
    whole_ones = [row for row in rows if row.kind == "exchange" and row.status == "complete"]
    wrong = [record for record in plain_records(list(whole_ones)) if record not in sound]
    assert wrong == []
    assert len(whole_ones) >= len(sound) - 3 * lost


def test_wrong_keys_are_told_and_give_nothing() -> None:
    made = wrapped(NAMES[0])
    wrong = b"\n".join(line[:-4] + b"0000" for line in made.key_log.splitlines())
    rows = settled(made.segments, keys_of(wrong))
    assert {row.kind for row in rows} == {"skipped"}
    assert all("the key in the key log does not fit" in row.detail for row in rows if isinstance(row, Skipped))


# Read in parts.


@pytest.mark.parametrize("seed", range(3))
def test_an_engine_that_is_resumed_gives_the_same(seed: int) -> None:
    rng = Random(seed)
    made = wrapped(NAMES[seed % len(NAMES)])
    segments = list(damaged(made.segments, rng)) if seed == 2 else made.segments
    wanted = settled(segments, keys_of(made.key_log))
    secrets = [bytes.fromhex(line.split()[2].decode()) for line in made.key_log.splitlines() if line[:1] != b"#"]
    state, out = b"", []
    for some in cut(segments, sorted(rng.sample(range(len(segments)), 12))):
        engine = Engine(keys=keys_of(made.key_log))
        if state:
            engine.resume(state)
        out += engine.feed(some)
        state = engine.export()
        assert not any(secret in state for secret in secrets)
    out += engine.finish()
    assert [to_json_dict(row) for row in out] == [to_json_dict(row) for row in wanted]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(4))
def test_splits_give_the_rows_of_the_whole(seed: int) -> None:
    rng = Random(seed)
    made = wrapped(NAMES[seed % len(NAMES)])
    segments = list(damaged(made.segments, rng)) if seed == 3 else made.segments
    places = sorted(rng.sample(range(1, len(segments)), 4))
    keys = keys_of(made.key_log)
    assert stitched(cut(segments, places), keys=keys, batch=rng.choice([50, 1 << 30])) == whole(segments, keys=keys)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("tickets", [True, False])
def test_splits_of_resumed_sessions(tickets: bool) -> None:
    made = wrap(segments_of(FOLDER / NAMES[1]), resumed=True, version=ssl.TLSVersion.TLSv1_2, tickets=tickets)
    keys = keys_of(made.first_key_log)
    wanted = whole(made.segments, keys=keys)
    assert wanted == whole(made.segments, keys=keys_of(made.key_log))
    for count in (2, 5):
        size = len(made.segments) // count
        pieces = cut(made.segments, [size * number for number in range(1, count)])
        assert stitched(pieces, keys=keys) == wanted


def test_splits_without_keys_give_the_rows_of_the_whole() -> None:
    made = wrapped(NAMES[0])
    places = [len(made.segments) // 3, len(made.segments) // 2]
    assert stitched(cut(made.segments, places)) == whole(made.segments)


def behind_heads(segments: list[Segment], head: bytes) -> list[Segment]:
    """The segments with a head before the first bytes of each client."""
    found: list[Segment] = []
    clients: dict[bytes, bytes] = {}
    for key, time_ns, _, seq, ack, flags, data, lost in segments:
        its = clients.get(key)
        later = its is not None or reverse_key(key) in clients
        if flags & 2 and not flags & 16:
            clients[key] = key
        moved_seq = seq + len(head) & MASK if its is not None else seq
        moved_ack = ack + len(head) & MASK if later and its is None and not flags & 2 else ack
        found.append((key, time_ns, len(found) + 1, moved_seq, moved_ack, flags, data, lost))
        if flags & 2 and not flags & 16:
            found.append((key, time_ns + 1, len(found) + 1, seq + 1 & MASK, 0, 0, head, 0))
    return found


def test_a_head_before_tls() -> None:
    made = wrapped(NAMES[0])
    rows = settled(behind_heads(made.segments, PROXY_1), keys_of(made.key_log))
    exchanges = [row for row in rows if row.kind == "exchange"]
    assert {row.client for row in rows} == {"203.0.113.7:55555"}
    assert all(row.connection_info.tls for row in exchanges)
    for info in {row.connection_info for row in exchanges}:
        info.client, info.via_address = info.sender, None
    assert plain_records([*exchanges]) == plain_records(settled(segments_of(FOLDER / NAMES[0])))
    assert {row.reason for row in rows if isinstance(row, Skipped)} == {"prefix"}
