"""A decoder of everything that Apache Kafka puts on the wire: bytes in, values out, no I/O.

Programs may rely on the names of this module; each is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from decoders.apis import api
    from decoders.embedded import decode_embedded, encode_embedded
    from decoders.errors import (
        DecodeError,
        EncodeError,
        LimitExceeded,
        Malformed,
        Truncated,
        UnknownApi,
        UnsupportedVersion,
    )
    from decoders.exchanges.body_reader import Needs
    from decoders.exchanges.exchange import Exchange, Skipped
    from decoders.messages.whole_messages import (
        Request,
        Response,
        decode_message,
        decode_request,
        decode_response,
        encode_message,
        encode_request,
        encode_response,
    )
    from decoders.read_exchanges_of_captures import read_exchanges
    from decoders.records.encode_batches import encode_records
    from decoders.records.read_batches import decode_records
    from decoders.records.record_and_batch import Batch, Record
    from decoders.schema.api_declaration import Api
    from decoders.tls.key_log import KeyLog

__all__ = [
    "Api",
    "Batch",
    "DecodeError",
    "EncodeError",
    "Exchange",
    "KeyLog",
    "LimitExceeded",
    "Malformed",
    "Needs",
    "Record",
    "Request",
    "Response",
    "Skipped",
    "Truncated",
    "UnknownApi",
    "UnsupportedVersion",
    "api",
    "decode_embedded",
    "decode_message",
    "decode_records",
    "decode_request",
    "decode_response",
    "encode_embedded",
    "encode_message",
    "encode_records",
    "encode_request",
    "encode_response",
    "read_exchanges",
]

__version__: Final = "0.1.0"
# Public name → the module that has it.
_HOMES: Final = {
    "Api": "decoders.schema.api_declaration",
    "Batch": "decoders.records.record_and_batch",
    "DecodeError": "decoders.errors",
    "EncodeError": "decoders.errors",
    "Exchange": "decoders.exchanges.exchange",
    "KeyLog": "decoders.tls.key_log",
    "LimitExceeded": "decoders.errors",
    "Malformed": "decoders.errors",
    "Needs": "decoders.exchanges.body_reader",
    "Record": "decoders.records.record_and_batch",
    "Request": "decoders.messages.whole_messages",
    "Response": "decoders.messages.whole_messages",
    "Skipped": "decoders.exchanges.exchange",
    "Truncated": "decoders.errors",
    "UnknownApi": "decoders.errors",
    "UnsupportedVersion": "decoders.errors",
    "api": "decoders.apis",
    "decode_embedded": "decoders.embedded",
    "decode_message": "decoders.messages.whole_messages",
    "decode_records": "decoders.records.read_batches",
    "decode_request": "decoders.messages.whole_messages",
    "decode_response": "decoders.messages.whole_messages",
    "encode_embedded": "decoders.embedded",
    "encode_message": "decoders.messages.whole_messages",
    "encode_records": "decoders.records.encode_batches",
    "encode_request": "decoders.messages.whole_messages",
    "encode_response": "decoders.messages.whole_messages",
    "read_exchanges": "decoders.read_exchanges_of_captures",
}


def __dir__() -> list[str]:
    """The public names, for `help`, `dir` and completion: also those that are not loaded yet."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Load a public name on first use (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value
