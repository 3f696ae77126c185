"""All lists of an exchange's attributes say what the one table says: state, rows, records, schema, paths, columns."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from decoders.analysis.read_dimension_values import DIMENSIONS
from decoders.exchanges.body_reader import ApiReaders, Needs
from decoders.exchanges.connection_pairing import (
    set_initial_values,
    set_request_missing,
    set_request_of_exchange,
    set_response_missing,
    set_response_of_exchange,
)
from decoders.exchanges.exchange import SESSION_PARTITIONS, ConnectionInfo, Exchange
from decoders.exchanges.exchange_attribute_schemas import _ROWS, EXCHANGE_FIELDS, SHAPES
from decoders.exchanges.exchange_attribute_table import (
    ALWAYS,
    EXCHANGE_ATTRIBUTES,
    EXTRA,
    KEYS,
    REQUEST,
    SCALARS,
    SLOTS,
)
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.exchanges.topic_and_node_names import Topics
from decoders.filters.exchange_paths import parse_record_path
from decoders.filters.filter_field_table import FIELDS
from decoders.frames.framing import Frame
from decoders.messages.exchange_json import exchange_json
from decoders.splits.decode_with_unknown_past import ORPHAN_ATTRIBUTES
from kwcli.declarations.make_published_schemas import PUBLISHED, format_schema, make_record_schema
from kwcli.output.column_table import COLUMNS, WORDS
from kwcli.pipeline.tables.exchange_columns import BODY_COLUMNS
from kwcli.pipeline.tables.stored_exchanges import EXCHANGE_COLUMNS
from kwcli.pipeline.tables.table_columns import EXCHANGES
from tests.captures.shipped import CLEAN, segments

SCHEMA: Final = json.loads(PUBLISHED.read_bytes())["$defs"]["exchange"]
# Attributes of `Exchange` that the engine does not set, or that stand for others: connection and API version.
MADE_WHEN_ASKED: Final = {
    *("_early", "_error_codes", "_facts", "_failed", "_looked", "_request_view", "_response_view", "_values"),
}
SHARED: Final = {"connection_info", "_api_reader"}
# Words that are no attribute of an exchange: what bodies, connections and records of it say, and words of kw's own.
OF_BODIES: Final = {
    *("topic", "group", "txn", "partition", "records", "key", "value", "session_topic", "size", "side", "node"),
    *("cipher", "sni", "subject", "unexpected", "undecoded_side", "summary", "file", "time", "packet"),
    *("schema_id", "value_format"),
}
# Columns without a row: the capture point, addresses, contents of the bodies, files, and what further keys there are.
OF_TABLES: Final = {
    *("point", "client_ip", "client_port", "broker_ip", "broker_port", "connection_began_ns", "topics", "groups"),
    *("batches", "records", "record_bytes", "throttle_time_ms", "max_wait_ms", "min_bytes", "waited_ns", "source_file"),
    *("request_end_file", "response_file", "response_end_file", "further_keys", "source"),
}


def attributes_set(exchange: Exchange) -> set[str]:
    """The names of the attributes that an exchange has."""
    return {name for name in {*SLOTS, *SHARED, *MADE_WHEN_ASKED} if hasattr(exchange, name)}


def slots(side: str | None) -> set[str]:
    """The attributes that frames of a side set; without a side those that `begin` sets, and the correlation id."""
    said = {name: {*EXCHANGE_ATTRIBUTES[name].split()} & {"request", "response"} for name in SLOTS}
    return {name for name, sides in said.items() if sides == {side} - {None}}


def new_exchange() -> Exchange:
    exchange = Exchange()
    info = ConnectionInfo(1, "10.0.0.1:1", "10.0.0.2:9092", 0, Topics())
    set_initial_values(exchange, info, ApiReaders(Needs()).unknown)
    return exchange


FLAGS: Final = {
    "slot": {"", "sent", "sent always", "sent key", "request", "request always", "response", "response always"},
    "extra": {""},
    "derived": {"", "always"},
}


def test_every_attribute_says_what_holds_it() -> None:
    for name, flags in EXCHANGE_ATTRIBUTES.items():
        held, _, more = flags.partition(" ")
        assert more in FLAGS[held], name


def test_every_attribute_says_what_it_looks_like() -> None:
    assert _ROWS.keys() <= EXCHANGE_FIELDS.keys()
    assert tuple(SHAPES) == KEYS


@pytest.mark.skipif(not hasattr(Exchange, "__slots__"), reason="a compiled class does not list its attributes")
def test_an_exchange_has_the_attributes_of_the_table() -> None:
    assert set(Exchange.__slots__) == {*SLOTS, *SHARED, *MADE_WHEN_ASKED}
    assert all(hasattr(Exchange, name) for name in SLOTS)


def test_each_step_sets_the_attributes_of_its_side() -> None:
    exchange = new_exchange()
    assert attributes_set(exchange) - SHARED - {"_looked", "place"} == slots(None) - {"correlation_id"}
    frame = Frame(b"", 0, (1, 2), (3, 4), 5)
    for step, side in ((set_request_of_exchange, "request"), (set_response_of_exchange, "response")):
        before = attributes_set(exchange)
        step(exchange, frame)
        assert attributes_set(exchange) - before == slots(side) - {"place"}
    for absent, side in ((set_request_missing, "request"), (set_response_missing, "response")):
        exchange = new_exchange()
        before = attributes_set(exchange)
        absent(exchange)
        assert attributes_set(exchange) - before == slots(side) - {"place", "time_ns", "response_place"}


def test_the_loop_sets_every_attribute() -> None:
    settled = [row for row in Engine().feed(list(segments("tour.pcapng"))) if isinstance(row, Exchange)]
    complete = [row for row in settled if row.outcome == "complete"]
    assert len(complete) > 100
    for exchange in complete:
        assert attributes_set(exchange) >= {*SLOTS, *SHARED}


def test_a_request_in_flight_is_saved_in_the_order_of_old_states() -> None:
    assert (
        *("api_key", "api_version", "correlation_id", "client_id", "client_software", "login", "outcome", "extra"),
        *("place", "time_ns", "request_end_ns", "request_packet", "request_packet_end", "request_size", "request_raw"),
    ) == REQUEST
    known = slots("response") | slots(None)
    assert set(ORPHAN_ATTRIBUTES) == slots("response") - {"response_place"} | {"correlation_id", "extra"} <= known


@pytest.mark.parametrize("name", CLEAN)
def test_records_have_the_keys_of_the_table(name: str) -> None:
    engine = Engine()
    engine.pairer.enable_noting_of_earlier_facts()
    rows = [*engine.feed(list(segments(name))), *engine.finish()]
    exchanges = [row for row in rows if isinstance(row, Exchange)]
    for exchange in exchanges:
        record = exchange_json(exchange)
        assert tuple(record)[: len(ALWAYS)] == ALWAYS
        assert set(record) <= {*KEYS}
        assert set(exchange.extra or ()) <= {*EXTRA, "reason", "request", "response", SESSION_PARTITIONS}


def test_the_published_schema_is_made_of_the_table() -> None:
    assert PUBLISHED.read_text() == format_schema(make_record_schema()), "run python -m kwcli.declarations schema"
    assert SCHEMA["required"] == list(ALWAYS)
    assert set(SCALARS) < set(ALWAYS)


@pytest.mark.parametrize("key", KEYS)
def test_each_key_of_the_record_is_a_path(key: str) -> None:
    assert parse_record_path(key).text == key
    properties: dict[str, Any] = SCHEMA["properties"][key].get("properties", {})
    for part in properties:
        assert parse_record_path(f"{key}.{part}").text == f"{key}.{part}"


def test_filters_dimensions_and_columns_of_output_have_the_words_of_the_table() -> None:
    words = {field.word for field in EXCHANGE_FIELDS.values() if field.word}
    of_output = {*COLUMNS, *WORDS}
    assert words <= {*FIELDS, *DIMENSIONS, *of_output}
    parts = {f"{key}_{part}" for key in ("software",) for part in ("version",)}
    for table in (FIELDS, DIMENSIONS, COLUMNS):
        heads = {word.partition(".")[0] for word in table}
        assert heads <= words | {*KEYS} | OF_BODIES | parts


def test_tables_have_the_columns_of_the_table_and_their_own() -> None:
    columns = [name for field in EXCHANGE_FIELDS.values() for name in field.columns]
    assert sorted(columns) == sorted(set(columns))
    assert {*columns} | OF_TABLES == {column.name for column in EXCHANGES}
    assert not {*columns} & OF_TABLES
    assert set(EXCHANGE_COLUMNS) <= {*columns} | OF_TABLES
    assert set(BODY_COLUMNS) <= {*columns, "further_keys"}
