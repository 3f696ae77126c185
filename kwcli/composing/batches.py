"""The JSON form of batches as declared fields, so that words can go into records as they go into any array."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from decoders.schema.model import Field
from decoders.schema.vocabulary import parse_message

RECORDS: Final = "records"
# What follows from the records (size, crc, record_count) is not to be set.
_BATCH: Final = """
message Batch
versions 0
flexible none
fields
    base_offset             int64   0+
    last_offset             int64   0+
    magic                   int8    0+
    codec                   string  0+
    timestamp_type          string  0+
    base_timestamp          int64   0+
    max_timestamp           int64   0+
    partition_leader_epoch  int32   0+
    producer_id             int64   0+
    producer_epoch          int16   0+
    base_sequence           int32   0+
    transactional           bool    0+
    control                 bool    0+
    delete_horizon_ms       int64   0+
    records                 []struct  0+
        offset     int64  0+
        timestamp  int64  0+
        key        bytes  0+  null 0+
        value      bytes  0+  null 0+
        headers    []struct  0+
            key    string  0+
            value  bytes   0+  null 0+
"""


@cache
def _fields() -> tuple[Field, ...]:
    return parse_message(_BATCH).fields


def below(field: Field) -> Sequence[Field]:
    """The fields inside a field: of a struct, or of the batches of a records field."""
    return _fields() if field.kind == RECORDS else field.fields


def as_batches(field: Field) -> Field:
    """A records field as the array of structs that its JSON form is."""
    return field._replace(kind="struct", array=True, fields=_fields())


def is_inside(field: Field) -> bool:
    """Whether it is the struct of a batch, a record or a header, whose JSON form is checked as a whole elsewhere."""
    return field.fields != () and any(field.fields is known for known in _structs())


@cache
def _structs() -> tuple[tuple[Field, ...], ...]:
    records = _fields()[-1].fields
    return _fields(), records, records[-1].fields
