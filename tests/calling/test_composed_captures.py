"""Every request of the captures that ship, given as its record and as YAML of it: a call would send the same bytes."""

from __future__ import annotations

from collections import Counter

import pytest

import decoders
from decoders import Exchange, api
from decoders.messages.build_body_json import Options
from decoders.messages.whole_messages import encode_json
from decoders.protocol_facts.example_requests import example_request
from kwcli.calling.format_skeleton import format_skeleton
from kwcli.calling.words.path_value_words import compose_body, encode_composed_body, parse_body_words
from tests.captures.shipped import CLEAN, capture_bytes
from tests.cli.worlds import world
from tests.messages.json_lines import to_json_bytes

ALL = Options(records=True, reveal_secrets=True)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", CLEAN)
def test_a_request_is_composed_of_its_record(name: str) -> None:
    found: Counter[str] = Counter()
    for number, exchange in enumerate(decoders.read_exchanges(capture_bytes(name))):
        if not isinstance(exchange, Exchange) or exchange.api_key is None or exchange.request_raw is None:
            continue
        if exchange.failures.get("request") is not None:
            continue
        declared, version = api(exchange.api_key), exchange.api_version
        assert version is not None
        record = to_json_bytes(exchange, ALL)
        given = parse_body_words(declared, ["-"], env=world(record))
        assert given.body is not None
        assert given.body.version == version
        start = example_request(declared, version) if version in declared.versions else None
        value = compose_body(declared, version, given, start=start)
        again = encode_composed_body(declared, version, value, layout=given.body.layout)
        assert again == encode_json(exchange.api_key, version, "request", given.body.value, layout=given.body.layout)
        sent = exchange.request_raw[exchange._api_reader.find_body_offset("request", exchange.request_raw) :]
        found["same"] += again == sent
        found["requests"] += 1
        if number % 7 == 0 and given.body.layout is None:
            text = format_skeleton(declared, version, value).encode()
            yaml = compose_body(declared, version, ["-"], env=world(text), start=start)
            assert encode_composed_body(declared, version, yaml) == again
    assert found["requests"] >= 20
    assert found["same"] >= found["requests"] * 0.9
