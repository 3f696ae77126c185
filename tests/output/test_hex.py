"""Hex views: every byte of real messages once, in order; lines fit; colours add no text; secrets are hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.embedded import encode_embedded
from decoders.exchanges.exchange import Exchange
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import to_json_dict
from decoders.messages.split_frame_into_parts import split_frame
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Record
from decoders.records.split_batches_into_byte_parts import NAMED_HEADERS_MAX
from decoders.schema.api_declaration import Side
from kwcli.output.hex import HexStyle, format_frame_as_hex, format_sasl_token_as_hex, lay_out_hex_columns
from kwcli.output.short_texts import COLORED, PLAIN, cell_width
from tests.broker.options import PASSWORDS
from tests.captures.reading import exchanges
from tests.captures.shipped import CLEAN, capture_bytes
from tests.exchanges.talks import framed, request, response
from tests.records.making import batch, varint
from tests.sampling import sampled

_CODES = re.compile(r"\x1b\[[0-9;]*m")
SIDES: tuple[Side, Side] = ("request", "response")


def view(data: bytes, side: Side, key: int | None, version: int | None, **options: object) -> list[str]:
    """The lines of the hex view of a frame."""
    given = {name: options.pop(name) for name in HexStyle._fields if name in options}
    style = HexStyle(**{"width": None, "colors": PLAIN, **given})  # type: ignore[arg-type]  # a test's options
    return list(format_frame_as_hex(data, side, key, version, style, **options))  # type: ignore[arg-type]  # a test's options


def digits(lines: list[str], width: int | None = None) -> str:
    """The hex digits in the view."""
    each = lay_out_hex_columns(1, [], width).each
    found = ""
    for line in lines:
        cell = re.match(
            rf" *[0-9a-f]{{4,}}  ((?:(?:[0-9a-f]{{2}}|\*\*) ){{1,{each}}}(?= )|.{{{3 * each - 1}}}(?=  |$)|.*$)", line
        )
        if cell and line[:1] not in "!·":
            found += cell[1].replace(" ", "")
    return found


def frames(name: str) -> Iterator[tuple[Exchange, Side, bytes]]:
    """Complete frames of a capture, the first few of each kind of message."""
    seen: dict[tuple[object, ...], int] = {}
    for exchange in exchanges(capture_bytes(name)):
        for side in SIDES:
            data = exchange.request_raw if side == "request" else exchange.response_raw
            kind = (exchange.api_key, exchange.api_version, side)
            seen[kind] = seen.get(kind, 0) + 1
            if data is not None and exchange.outcome == "complete" and seen[kind] <= 3 and len(data) < 20_000:
                yield exchange, side, data


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", sampled(CLEAN, 3))
def test_every_byte_of_real_messages_is_there_once(name: str) -> None:
    count = 0
    for exchange, side, data in frames(name):
        key, version = exchange.api_key, exchange.api_version
        lines = view(data, side, key, version, reveal=True)
        assert digits(lines) == data.hex(), (key, version, side)
        assert not any(line.startswith("!") for line in lines) or side == "request"
        count += 1
    assert count > 8


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("width", sampled([40, 60, 80, 110, 140, 200], 5))
def test_no_line_is_longer_than_the_terminal_is_wide(width: int) -> None:
    for name in ("tour.pcapng", "three-nodes.pcapng.zst", "old-clients.pcap.gz"):
        for exchange, side, data in frames(name):
            plain = view(data, side, exchange.api_key, exchange.api_version, width=width)
            assert max(map(cell_width, plain)) <= width, (exchange.api, exchange.api_version, side)
            colored = view(data, side, exchange.api_key, exchange.api_version, width=width, colors=COLORED)
            assert [_CODES.sub("", line) for line in colored] == plain
            assert any("\x1b[36m" in line for line in colored)


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [each for each in CLEAN if each.startswith("sasl")])
def test_secrets_are_stars(name: str) -> None:
    hidden = 0
    secrets = [password.encode().hex() for password in PASSWORDS.values()]
    for exchange in exchanges(capture_bytes(name)):
        for side in SIDES:
            data = exchange.request_raw if side == "request" else exchange.response_raw
            if data is None:
                continue
            if exchange.outcome == "token":
                lines = list(format_sasl_token_as_hex(data, None, PLAIN, reveal=False))
                shown = digits(list(format_sasl_token_as_hex(data, None, PLAIN, reveal=True)))
            else:
                lines = view(data, side, exchange.api_key, exchange.api_version)
                shown = digits(view(data, side, exchange.api_key, exchange.api_version, reveal=True))
            text = digits(lines)
            assert shown == data.hex()
            assert not any(secret in text for secret in secrets)
            assert len(text) == len(shown)
            assert all(star in ("*", plain) for star, plain in zip(text, shown, strict=True))
            hidden += "**" in text
    assert hidden


CONFIGS = {
    "resources": [
        {
            "resource_type": 2,
            "resource_name": "orders",
            "configs": [
                {"name": "retention.ms", "config_operation": 0, "value": "86400000"},
                {"name": "sasl.jaas.config", "config_operation": 0, "value": "hidden-secret"},
            ],
        }
    ]
}
METADATA = request(3, 12, 7, "app", {"topics": [{"name": "orders"}, {"name": None}]})


def test_one_field_a_row_with_what_it_says() -> None:
    assert view(METADATA, "request", 3, 12, width=80) == [
        "                               · header 2",
        "0000  00 00 00 3c              size                          60",
        "0004  00 03                    request_api_key               3 Metadata",
        "0006  00 0c                    request_api_version           12",
        "0008  00 00 00 07              correlation_id                7",
        "000c  00 03 61 70 70           client_id                     app",
        "0011  00                       _tagged_fields                none",
        "                               · body",
        "0012  03                       topics                        2 elements",
        "0013  00 00 00 00 00 00 00 00  [0] topic_id                  AAAAAAAAAAAAAAAAAAA",
        "001b  00 00 00 00 00 00 00 00                                AAA",
        "0023  07 6f 72 64 65 72 73         name                      orders",
        "002a  00                           _tagged_fields            none",
        "002b  00 00 00 00 00 00 00 00  [1] topic_id                  AAAAAAAAAAAAAAAAAAA",
        "0033  00 00 00 00 00 00 00 00                                AAA",
        "003b  00                           name                      –",
        "003c  00                           _tagged_fields            none",
        "003d  01                       allow_auto_topic_creation     true",
        "003e  00                       include_topic_authorized_op…  false",
        "003f  00                       _tagged_fields                none",
    ]


def test_a_config_is_hidden_unless_its_name_is_known_to_be_public() -> None:
    lines = view(request(44, 1, 1, "app", CONFIGS), "request", 44, 1)
    text = "\n".join(lines)
    assert "86400000" in text
    assert "‹13 bytes redacted›" in text
    assert "hidden" not in text
    assert b"hidden".hex() not in digits(lines)
    assert "hidden-secret" in "\n".join(view(request(44, 1, 1, "app", CONFIGS), "request", 44, 1, reveal=True))


def test_what_cannot_be_read_is_shown_with_the_reason() -> None:
    cut_short = request(3, 12, 7, "app", {"topics": [{"name": "orders"}]})[:40]
    lines = view(cut_short, "request", 3, 12, width=80, missing="snaplen")
    assert lines[-1] == "! snaplen at byte 36 in topics[0].name: string of 6 bytes, 4 are left"
    assert digits(lines, 80) == cut_short.hex()
    assert "undecoded" in lines[-2]
    unknown = framed(bytes.fromhex("7fff 0000 00000001 ffff 0102"))
    assert view(unknown, "request", 0x7FFF, 0)[-1].startswith("! unknown_api at byte 4")
    assert digits(view(unknown, "request", 0x7FFF, 0)).endswith("****")
    assert digits(view(unknown, "request", 0x7FFF, 0, reveal=True)) == unknown.hex()


def test_bytes_behind_a_message_are_said() -> None:
    lines = view(framed(METADATA[4:] + b"abc"), "request", 3, 12, width=80)
    assert lines[-1].endswith("3 bytes after the end of the message")
    assert lines[-2].split() == ["0040", "61", "62", "63", "undecoded", "abc"]


def test_without_a_size_field_offsets_count_from_the_first_byte_given() -> None:
    lines = view(METADATA[4:], "request", 3, 12, sized=False)
    assert lines[1].split()[:3] == ["0000", "00", "03"]
    assert digits(lines) == METADATA[4:].hex()


BATCH = encode_batch([Record(7, 1_795_230_245_123, b"k", b"v", (("h", b"x"),)), Record(8, None, None, b"second")])
PRODUCE = {"acks": -1, "topic_data": [{"name": "t", "partition_data": [{"index": 0, "records": BATCH}]}]}


def test_the_fields_of_batches_and_records_are_rows() -> None:
    lines = view(request(0, 9, 1, "app", PRODUCE), "request", 0, 9)
    text = [" ".join(line.split()[-3:]) for line in lines]
    for said in ("crc uint32", "magic int8 2", "record_count int32 2", "length varint 12"):
        assert any(said in " ".join(line.split()) for line in lines), said
    assert any("ok" in each for each in text)
    broken = bytearray(request(0, 9, 1, "app", PRODUCE))
    broken[-8] ^= 1
    lines = view(bytes(broken), "request", 0, 9)
    assert any(line.endswith(" bad") for line in lines)
    assert digits(lines) == broken.hex()


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("count", [NAMED_HEADERS_MAX, NAMED_HEADERS_MAX + 1])
def test_so_many_headers_are_one_row(count: int) -> None:
    record = Record(7, 1_795_230_245_123, b"k", b"v", (("", None),) * count)
    topics = [{"name": "t", "partition_data": [{"index": 0, "records": encode_batch([record])}]}]
    data = request(0, 9, 1, "app", {"acks": -1, "topic_data": topics})
    lines = view(data, "request", 0, 9, whole=True)
    assert digits(lines) == data.hex()
    assert any(f"{count:,} headers in {2 * count:,} bytes" in line for line in lines) == (count > NAMED_HEADERS_MAX)


def test_more_headers_than_a_record_has_room_for_are_no_headers() -> None:
    body = bytes.fromhex("00 00 00 01 01") + varint(NAMED_HEADERS_MAX * 2) + bytes(100)
    records = batch(payload=varint(len(body)) + body, count=1)
    topics = [{"name": "t", "partition_data": [{"index": 0, "records": records}]}]
    data = request(0, 9, 1, "app", {"acks": -1, "topic_data": topics})
    lines = view(data, "request", 0, 9)
    assert any("25,000 headers in 100 bytes" in line for line in lines)
    assert digits(lines) == data.hex()


def test_long_arrays_and_values_are_shortened_on_a_terminal_only() -> None:
    data = response(3, 1, 5, {"brokers": [{"node_id": n, "host": "h" * 200, "port": 1} for n in range(20)]})
    short = view(data, "response", 3, 1, width=80)
    assert any("16 more, " in line for line in short)
    assert any("more bytes" in line for line in short)
    assert digits(view(data, "response", 3, 1, width=80, whole=True), 80) == data.hex()
    assert digits(view(data, "response", 3, 1)) == data.hex()


@settings(max_examples=150)
@given(st.binary(max_size=120), st.sampled_from(SIDES), st.integers(-1, 96), st.integers(-1, 14), st.booleans())
def test_whatever_the_bytes_are_all_are_shown(body: bytes, side: Side, key: int, version: int, sized: bool) -> None:
    for data in (body, METADATA[:17] + body, METADATA[:20] + body + METADATA[20:]):
        lines = view(data, side, key, version, reveal=True, sized=sized)
        assert digits(lines) == data.hex()
        assert max(map(cell_width, view(data, side, key, version, width=80, sized=sized)), default=0) <= 80


def test_a_value_is_broken_between_words() -> None:
    """A value is broken between words unless that needs more lines than its bytes take."""
    lines = view(request(3, 12, 7, "the words of a client id", {}), "request", 3, 12, width=80)
    first = next(number for number, line in enumerate(lines) if "client_id" in line)
    assert [line[68:] for line in lines[first : first + 3]] == ["the words of", "a client id", ""]
    lines = view(request(3, 12, 7, "a word-that-is-not-broken", {}), "request", 3, 12, width=80)
    assert [line[68:] for line in lines[first : first + 4]] == ["a", "word-that-is", "-not-broken", ""]


def test_records_of_internal_topics_and_control_records_are_fields() -> None:
    """All fields that `--records` shows of structures in records are in the view; compressed batches stay bytes."""
    count = 0
    for exchange in exchanges(capture_bytes("three-nodes.pcapng.zst")):
        shown = to_json_dict(exchange, Options(records=True))
        for side in SIDES:
            data = exchange.request_raw if side == "request" else exchange.response_raw
            wanted = [list(each) for each in structures_in(shown[side])]
            if data is None or not wanted:
                continue
            found = split_frame(data, side, exchange.api_key, exchange.api_version, topic_name=exchange.topic_name).body
            named: dict[str, list[str]] = {}
            for part in found:
                at = re.search(r"\.records\[\d+\]\.(?:key|value)\.", part.path)
                if at and part.what != "tags":
                    field = re.match(r"\$?\w+", part.path[at.end() :])
                    assert field is not None
                    named.setdefault(part.path[: at.end()], []).append(field[0])
            structures = [fields for fields in named.values() if fields != ["$version", "type"]]
            for fields, of_bytes in zip(wanted, structures, strict=True):
                assert {*fields} - {"$type", "$frame", "$version"} <= {*of_bytes} | {"_trailing"}
                count += 1
    assert count > 300


def structures_in(value: Any) -> Iterator[dict[str, Any]]:
    """The structures in keys and values of uncompressed batches, in wire order."""
    if isinstance(value, dict):
        if "codec" in value and value["codec"] != "none":
            return
        for field, held in value.items():
            if field in ("key", "value") and isinstance(held, dict) and "$type" in held:
                yield held
            else:
                yield from structures_in(held)
    elif isinstance(value, list):
        for each in value:
            yield from structures_in(each)


def test_secrets_of_the_clusters_own_records_are_stars() -> None:
    """Secrets in records of the metadata log are stars; the fields around them are shown."""
    fields = {"name": "alice", "mechanism": 1, "salt": b"salt-salt", "stored_key": b"K" * 20, "server_key": b"S" * 20}
    value = encode_embedded("UserScramCredentialRecord", 0, {**fields, "iterations": 4096})
    records = encode_batch([Record(0, 0, None, value, ())])
    part = {"partition_index": 0, "high_watermark": 1, "aborted_transactions": None, "records": records}
    for topic in ({"topic": "__cluster_metadata"}, {"topic_id": UUID(int=1)}):
        version = 12 if "topic" in topic else 13
        data = response(1, version, 7, {"responses": [{**topic, "partitions": [part]}]})
        lines = "\n".join(view(data, "response", 1, version))
        assert "alice" in lines
        assert "4096" in lines
        assert b"K".hex() * 3 not in lines.replace(" ", "")
        assert b"salt".hex() not in lines.replace(" ", "")
        assert "KKK" not in lines
        assert "salt-" not in lines
        assert "KKK" in "\n".join(view(data, "response", 1, version, reveal=True))
