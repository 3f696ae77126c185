"""The client id of a request, by its bytes alone: what the prefilter of a proxy compares."""

from __future__ import annotations

from typing import Final

import pytest

from decoders import encode_request
from decoders.protocol_facts.api_keys import API_VERSIONS, FETCH, METADATA
from kwcli.proxy.relay.handling_by_api_version import read_client_id
from tests.exchanges.talks import framed

# A request header with tags and one without; ApiVersions has them in its request from version 3 on.
REQUESTS: Final = [(METADATA, 1), (METADATA, 12), (FETCH, 4), (FETCH, 13), (API_VERSIONS, 0), (API_VERSIONS, 3)]
BEFORE: Final = b"some bytes of another request"


def framed_request(key: int, version: int, client_id: str | None) -> bytes:
    """An empty request with its size field."""
    return framed(encode_request(key, version, {}, correlation_id=7, client_id=client_id))


@pytest.mark.parametrize("client_id", [None, "", "a", "é-1", "x" * 1024])
@pytest.mark.parametrize(("key", "version"), REQUESTS)
def test_a_client_id_is_read_with_its_size(key: int, version: int, client_id: str | None) -> None:
    frame = framed_request(key, version, client_id)
    plain = None if client_id is None else client_id.encode()
    size = b"\xff\xff" if plain is None else len(plain).to_bytes(2, "big")
    tags = b"\0" if (key, version) in REQUESTS[1::2] else b""
    header = size + (plain or b"") + tags
    at = len(BEFORE)
    assert read_client_id(key, version, BEFORE + frame + b"behind", at, at + len(frame)) == (header, plain)
    for end in range(at, at + 12 + len(header)):
        assert read_client_id(key, version, BEFORE + frame, at, end) is None


@pytest.mark.parametrize(("key", "version"), REQUESTS)
def test_a_long_client_id_is_not_compared(key: int, version: int) -> None:
    frame = framed_request(key, version, "x" * 1025)
    assert read_client_id(key, version, frame, 0, len(frame)) is None


@pytest.mark.parametrize(("key", "version"), REQUESTS[1::2])
def test_a_header_with_tags_is_not_compared(key: int, version: int) -> None:
    frame = framed_request(key, version, "app")
    assert frame[12:18] == b"\0\3app\0"
    tagged = frame[:17] + b"\1\7\1x" + frame[18:]
    tagged = (len(tagged) - 4).to_bytes(4, "big") + tagged[4:]
    assert read_client_id(key, version, tagged, 0, len(tagged)) is None
