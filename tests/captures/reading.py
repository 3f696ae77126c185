"""A capture's bytes in, the engine's exchange records out (secrets revealed, every Kafka record listed)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from decoders.capture.read_capture import CaptureReader
from decoders.exchanges.exchange import Exchange, Settled
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import to_json_dict

__all__ = ["EVERYTHING", "records", "settled"]

EVERYTHING: Final = Options(records=True, reveal_secrets=True)
_PIECE: Final = 1 << 20


def settled(data: bytes, ports: Iterable[int] | None = None) -> list[Settled]:
    """Everything that the engine settles of a capture, in the order settled."""
    reader, engine = CaptureReader(), Engine(ports)
    found: list[Settled] = []
    for at in range(0, len(data), _PIECE):
        found += engine.feed(reader.feed(data[at : at + _PIECE]))
    found += engine.feed(reader.finish())
    return found + engine.finish()


def records(data: bytes, ports: Iterable[int] | None = None) -> list[dict[str, Any]]:
    """The exchange records, as dicts, of everything that the engine settles."""
    return [to_json_dict(each, EVERYTHING) for each in settled(data, ports)]


def exchanges(data: bytes, ports: Iterable[int] | None = None) -> list[Exchange]:
    """The exchanges of a capture, without anything else that the engine settles."""
    return [each for each in settled(data, ports) if isinstance(each, Exchange)]
