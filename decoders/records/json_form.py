"""Records in, their JSON form out: keys, values, control records, secrets; made as they are written where many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from operator import itemgetter
from struct import Struct
from typing import Any, Final

from decoders.apis.public_configs import is_public
from decoders.embedded import decode_embedded, embedded_json, record_structures
from decoders.errors import DecodeError
from decoders.limits import EMBEDDED_MAX, PIECE, VALUE_WHOLE_MAX
from decoders.records.model import ALWAYS, Batch, Budget, Form, Header, Row, failed
from decoders.wire.deferred import DeferredList, DeferredText
from decoders.wire.primitives import read_uvarint
from decoders.wire.text import is_plain, json_bytes, json_text

# Number of the type: its name, and the structure of the value.
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


def control_record(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """{"type": name, "version": of the key, "value"}; name and version None where the key is too short for them.

    The value is the structure's dict, or the bytes as they are where they hold none.
    """
    name, version, structure = _kind(key)
    found: Any = value
    if structure and value is not None and len(value) <= EMBEDDED_MAX:
        try:
            found = decode_embedded(structure, value)
        except DecodeError:
            found = value
    return {"type": name, "version": version, "value": found}


def control_json(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """The same in JSON form."""
    name, version, structure = _kind(key)
    found: Any = embedded_json(structure, value) if structure else None
    if found is None and value is not None:
        found = json_bytes(value)
    return {"type": name, "version": version, "value": found}


def control_structures(key: bytes | None) -> tuple[str, str | None]:
    """The names of the structures in key and value of a control record; None where the type's value is not known."""
    return "ControlRecordTypeSchema", _kind(key)[2] or None


def _kind(key: bytes | None) -> tuple[str | None, int | None, str]:
    """Name of the type, version of the key, and the value's structure (empty: not known)."""
    if key is None or len(key) < _KEY.size:
        return None, None, ""
    version, number = _KEY.unpack_from(key)
    name, structure = TYPES.get(number, (f"UNKNOWN({number})", ""))
    return name, version, structure


# Secrets inside records: the value of a record of `__cluster_metadata` in, whether it must not be shown out.
#
# A KRaft record is framed by three unsigned varints: frame version, type, version of the type. SCRAM credentials and
# the values of configs that are not known to be public are secret; so is what cannot be read.


_CONFIG: Final = 4
_SCRAM: Final = 11
_LAST_TYPE: Final = 29


def holds_secret(value: bytes) -> bool:
    """Whether the value of a metadata record holds a secret: the `hide` of `records_json` for that topic."""
    end = len(value)
    try:
        _, at = read_uvarint(value, 0, end)
        kind, at = read_uvarint(value, at, end)
        _, at = read_uvarint(value, at, end)
        if kind != _CONFIG:
            return kind == _SCRAM or kind > _LAST_TYPE
        # int8 resource type, then the resource's name and the config's as compact strings.
        size, at = read_uvarint(value, at + 1, end)
        size, at = read_uvarint(value, at + max(size - 1, 0), end)
    except DecodeError:
        return True
    name = value[at : at + max(size - 1, 0)]
    return not is_public(name.decode("utf-8", "replace"))


# Records as JSON shows them: rows in, JSON-ready dicts out (bytes as text where they are text, else base64).


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
        if not hide(value):
            return json_bytes(value)
        _, name = record_structures("__cluster_metadata", None, value)
        shown = None if name is None else embedded_json(name, value)  # with its secrets redacted
        return {"redacted": len(value)} if shown is None else shown

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


# Records of one batch that would take much room: read as they are written, from rows to JSON-ready dicts.


Failures = list[DecodeError]
# Gives the rows before a failure, which goes to the list.
Open = Callable[[Failures], Iterator[Row]]
# Rows made into dicts together, and about what one record has in JSON besides its bytes.
_ROWS: Final = 128
_RECORD: Final = 100


class DeferredRecords(DeferredList):
    """The first `take` of `count` records; how many were left out, and what is wrong with the next, stands beside."""

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
        """Some records at a time, long values deferred."""
        budget = self._budget
        if self._began is None:
            self._began = budget.headers, budget.shown
        budget.headers, budget.shown = self._began
        self._given = 0
        self._failures = []
        chunk: list[Row] = []
        size = 0
        rows = self._open(self._failures)
        # All are read to their end, where something may be wrong behind the last one.
        for row in rows if self._take == self._count else islice(rows, self._take):
            its = _size(row)
            budget.shown -= its + _RECORD
            if budget.shown < 0:
                break
            self._given += 1
            if its > VALUE_WHOLE_MAX:
                if chunk:
                    yield self._form(iter(chunk))
                yield [self._long(row)]
                chunk, size = [], 0
                continue
            chunk.append(row)
            size += its
            if size > PIECE or len(chunk) == _ROWS:
                yield self._form(iter(chunk))
                chunk, size = [], 0
        if chunk:
            yield self._form(iter(chunk))

    def beside(self) -> dict[str, Any]:
        """The failure, or else how many records were left out."""
        if self._failures:
            return {"error": {"reason": self._failures[0].reason, "text": self._failures[0].text}}
        left = self._count - self._given
        return {"records_cut": left} if left else {}

    def _long(self, row: Row) -> dict[str, Any]:
        """The dict of a record with much in it; the form says of a key or value whether it is hidden."""
        offset, timestamp, key, value, headers, control = row
        short = _short(key), _short(value)
        names = tuple((name, _short(held)) for name, held in headers)
        shown: dict[str, Any] = self._form(iter([(offset, timestamp, *short, names, control)]))[0]
        if key is not None and short[0] is None:
            shown["key"] = DeferredText(key)
        if value is not None and short[1] is None:
            shown["value"] = self._hidden(value) or DeferredText(value)
        if control is not None and value is not None and short[1] is None:
            shown["control_record"]["value"] = DeferredText(value)
        for entry, (_, held), (_, kept) in zip(shown["headers"], headers, names, strict=True):
            if held is not None and kept is None:
                entry["value"] = DeferredText(held)
        return shown

    def _hidden(self, value: bytes) -> Any:
        """What stands for a value that the form does not show."""
        (shown,) = self._form(iter([(0, 0, None, value[:PIECE], (), None)]))
        hidden = isinstance(shown["value"], dict) and "redacted" in shown["value"]
        return {"redacted": len(value)} if hidden else None


def _size(row: Row) -> int:
    """The bytes in a record."""
    _, _, key, value, headers, _ = row
    size = (len(key) if key else 0) + (len(value) if value else 0)
    if headers:
        size += sum(len(name) + (len(held) if held else 0) + 20 for name, held in headers)
    return size


def _short(data: bytes | None) -> bytes | None:
    """The bytes, None where they are long."""
    return None if data is None or len(data) > PIECE else data
