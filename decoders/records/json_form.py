"""Records as JSON shows them: rows in, JSON-ready dicts out (bytes as text where they are text, else base64)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from operator import itemgetter
from typing import Any, Final

from decoders.records.control import control_json
from decoders.records.model import ALWAYS, Batch, Header, Row, failed
from decoders.wire.text import is_plain, json_bytes, json_text

# Rows looked at together, so that what is made on the way stays small.
_CHUNK: Final = 128
_FEW: Final = 6
_key, _value = itemgetter(2), itemgetter(3)


def records_json(rows: Iterator[Row], hide: Callable[[bytes], bool] | None = None) -> list[dict[str, Any]]:
    """A dict for each row; values for which `hide` is true are shown as {"redacted": N}."""
    out: list[dict[str, Any]] = []
    key_text: Callable[[bytes], object]
    value_text: Callable[[bytes], object]
    while chunk := list(islice(rows, _CHUNK)):
        if len(chunk) < _FEW:
            key_text = value_text = json_bytes
        else:
            # Most keys and values are plain text: one look at all of them is cheaper than one at each.
            key_text, value_text = _shower(map(_key, chunk)), _shower(map(_value, chunk))
        if hide is not None:
            value_text = _hiding(hide)
        out += [
            {
                "offset": offset,
                "timestamp": timestamp,
                "key": None if key is None else key_text(key),
                "value": None if value is None else value_text(value),
                "headers": _headers(headers) if headers else [],
            }
            for offset, timestamp, key, value, headers, _ in chunk
        ]
        if chunk[0][5] is not None:
            for shown, row in zip(out[-len(chunk) :], chunk, strict=True):
                shown["control_record"] = control_json(row[2], row[3])
        if len(chunk) < _CHUNK:
            break
    return out


def _shower(data: Iterable[bytes | None]) -> Callable[[bytes], object]:
    """What shows each of these."""
    return bytes.decode if is_plain(b"".join(filter(None, data))) else json_bytes


def _hiding(hide: Callable[[bytes], bool]) -> Callable[[bytes], object]:
    def show(value: bytes) -> object:
        return {"redacted": len(value)} if hide(value) else json_bytes(value)

    return show


def _headers(headers: tuple[Header, ...]) -> list[dict[str, Any]]:
    return [
        {
            "key": key if key.isprintable() else json_text(key),
            "value": None if value is None else json_bytes(value),
        }
        for key, value in headers
    ]


def batch_json(batch: Batch, hide: Callable[[bytes], bool] | None = None) -> dict[str, Any]:
    """The JSON-ready dict of a batch, as `batches_json` gives it."""
    fields: dict[str, Any] = {name: getattr(batch, name) for name in ALWAYS}
    if batch.error is not None:
        failed(fields, *batch.error)
    if batch.records_cut:
        fields["records_cut"] = batch.records_cut
    if batch.records is not None:
        fields["records"] = records_json(iter(batch.records), hide)
    return fields
