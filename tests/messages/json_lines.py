"""Settled exchanges and skipped runs in, their records as lines of NDJSON out."""

from __future__ import annotations

import orjson

from decoders.exchanges.exchange import Settled
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import to_json_dict


def to_json_bytes(settled: Settled, options: Options | None = None) -> bytes:
    """The record of an exchange or of a skipped run as one line, with its newline."""
    return orjson.dumps(to_json_dict(settled, options or Options()), option=orjson.OPT_APPEND_NEWLINE)
