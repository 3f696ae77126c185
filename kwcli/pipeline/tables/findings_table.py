"""Findings as `kw doctor` has them in, rows of the table `findings` out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from decoders.messages.exchange_json import SCHEMA
from decoders.schema.body_json_form import encode_text_for_cell
from decoders.wire.parse_units import parse_time
from kwcli.pipeline.tables.arrow_schemas import SCHEMAS, TYPES

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row

__all__ = ["build_findings_batch"]

_SCHEMA: Final = SCHEMAS["findings"]
# Columns that are made of something else than the key of the same name.
_MADE: Final = frozenset({"kind", "schema", "time", "time_ns", "batch", "first_ns", "last_ns", "evidence"})


def build_findings_batch(found: Sequence[tuple[int, Row]], batch: int) -> pa.RecordBatch:
    """Pairs of the beginning of a date, in ns, and a finding of that date in, rows of the table out."""
    columns: dict[str, list[Any]] = {name: [] for name in _SCHEMA.names if name != "time"}
    for day_ns, row in found:
        first_ns, last_ns = (None if row[name] is None else parse_time(row[name]) for name in ("first", "last"))
        made: Mapping[str, Any] = {
            "kind": "finding",
            "schema": SCHEMA,
            "time_ns": day_ns if last_ns is None else last_ns,
            "batch": batch,
            "first_ns": first_ns,
            "last_ns": last_ns,
            "evidence": orjson.dumps(row["evidence"]).decode(),
        }
        for name, its in columns.items():
            its.append(made[name] if name in _MADE else _convert_texts_to_cells(row.get(name)))
    arrays = {name: pa.array(its, _SCHEMA.field(name).type) for name, its in columns.items()}
    arrays["time"] = pc.divide(arrays["time_ns"], 1000).cast(TYPES["timestamp"])
    return pa.RecordBatch.from_arrays([arrays[name] for name in _SCHEMA.names], schema=_SCHEMA)


def _convert_texts_to_cells(value: Any) -> Any:
    if isinstance(value, str):
        return encode_text_for_cell(value)
    return [_convert_texts_to_cells(each) for each in value] if isinstance(value, list) else value
