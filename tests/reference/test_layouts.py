"""`kw apis API VERSION` against encoded bytes: the printed layout is enough to read them."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from decoders import decode_request, decode_response, encode_request, encode_response
from decoders.apis import KEYS, api
from decoders.schema.decode_and_encode import encode
from tests.apis.everything import layouts
from tests.cli.worlds import kw, world
from tests.reference.printed import Reader, Row, parse
from tests.schema.values import random_value

VALUES = 3


def printed(*words: str, columns: int | None = None) -> str:
    outcome = kw("apis", *words, "-o", "text", env=world(columns=columns))
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out


def read(sections: dict[str, list[Row]], side: str, frame: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    reader = Reader(frame)
    header = reader.fields(sections[f"{side} header"])
    body = reader.fields(sections.get(f"{side} body", []))
    assert reader.at == len(frame)
    return header, body


@pytest.mark.one_in(5)
@pytest.mark.parametrize("key", KEYS)
def test_a_printed_layout_reads_what_the_codec_writes(key: int) -> None:
    found = api(key)
    for declared in layouts(key):
        version, side = declared.version, declared.side
        words = (found.name, str(version), *(("--release", declared.early_layout) if declared.early_layout else ()))
        sections = parse(printed(*words))
        for number in range(VALUES):
            value = random_value(declared.plan, Random(f"{declared} {number}"), values=120)
            if declared.early_layout:
                reader = Reader(encode(declared.plan, value))
                assert reader.fields(sections[f"{side} body"]) == value, declared
                assert reader.at == len(reader.data)
            elif side == "request":
                client = (None, "", "kw-τ")[number] if key != 7 or version else None
                frame = encode_request(key, version, value, correlation_id=number - 1, client_id=client)
                request = decode_request(frame)
                assert read(sections, side, frame) == (request.header, request.body) == (request.header, value), (
                    declared
                )
            else:
                frame = encode_response(key, version, value, correlation_id=number - 1)
                response = decode_response(frame, key, version)
                assert read(sections, side, frame) == (response.header, response.body), declared
                assert response.body == value


@pytest.mark.parametrize("columns", [80, 200])
def test_no_width_hides_anything_of_a_layout(columns: int) -> None:
    def plain(rows: list[Row]) -> list[Any]:
        return [(row.name, row.encoding, row.tag, plain(row.below)) for row in rows]

    for key in KEYS:
        newest = str(api(key).versions.high)
        whole, narrow = parse(printed(str(key), newest)), parse(printed(str(key), newest, columns=columns))
        assert {name: plain(rows) for name, rows in narrow.items()} == {
            name: plain(rows) for name, rows in whole.items()
        }
