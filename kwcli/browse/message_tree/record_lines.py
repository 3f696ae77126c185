"""Fields of a message in wire order in, the same fields with a line for each record before those of the record out.

The line has what somebody looks for: `[3] record  offset 3 · key customer-3 · value order 503`. Batches have offsets as
a difference to their first one, old messages and decompressed records as they are; those of a Produce are the ones that
the answer gives, where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from kwcli.browse.message_tree.match_records import find_json_at_path
from kwcli.browse.message_tree.tree_field import NOT_SHOWN, TreeField, walk_json
from kwcli.output.short_texts import count_of

if TYPE_CHECKING:
    from decoders.schema.api_declaration import Side

__all__ = ["CompressedRecords", "add_record_lines"]

# The element of a path that is a record, or a batch: of the records of a batch the second match.
_ELEMENT: Final = re.compile(r"(?:^|\.)records\[\d+\](?:\.records\[\d+\])?")
# The batch of a record, or an old message that is one; and the number of the record in it.
_BATCH: Final = re.compile(r".*?\.records\[\d+\](?=$|\.records\[(\d+)\]$)")
_LABEL: Final = re.compile(r" *\[\d+\]")
# The most characters of a key and of a value in the line of a record.
_TEXT_MAX: Final = 400
# Records of one side that are added, where they are compressed: their lines at most, to the end of a record.
_LINES_MAX: Final = 50_000
_NONE: Final = "–"


class _Element:
    """The fields of the element that is being read, until it is known whether it is a record, and what it holds."""

    def __init__(self, produced: Mapping[str, int]) -> None:
        self.produced = produced
        self.element = ""
        self.side: Side = "request"
        self.fields: list[TreeField] = []
        self.base = 0  # the first offset of the batch
        self.is_record = False


def add_record_lines(fields: Iterable[TreeField], produced: Mapping[str, int]) -> Iterator[TreeField]:
    """The fields, with a line before those of each record, which it folds.

    `produced`: the path of a batch of a Produce → the offset that the broker gave its first record.
    """
    held = _Element(produced)
    for field in fields:
        found = _ELEMENT.search(field.path)
        element = field.path[: found.end()] if found is not None else ""
        if element != held.element or field.side != held.side:
            if element.startswith(f"{held.element}."):
                held.is_record = False  # an old message that holds others
            yield from _make_lines_of_record(held)
            held.element, held.side, name = element, field.side, field.path.removeprefix(element)
            held.is_record = bool(element) and (_is_record_of_batch(element) or name == ".offset")
        if not held.is_record:
            if field.path == f"{element}.base_offset" and field.text.lstrip("-").isdigit():
                held.base = int(field.text)
            yield field
        else:
            held.fields.append(field)
    yield from _make_lines_of_record(held)


def _is_record_of_batch(element: str) -> bool:
    return element.count("records[") > 1


def _make_lines_of_record(held: _Element) -> Iterator[TreeField]:
    """The line of a record, and its fields."""
    fields, held.fields = held.fields, []
    if not fields:
        return
    first, element = fields[0], held.element
    label = _LABEL.match(first.name)
    has_contents = any(field.path.startswith((f"{element}.key", f"{element}.value")) for field in fields)
    if label is None or not held.is_record or not has_contents:  # or a message that is cut off
        yield from fields
        return
    text = _describe_record(element, fields, held)
    if first.path == element:  # a line of its own is there already
        line = fields.pop(0)
        line.name, line.text, line.paint = f"{label[0]} record", text, ""
    else:
        line = TreeField(held.side, element, f"{label[0]} record", text, "", _join_byte_runs(fields))
        first.name = " " * len(label[0]) + first.name[label.end() :]
    line.fold, line.is_record = element, True
    yield line
    yield from fields


def _describe_record(element: str, fields: list[TreeField], held: _Element) -> str:
    """`offset 3 · key customer-3 · value order 503`; a key that is null is left out, and an offset that is not real."""
    texts: dict[str, str] = {}
    for field in fields:
        texts.setdefault(field.path.removeprefix(element), field.text)
    offset, delta = texts.get(".offset", ""), texts.get(".offset_delta", "")
    if fields[0].side == "request":
        batch = _BATCH.match(element)
        base = None if batch is None else held.produced.get(batch[0])
        offset = "" if base is None or batch is None else str(base + int(batch[1] or 0))
    elif not offset and delta.lstrip("-").isdigit():
        offset = str(held.base + int(delta))
    parts = [f"offset {offset}"] if offset else []
    parts += [f"key {texts['.key'][:_TEXT_MAX]}"] if texts.get(".key", _NONE) != _NONE else []
    parts += [f"value {texts['.value'][:_TEXT_MAX]}"] if texts.get(".value") else []
    return " · ".join(parts)


def _join_byte_runs(fields: list[TreeField]) -> list[tuple[int, int, bool]]:
    """The bytes of all these fields, runs that follow each other as one."""
    joined: list[tuple[int, int, bool]] = []
    for field in fields:
        for begin, end, secret in field.runs:
            if joined and joined[-1][1:] == (begin, secret):
                joined[-1] = joined[-1][0], end, secret
            elif not joined or joined[-1] != (begin, end, secret):
                joined.append((begin, end, secret))
    return joined


class CompressedRecords:
    """Adds the compressed records of a side below their bytes, up to so many lines in all."""

    def __init__(self, record: dict[str, Any]) -> None:
        self._record = record
        self._left = _LINES_MAX

    def add_records_below(self, field: TreeField) -> Iterator[TreeField]:
        """The field, and where it is the bytes of compressed records, the records in them."""
        yield field
        path = field.path if field.path.endswith(".records") else f"{field.path.removesuffix('.value')}.records"
        batch = _find_compressed_batch(field, self._record)
        if batch is None:
            return
        indent = " " * (len(field.name) - len(field.name.lstrip()) + 2)
        for at, each in enumerate(batch["records"]):
            if self._left <= 0:
                said = count_of(len(batch["records"]) - at, "record" if not at else "more record")
                yield TreeField(field.side, f"{path}[{at}]", f"{indent}{NOT_SHOWN}", said, "dim", field.runs)
                return
            for number, row in enumerate(walk_json(field.side, f"{path}[{at}]", "", each, 0)):
                label = f"[{at}] " if not number else "    "
                row.name = f"{indent}{label}{row.name}"
                row.runs = field.runs
                yield row
                self._left -= 1


def _find_compressed_batch(field: TreeField, record: dict[str, Any]) -> dict[str, Any] | None:
    """The batch whose compressed records a field is: the records of a batch, or the value of an old message."""
    above, _, name = field.path.rpartition(".")
    found = _ELEMENT.search(field.path)
    if name not in ("records", "value") or not field.runs or found is None or found.end() != len(above):
        return None
    batch = find_json_at_path(record[field.side], above)  # an old message is a batch
    is_one = isinstance(batch, dict) and batch.get("records") and batch.get("codec") not in (None, "none")
    return batch if is_one else None
