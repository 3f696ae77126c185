"""An exchange or a record in, its HTML for a notebook out; secrets of an exchange are redacted as in its record.

Colours, fonts and sizes are the notebook's own, light or dark: only bars and errors have a colour.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

import orjson

from decoders.schema.body_json_form import json_bytes
from decoders.wire.format_and_escape_text import escape_text, format_bytes, format_latency, format_rfc3339

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.records.record_and_batch import Record

__all__ = ["exchange_to_html", "record_to_html"]

# The characters of a body and of a value that are shown.
_BODY_MAX: Final = 20_000
_VALUE_MAX: Final = 1_000
_BOX: Final = "border-left:3px solid #8888;padding-left:.6em;margin:.3em 0"
_ERROR: Final = "color:#c0392b"
_LEFT: Final = "text-align:left"
_PRE: Final = "font-family:monospace;margin:0"


def exchange_to_html(exchange: Exchange) -> str:
    """The API, who asked whom, the time, the status and errors of an exchange; its bodies behind a click each."""
    record = exchange.to_dict()
    api = "SASL token" if exchange.is_sasl_token else f"{record['api'] or 'unknown API'} {record['api_version']}"
    client_id = record["client_id"]
    client = record["client"] if not client_id else f"{record['client']} ({_format_json(client_id)})"
    latency = "" if record["latency_ms"] is None else format_latency(record["latency_ms"])
    facts = filter(None, (record["time"], f"{client} → {record['broker']}", record["status"], latency))
    errors = "".join(
        f'<div style="{_ERROR}">{_escape_html(error["path"])}: {_escape_html(error["name"])}</div>'
        for error in record["errors"]
    )
    bodies = "".join(_body_to_html(side, record[f"{side}_size"], record[side]) for side in ("request", "response"))
    return f'<div style="{_BOX}"><b>{_escape_html(api)}</b> · {_escape_html(" · ".join(facts))}{errors}{bodies}</div>'


def record_to_html(record: Record) -> str:
    """A record as a table of its fields; bytes that are text as text, all others as base64."""
    rows = [("offset", str(record.offset)), ("timestamp", _format_timestamp(record.timestamp))]
    rows += [("key", _format_record_content(record.key)), ("value", _format_record_content(record.value))]
    rows += [(f"header {name}", _format_record_content(value)) for name, value in record.headers]
    if record.control_record is not None:
        rows.append(("control record", str(record.control_record)))
    cells = "".join(
        f'<tr><th style="{_LEFT}">{_escape_html(name)}</th><td style="{_LEFT}">{_escape_html(text)}</td></tr>'
        for name, text in rows
    )
    return f'<table style="{_BOX}">{cells}</table>'


def _body_to_html(side: str, size: int | None, body: Any) -> str:
    if body is None:
        return ""
    text = orjson.dumps(body, option=orjson.OPT_INDENT_2).decode()
    lines = [_escape_html(line) for line in text[:_BODY_MAX].split("\n")]
    if len(text) > _BODY_MAX:
        lines.append(f"… ({len(text) - _BODY_MAX:,} more characters: to_dict() has all)")
    title = side if size is None else f"{side}, {format_bytes(size)}"
    shown = chr(10).join(lines)
    return f'<details><summary>{title}</summary><pre style="{_PRE}">{shown}</pre></details>'


def _format_timestamp(timestamp: int | None) -> str:
    return "–" if timestamp is None else f"{timestamp} ({format_rfc3339(timestamp * 1_000_000)})"


def _format_record_content(data: bytes | None) -> str:
    if data is None:
        return "null"
    text = _format_json(json_bytes(data))
    return text if len(text) <= _VALUE_MAX else f"{text[:_VALUE_MAX]} … ({format_bytes(len(data))})"


def _format_json(form: Any) -> str:
    return form if isinstance(form, str) else orjson.dumps(form).decode()


def _escape_html(text: str) -> str:
    return escape(escape_text(text))
