"""Every frame of the captures that ship, decoded and encoded again: the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

import decoders
from decoders import Exchange

CAPTURES = sorted((Path(__file__).resolve().parents[2] / "captures").glob("*.pcap*"))
PLAIN = [path for path in CAPTURES if path.suffix in (".pcap", ".pcapng")]


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: path.name)
def test_frames_come_back(path: Path) -> None:
    frames = 0
    for exchange in decoders.read_exchanges(path.read_bytes()):
        if not isinstance(exchange, Exchange) or exchange.api_key is None:
            continue
        assert exchange.api_version is not None
        if whole(exchange.request_raw):
            frame = bytes(exchange.request_raw or b"")[4:]
            request = decoders.decode_request(frame, strict=False)
            extra = request.body.pop("_trailing", b"")
            again = decoders.encode_request(
                request.api_key,
                request.api_version,
                request.body,
                correlation_id=request.correlation_id,
                client_id=request.client_id,
            )
            assert again + extra == frame
            frames += 1
        if whole(exchange.response_raw):
            frame = bytes(exchange.response_raw or b"")[4:]
            response = decoders.decode_response(frame, exchange.api_key, exchange.api_version)
            assert frame == decoders.encode_response(
                response.api_key, response.api_version, response.body, correlation_id=response.correlation_id
            )
            frames += 1
    assert frames > 50


def whole(raw: bytes | None) -> bool:
    """Whether a frame is complete: the last frames of a connection may be cut."""
    return raw is not None and len(raw) >= 4 and len(raw) - 4 == int.from_bytes(raw[:4], "big")
