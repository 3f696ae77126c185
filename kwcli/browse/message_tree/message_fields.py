"""An exchange in, the fields of its request and its response in wire order out, each with its bytes.

The fields are the rows of the hex view (output/hex.py), so that tree and bytes cannot disagree: the same names, texts,
redactions and failures. Compressed records, which have no bytes of their own on the wire, are added from the record of
the exchange; exchanges read from NDJSON have no bytes at all, and all their fields are from there.

A message may have 50,000 fields, which take more than a second: they are read a slice at a time (`FieldReader`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import NAMES
from decoders.wire.format_and_escape_text import escape_text
from kwcli.browse.message_tree.match_records import find_json_at_path
from kwcli.browse.message_tree.produced_offsets import find_produced_offsets
from kwcli.browse.message_tree.record_lines import CompressedRecords, add_record_lines
from kwcli.browse.message_tree.tree_field import TreeField, walk_json
from kwcli.output.short_texts import format_ends_with_host_names

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side
    from kwcli.output.hex import HexRow
    from kwcli.output.output_settings import Settings

__all__ = ["FieldReader", "MessageFields", "describe_bytes_of_field", "describe_field_meaning", "is_path_below"]

INDEX: Final = re.compile(r"\[\d+\]")


class MessageFields:
    """Fields of an exchange, and the bytes of its sides, secrets hidden.

    `is_whole`: all fields are there. `frames` has the sides whose fields are all there: only then is it known which of
    their bytes are secrets.
    """

    def __init__(self) -> None:
        self.fields: list[TreeField] = []
        self.frames: dict[Side, bytes] = {}
        self.hidden: dict[Side, list[tuple[int, int]]] = {}  # the bytes of each side that are not shown
        self.is_whole = True


class FieldReader:
    """Reads the fields of an exchange into `message`, some at a time, so that nothing waits for a large message."""

    def __init__(self, exchange: Exchange, settings: Settings) -> None:
        from decoders.messages.build_body_json import Options
        from decoders.messages.exchange_json import to_json_dict

        self._exchange, self._settings = exchange, settings
        options = Options(True, settings.reveal_secrets, names=False, values=settings.values)
        self._record = to_json_dict(exchange, options)
        self.message = MessageFields()
        self.message.is_whole = False
        self._left = _set_paths_that_fields_fold(
            add_record_lines(self._iterate_fields(), find_produced_offsets(self._record))
        )

    def read_fields(self, most: int) -> None:
        """Read up to so many fields more."""
        message = self.message
        more = [*islice(self._left, most)]
        message.fields += more
        message.is_whole = len(more) < most

    def json_of(self, field: TreeField) -> Any:
        """The JSON of a field; None where the message has none at its path."""
        return find_json_at_path(self._record[field.side], field.path)

    def add_remarks(self) -> bool:
        """Put the remarks among the fields, once all are read; returns whether there are any."""
        _add_remarks(self.message.fields, self._record)
        return bool(self._record.get("remarks"))

    def read_all(self) -> MessageFields:
        """Read all fields that are left, and the remarks."""
        self.read_fields(sys.maxsize)
        self.add_remarks()
        return self.message

    def _iterate_fields(self) -> Iterator[TreeField]:
        """The fields of both sides, without the lines of records."""
        from kwcli.output.hex import ARROWS, iterate_exchange_rows

        exchange, record = self._exchange, self._record
        for side in ARROWS:
            data = exchange.raw(side)
            if data is None and record[side] is None and record[f"{side}_size"] is None:
                continue
            head = TreeField(
                side, "", f"{ARROWS[side]} {side}", _describe_message_of_side(exchange, record, side), "head"
            )
            head.fold = side
            yield head
            if data is None or exchange.record is not None:
                yield from _iterate_fields_of_record(side, record)
                continue
            hidden: list[tuple[int, int]] = []
            compressed = CompressedRecords(record)
            for row in iterate_exchange_rows(exchange, side, data, self._settings):
                hidden += [(run.at, run.end) for run in row.runs if run.secret]
                yield from compressed.add_records_below(_make_field(side, row))
            self.message.hidden[side] = hidden
            self.message.frames[side] = data


def _make_field(side: Side, row: HexRow) -> TreeField:
    return TreeField(side, row.path, row.name, row.text, row.paint, [(run.at, run.end, run.secret) for run in row.runs])


def _describe_message_of_side(exchange: Exchange, record: dict[str, Any], side: Side) -> str:
    """`Produce 9 · 51 B · 127.0.0.1:5432 → 127.0.0.1:9092 · packet 17`."""
    size = record[f"{side}_size"]
    client, broker = format_ends_with_host_names(exchange)
    parts = ["size unknown" if size is None else f"{size:,} B"]
    if side == "request":
        api = "SASL token" if exchange.api_key is None else f"{record['api']} {exchange.api_version}"
        parts = [escape_text(api), *parts, f"{client} → {broker}"]
    else:
        if exchange.latency_ms is not None:
            parts.append(f"{exchange.latency_ms:.3f} ms")
        parts.append(f"{broker} → {client}")
    packets = (record.get("packets") or {}).get(side)
    if packets:
        first, last = packets
        parts.append(f"packet {first}" if first == last else f"packets {first}–{last}")
    return " · ".join(parts)


def describe_bytes_of_field(field: TreeField) -> str:
    """The side of a field, and where its bytes are: `response 0x27–28, 0 is its size`.

    Offsets are those of the hex dump: byte 0 is the first of the 4 bytes of the size that begins a side.
    """
    if not field.runs:
        return field.side
    first, last = field.runs[0][0], field.runs[-1][1] - 1
    return f"{field.side} 0x{first:02x}{f'–{last:02x}' if last > first else ''}, 0 is its size"


# Fields without bytes


def _iterate_fields_of_record(side: Side, record: dict[str, Any]) -> Iterator[TreeField]:
    """The fields of a side by its JSON form."""
    yield from walk_json(side, "", "", record[side], 0)
    failure = (record.get("undecoded") or {}).get(side)
    if failure:
        yield TreeField(side, "", f"! {failure['reason']}", escape_text(str(failure.get("path") or "")), "bad")


def _add_remarks(fields: list[TreeField], record: dict[str, Any]) -> None:
    """Put what the protocol forbids behind the field that it is about, else at the end of the side."""
    for remark in record.get("remarks") or ():
        side, path = remark["side"], remark.get("path") or ""
        places = [at for at, field in enumerate(fields) if field.side == side]
        if not places:
            continue
        own = [at for at in places if path and fields[at].path == path]
        note = TreeField(side, path, "! remark", escape_text(remark["text"]), "bad")
        fields.insert((own or places)[-1] + 1, note)


# Folds


def _set_paths_that_fields_fold(fields: Iterable[TreeField]) -> Iterator[TreeField]:
    """Give each field that has others below it, or begins an element of an array, the path that it folds."""
    before: TreeField | None = None
    field: TreeField | None = None
    for after in fields:
        if field is not None:
            _set_path_that_field_folds(field, after, before)
            yield field
        before, field = field, after
    if field is not None:
        yield field


def _set_path_that_field_folds(field: TreeField, after: TreeField, before: TreeField | None) -> None:
    """Give a field the path that it folds, by the field after it and the one before it."""
    if field.fold or not field.path or after.side != field.side:
        return
    if is_path_below(after.path, field.path):
        field.fold = field.path
        return
    earlier = before.path if before is not None and before.side == field.side else ""
    for match in reversed(list(INDEX.finditer(field.path))):
        element = field.path[: match.end()]
        if is_path_below(after.path, element) and not is_path_below(earlier, element) and earlier != element:
            field.fold = element
            break


def is_path_below(path: str, above: str) -> bool:
    """Whether a path is inside another one."""
    return path.startswith(above) and path[len(above) : len(above) + 1] in (".", "[") and len(path) > len(above)


def describe_field_meaning(exchange: Exchange, field: TreeField) -> str:
    """What a field means, in the words of Kafka's own definitions; empty where nothing says it."""
    if field.is_record:
        return "A record: Enter unfolds its fields."
    from kwcli.reference.field_descriptions import read_api_abouts, read_header_abouts

    if exchange.api_key is None or exchange.api_key not in NAMES or not field.path:
        return ""
    plain = INDEX.sub("[]", field.path)
    about = read_api_abouts(exchange.api_key).get(f"{field.side}.{plain}", "")
    if not about:
        header = "RequestHeader" if field.side == "request" else "ResponseHeader"
        about = read_header_abouts().get(f"{header}.{plain}", "")
    if about and field.is_error_code:  # a declared field; a record may hold another of that name
        about = _describe_error(field.text.partition(" ")[0]) or about
    return about


def _describe_error(code: str) -> str:
    """What a number that is not 0 means; empty for other texts."""
    from decoders.protocol_facts.errors.error_codes import ERRORS

    error = ERRORS.get(int(code)) if code not in ("", "0") and code.removeprefix("-").isdecimal() else None
    return "" if error is None else f"{error.name}: {error.meaning}"
