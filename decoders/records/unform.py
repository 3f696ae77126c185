"""The JSON form of a records field in (a list of batches with their records), its bytes out.

What follows from the records is not read: `size`, `crc`, `record_count`. What the JSON form does not hold cannot come
back: how the batch was compressed exactly, the own timestamps of records that the broker stamped (`log_append`), the
rest of a batch that was cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final

from decoders.errors import EncodeError
from decoders.records.codecs import NUMBERS
from decoders.records.model import Batch, Header, Record
from decoders.schema.unform import bytes_from_json, leaf_from_json, shown, text_from_json

MAGIC_MAX: Final = 2
# Kinds of the fields that say something; those that are derived are passed over.
_NUMBERS: Final = {
    "base_offset": "int64",
    "last_offset": "int64",
    "base_timestamp": "int64",
    "max_timestamp": "int64",
    "partition_leader_epoch": "int32",
    "producer_id": "int64",
    "producer_epoch": "int16",
    "base_sequence": "int32",
    "transactional": "bool",
    "control": "bool",
    "delete_horizon_ms": "int64",
}
_CHOICES: Final = {"codec": tuple(NUMBERS), "timestamp_type": ("create", "log_append")}
_DERIVED: Final = frozenset({"crc", "record_count", "size"})
_PROBLEMS: Final = frozenset({"truncated", "error", "records_cut"})
_BATCH: Final = frozenset({"magic", "records", *_NUMBERS, *_CHOICES, *_DERIVED, *_PROBLEMS})
_RECORD: Final = frozenset({"offset", "timestamp", "key", "value", "headers", "control_record"})
_HEADER: Final = frozenset({"key", "value"})


def records_from_json(batches: list[Any], path: str) -> bytes:
    """The bytes of a records field. Raises EncodeError, the path of the batch before its own."""
    return b"".join(_written(batch, f"{path}[{index}]") for index, batch in enumerate(batches))


def batch_from_json(value: object, path: str) -> Batch:
    """One batch with its records; what is left out follows from them. Raises EncodeError."""
    fields = _named(value, _BATCH, "a batch", path)
    _check_whole(fields, path)
    known: dict[str, Any] = {}
    for name, inner in fields.items():
        if inner is None:
            continue
        if name in _NUMBERS:
            known[name] = leaf_from_json(_NUMBERS[name], inner, f"{path}.{name}")
        elif name in _CHOICES:
            if inner not in _CHOICES[name]:
                raise EncodeError(f"{' or '.join(_CHOICES[name])}, not {shown(inner)}", path=f"{path}.{name}")
            known[name] = inner
    magic = fields.get("magic")
    if magic is None:
        magic = MAGIC_MAX
    if not isinstance(magic, int) or isinstance(magic, bool) or not 0 <= magic <= MAGIC_MAX:
        raise EncodeError(f"0, 1 or 2, not {shown(magic)}", path=f"{path}.magic")
    records = list(_records(fields["records"], known.get("base_offset", 0), f"{path}.records"))
    return Batch(magic=magic, records=records, **known)


def _written(value: object, path: str) -> bytes:
    from decoders.records.write import encode_records

    batch = batch_from_json(value, path)
    try:
        return encode_records([batch])
    except EncodeError as failure:
        # The path inside begins with the number of the one batch.
        raise EncodeError(failure.text, path=path + failure.path.removeprefix("[0]")) from None


def _check_whole(fields: Mapping[str, Any], path: str) -> None:
    error = fields.get("error")
    if error is not None:
        reason = error.get("reason") if isinstance(error, Mapping) else error
        raise EncodeError(f"a batch that could not be read ({shown(reason)}) cannot be encoded", path=f"{path}.error")
    if fields.get("truncated"):
        raise EncodeError("a batch that was cut off cannot be encoded", path=f"{path}.truncated")
    if fields.get("records_cut"):
        text = f"{shown(fields['records_cut'])} records were left out by a limit; the batch cannot be encoded"
        raise EncodeError(text, path=f"{path}.records_cut")
    if fields.get("records") is None:
        raise EncodeError("a batch without its records cannot be encoded; --records keeps them", path=f"{path}.records")


def _records(value: object, base: int, path: str) -> Iterator[Record]:
    if not isinstance(value, list | tuple):
        raise EncodeError(f"an array of records expected, not {shown(value)}", path=path)
    for element, offset, place in zip(value, count(base), (f"{path}[{n}]" for n in count()), strict=False):
        fields = _named(element, _RECORD, "a record", place)
        stated, timestamp = fields.get("offset"), fields.get("timestamp")
        headers = fields.get("headers")
        yield Record(
            offset if stated is None else _int64(stated, f"{place}.offset"),
            None if timestamp is None else _int64(timestamp, f"{place}.timestamp"),
            _data(fields.get("key"), f"{place}.key"),
            _data(fields.get("value"), f"{place}.value"),
            () if headers is None else tuple(_headers(headers, f"{place}.headers")),
        )


def _headers(value: object, path: str) -> Iterator[Header]:
    if not isinstance(value, list | tuple):
        raise EncodeError(f"an array of headers expected, not {shown(value)}", path=path)
    for index, element in enumerate(value):
        place = f"{path}[{index}]"
        fields = _named(element, _HEADER, "a header", place)
        yield text_from_json(fields.get("key"), f"{place}.key"), _data(fields.get("value"), f"{place}.value")


def _named(value: object, names: frozenset[str], what: str, path: str) -> dict[str, Any]:
    """The fields of an object under their names, camelCase accepted."""
    if not isinstance(value, Mapping):
        raise EncodeError(f"{what} (an object) expected, not {shown(value)}", path=path)
    known = {name.replace("_", ""): name for name in names}
    out: dict[str, Any] = {}
    for name, inner in value.items():
        found = name if name in names else known.get(str(name).replace("_", "").lower())
        if found is None or found in out:
            problem = (
                "the same field twice" if found else f"{what} has no such field; there are {', '.join(sorted(names))}"
            )
            raise EncodeError(problem, path=f"{path}.{name}")
        out[found] = inner
    return out


def _int64(value: object, path: str) -> int:
    number = leaf_from_json("int64", value, path)
    assert isinstance(number, int)
    return number


def _data(value: object, path: str) -> bytes | None:
    return None if value is None else bytes_from_json(value, path)
