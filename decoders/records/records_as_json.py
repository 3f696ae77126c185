"""Records in, their JSON form out: keys, values, control records, redacted secrets; made while written if large."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from decoders.embedded import decode_embedded, embedded_structure_json, structures_of_record
from decoders.errors import DecodeError
from decoders.limits import EMBEDDED_MAX, PIECE, VALUE_WHOLE_MAX
from decoders.protocol_facts.public_configs import is_public_config
from decoders.records.record_and_batch import Budget, Form, Header, Row
from decoders.schema.body_json_form import json_bytes, json_text
from decoders.wire.deferred_json import DeferredList, DeferredText
from decoders.wire.format_and_escape_text import is_plain_text
from decoders.wire.primitive_types import read_uvarint

if TYPE_CHECKING:
    from decoders.values.values_that_may_be_encoded import JsonRecords

# Type number of a control record → its name, and the structure of its value.
TYPES: Final[dict[int, tuple[str, str]]] = {
    0: ("ABORT", "EndTxnMarker"),
    1: ("COMMIT", "EndTxnMarker"),
    2: ("LEADER_CHANGE", "LeaderChangeMessage"),
    3: ("SNAPSHOT_HEADER", "SnapshotHeaderRecord"),
    4: ("SNAPSHOT_FOOTER", "SnapshotFooterRecord"),
    5: ("KRAFT_VERSION", "KRaftVersionRecord"),
    6: ("KRAFT_VOTERS", "VotersRecord"),
}
_KEY: Final = Struct(">hh")


def decode_control_record(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """A control record as {"type": name, "version": of the key, "value"}; type and version None for too short a key.

    The value is the decoded structure, or the bytes if they cannot be decoded.
    """
    name, version, structure = _read_control_record_key(key)
    found: Any = value
    if structure and value is not None and len(value) <= EMBEDDED_MAX:
        try:
            found = decode_embedded(structure, value)
        except DecodeError:
            found = value
    return {"type": name, "version": version, "value": found}


def control_record_json(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """A control record in JSON form: {"type": name, "version": of the key, "value"}."""
    name, version, structure = _read_control_record_key(key)
    found: Any = embedded_structure_json(structure, value) if structure else None
    if found is None and value is not None:
        found = json_bytes(value)
    return {"type": name, "version": version, "value": found}


def control_record_structures(key: bytes | None) -> tuple[str, str | None]:
    """The names of the structures in a control record's key and value; None for the value if its type is not known."""
    return "ControlRecordTypeSchema", _read_control_record_key(key)[2] or None


def _read_control_record_key(key: bytes | None) -> tuple[str | None, int | None, str]:
    """A control record's type name, key version, and value structure (empty if not known)."""
    if key is None or len(key) < _KEY.size:
        return None, None, ""
    version, number = _KEY.unpack_from(key)
    name, structure = TYPES.get(number, (f"UNKNOWN({number})", ""))
    return name, version, structure


# Secrets of `__cluster_metadata`

# A KRaft record begins with three unsigned varints: frame version, type, version of the type. SCRAM credentials and the
# values of configs that are not known to be public are secret; so are values that cannot be read.


_CONFIG: Final = 4
_SCRAM: Final = 11
_LAST_TYPE: Final = 29


def metadata_record_holds_secret(metadata_record: bytes) -> bool:
    """Whether the value of a metadata record holds a secret: the `hide` of `records_json` for that topic."""
    end = len(metadata_record)
    try:
        _, at = read_uvarint(metadata_record, 0, end)
        kind, at = read_uvarint(metadata_record, at, end)
        _, at = read_uvarint(metadata_record, at, end)
        if kind != _CONFIG:
            return kind == _SCRAM or kind > _LAST_TYPE
        # int8 resource type, then the resource's name and the config's name as compact strings.
        size, at = read_uvarint(metadata_record, at + 1, end)
        size, at = read_uvarint(metadata_record, at + max(size - 1, 0), end)
    except DecodeError:
        return True
    name = metadata_record[at : at + max(size - 1, 0)]
    return not is_public_config(name.decode("utf-8", "replace"))


# Records in JSON form


# How many rows are converted together, so that the lists made on the way stay small.
_CHUNK: Final = 128
_FEW: Final = 6


def records_json(rows: Iterator[Row], hide: Callable[[bytes], bool] | None = None) -> list[dict[str, Any]]:
    """The JSON-ready dict of each row; values for which `hide` is true are shown as {"redacted": N}."""
    out: list[dict[str, Any]] = []
    _add_records_json(out, rows, hide, None)
    return out


def records_json_noting_encodings(rows: Iterator[Row]) -> list[dict[str, Any]]:
    """The JSON-ready dict of each row, with a note of the keys and values that may have a form."""
    return _noted_records_json(rows, beyond_json=False)


def records_json_noting_encodings_beyond_json(rows: Iterator[Row]) -> list[dict[str, Any]]:
    """The JSON-ready dict of each row, with a note of the keys and values that may have a form but plain JSON."""
    return _noted_records_json(rows, beyond_json=True)


def _noted_records_json(rows: Iterator[Row], *, beyond_json: bool) -> list[dict[str, Any]]:
    from decoders.values.values_that_may_be_encoded import JsonRecords

    out = JsonRecords(beyond_json=beyond_json)
    _add_records_json(out, rows, None, out)
    return out


def _add_records_json(
    out: list[dict[str, Any]], rows: Iterator[Row], hide: Callable[[bytes], bool] | None, noted: JsonRecords | None
) -> None:
    key_text: Callable[[bytes], object]
    value_text: Callable[[bytes], object]
    while chunk := list(islice(rows, _CHUNK)):
        if len(chunk) < _FEW:
            key_text = value_text = json_bytes
            if noted is not None:
                noted.parts = None
        else:
            # Most keys and values are plain text: one check of all of them is cheaper than one of each.
            _, _, keys, values, headers_of_rows, _ = zip(*chunk, strict=True)
            present_keys, present_values = list(filter(None, keys)), list(filter(None, values))
            joined_keys, joined_values = b"".join(present_keys), b"".join(present_values)
            key_text = bytes.decode if is_plain_text(joined_keys) else json_bytes
            value_text = bytes.decode if is_plain_text(joined_values) else json_bytes
            if noted is not None:
                noted.note_rows(
                    (keys, present_keys, joined_keys), (values, present_values, joined_values), headers_of_rows
                )
        if hide is not None:
            value_text = _make_redacting_json_maker(hide)
        out += [
            {
                "offset": offset,
                "timestamp": timestamp,
                "key": None if key is None else key_text(key),
                "value": None if value is None else value_text(value),
                "headers": _record_headers_json(headers) if headers else [],
            }
            for offset, timestamp, key, value, headers, _ in chunk
        ]
        if chunk[0][5] is not None:
            for shown, row in zip(out[-len(chunk) :], chunk, strict=True):
                shown["control_record"] = control_record_json(row[2], row[3])
        if len(chunk) < _CHUNK:
            break


def _make_redacting_json_maker(hide: Callable[[bytes], bool]) -> Callable[[bytes], object]:
    def redact_or_show_value(value: bytes) -> object:
        if not hide(value):
            return json_bytes(value)
        _, name = structures_of_record("__cluster_metadata", None, value)
        shown = None if name is None else embedded_structure_json(name, value)  # with its secrets redacted
        return {"redacted": len(value)} if shown is None else shown

    return redact_or_show_value


def _record_headers_json(headers: tuple[Header, ...]) -> list[dict[str, Any]]:
    return [
        {
            "key": key if key.isprintable() else json_text(key),
            "value": None if value is None else json_bytes(value),
        }
        for key, value in headers
    ]


# Records of one batch that would take much memory: read while they are written, from rows to JSON-ready dicts.


Failures = list[DecodeError]
# A function that gives the rows before a failure, and adds the failure to the list.
Open = Callable[[Failures], Iterator[Row]]
# How many rows are converted together, and about how many bytes one record takes in JSON besides its own.
_ROWS: Final = 128
_RECORD: Final = 100


class DeferredRecords(DeferredList):
    """The first `take` of `count` records; `fields_following_list()`: the failure, or how many more there are."""

    __slots__ = ("_began", "_budget", "_count", "_failures", "_form", "_given", "_open", "_take")

    def __init__(self, open_rows: Open, take: int, count: int, budget: Budget, form: Form) -> None:
        self._open = open_rows
        self._take = take
        self._count = count
        self._budget = budget
        self._form = form
        self._began: tuple[int, int] | None = None
        self._given = 0
        self._failures: Failures = []

    def chunks(self) -> Iterator[list[Any]]:
        """The records in lists of about PIECE bytes, long values deferred."""
        budget = self._budget
        if self._began is None:
            self._began = budget.headers, budget.shown
        budget.headers, budget.shown = self._began
        self._given = 0
        self._failures = []
        chunk: list[Row] = []
        size = 0
        rows = self._open(self._failures)
        # Without a cut the rows are read to their end: bytes after the last record are a failure too.
        for row in rows if self._take == self._count else islice(rows, self._take):
            its = _row_size(row)
            budget.shown -= its + _RECORD
            if budget.shown < 0:
                break
            self._given += 1
            if its > VALUE_WHOLE_MAX:
                if chunk:
                    yield self._form(iter(chunk))
                yield [self._long_record_json(row)]
                chunk, size = [], 0
                continue
            chunk.append(row)
            size += its
            if size > PIECE or len(chunk) == _ROWS:
                yield self._form(iter(chunk))
                chunk, size = [], 0
        if chunk:
            yield self._form(iter(chunk))

    def fields_following_list(self) -> dict[str, Any]:
        """The keys beside the records: `error` for a failure, else `records_cut` if records were left out."""
        if self._failures:
            return {"error": {"reason": self._failures[0].reason, "text": self._failures[0].text}}
        left = self._count - self._given
        return {"records_cut": left} if left else {}

    def _long_record_json(self, row: Row) -> dict[str, Any]:
        """The dict of a large record, its long fields deferred; the form decides whether a value is redacted."""
        offset, timestamp, key, value, headers, control = row
        short = _none_if_long(key), _none_if_long(value)
        names = tuple((name, _none_if_long(content)) for name, content in headers)
        shown: dict[str, Any] = self._form(iter([(offset, timestamp, *short, names, control)]))[0]
        if key is not None and short[0] is None:
            shown["key"] = DeferredText(key)
        if value is not None and short[1] is None:
            shown["value"] = self._redact_long_value(value) or DeferredText(value)
        if control is not None and value is not None and short[1] is None:
            shown["control_record"]["value"] = DeferredText(value)
        for entry, (_, content), (_, kept) in zip(shown["headers"], headers, names, strict=True):
            if content is not None and kept is None:
                entry["value"] = DeferredText(content)
        return shown

    def _redact_long_value(self, value: bytes) -> Any:
        """The redacted form of a long value if the form redacts it, else None."""
        (shown,) = self._form(iter([(0, 0, None, value[:PIECE], (), None)]))
        hidden = isinstance(shown["value"], dict) and "redacted" in shown["value"]
        return {"redacted": len(value)} if hidden else None


def _row_size(row: Row) -> int:
    """About how many bytes the key, value and headers of a record take."""
    _, _, key, value, headers, _ = row
    size = (len(key) if key else 0) + (len(value) if value else 0)
    if headers:
        size += sum(len(name) + (len(content) if content else 0) + 20 for name, content in headers)
    return size


def _none_if_long(data: bytes | None) -> bytes | None:
    """The bytes, or None if they are longer than PIECE."""
    return None if data is None or len(data) > PIECE else data
