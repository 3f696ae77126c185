"""`kw decode | kw encode`: every frame of the captures that ship through both commands, unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import decoders
from decoders import Exchange
from decoders.schema.api_declaration import Side
from tests.apis.test_json_captures import without_sizes
from tests.captures.shipped import CLEAN, capture_bytes
from tests.cli.worlds import kw, world
from tests.sampling import sampled

# The number of frames for each (capture, API, side): the commands are slower than the library.
EACH = 2


def frames(name: str) -> Iterator[tuple[str, int, Side, bytes]]:
    """Frames with complete bodies: API, version, side, the bytes with the size field."""
    seen: dict[tuple[str, Side], int] = {}
    for exchange in decoders.read_exchanges(capture_bytes(name)):
        if not isinstance(exchange, Exchange) or exchange.api is None or exchange.api_version is None:
            continue
        sides: tuple[tuple[Side, bytes | None], ...] = (
            ("request", exchange.request_raw),
            ("response", exchange.response_raw),
        )
        for side, data in sides:
            count = seen.get((exchange.api, side), 0)
            if data is None or count >= EACH or exchange.failures or exchange.api.startswith("UNKNOWN"):
                continue
            if exchange.api == "ApiVersions" and side == "response" and exchange.errors:
                continue  # in the layout of version 0, which the record does not tell
            seen[exchange.api, side] = count + 1
            yield exchange.api, exchange.api_version, side, bytes(data)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", sampled(CLEAN, 3))
def test_frames_through_both_commands(name: str) -> None:
    same = changed = 0
    for api, version, side, frame in frames(name):
        words = ["--api", api, "--version", str(version), f"--{side}", "--records", "--reveal-secrets"]
        decoded = kw("decode", frame.hex(), *words, "-o", "ndjson")
        assert decoded.code == 0, decoded.err
        flags = ["--frame", *(["--response"] if side == "response" else [])]
        encoded = kw("encode", api, str(version), *flags, env=world(decoded.out.encode()))
        if "was cut off" in encoded.err:
            continue
        assert encoded.code == 0, (api, version, side, encoded.err)
        if bytes.fromhex(encoded.out) == frame:
            same += 1
            continue
        assert api in {"Produce", "Fetch", "ShareFetch"}, (api, version, side)  # compressed again
        again = kw("decode", encoded.out, *words, "-o", "ndjson").out
        assert without_sizes(json.loads(again)["body"]) == without_sizes(json.loads(decoded.out)["body"])
        changed += 1
    assert same > changed * 3
    assert same >= 15
