"""A records field in any of the three formats in, batches and records out; and back.

Each name is loaded when it is first used (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from decoders.records.json_form import batch_json, holds_secret, records_json
    from decoders.records.model import Batch, Budget, Record
    from decoders.records.read import batches_json, decode_records, read_batches
    from decoders.records.summary import RecordsSummary, read_sole_batch, summarize
    from decoders.records.write import encode_batch, encode_records

__all__ = [
    "Batch",
    "Budget",
    "Record",
    "RecordsSummary",
    "batch_json",
    "batches_json",
    "decode_records",
    "encode_batch",
    "encode_records",
    "holds_secret",
    "read_batches",
    "read_sole_batch",
    "records_json",
    "summarize",
]

# Public name → the module that defines it.
_HOMES: Final = {
    "Batch": "model",
    "Budget": "model",
    "Record": "model",
    "RecordsSummary": "summary",
    "batch_json": "json_form",
    "batches_json": "read",
    "decode_records": "read",
    "encode_batch": "write",
    "encode_records": "write",
    "holds_secret": "json_form",
    "read_batches": "read",
    "records_json": "json_form",
    "read_sole_batch": "summary",
    "summarize": "summary",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value
