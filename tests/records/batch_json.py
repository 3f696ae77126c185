"""A batch with its records in, its JSON-ready dict out: what reading the bytes as JSON is held against."""

from __future__ import annotations

from typing import Any

from decoders.records.record_and_batch import ALWAYS, Batch, set_batch_error
from decoders.records.records_as_json import records_json


def batch_json(batch: Batch) -> dict[str, Any]:
    """The JSON-ready dict of a batch, as `batches_json` makes it."""
    fields: dict[str, Any] = {name: getattr(batch, name) for name in ALWAYS}
    if batch.error is not None:
        set_batch_error(fields, *batch.error)
    if batch.records_cut:
        fields["records_cut"] = batch.records_cut
    if batch.records is not None:
        fields["records"] = records_json(iter(batch.records))
    return fields
