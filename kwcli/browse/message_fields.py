"""An exchange in, the fields of its request and its response in wire order out, each with its bytes.

The fields are the rows of the hex view (output/hex.py), so that tree and bytes cannot disagree: the same names, texts,
redactions and failures. Compressed records, which have no bytes of their own on the wire, are added from the record of
the exchange; exchanges read from NDJSON have no bytes at all, and all their fields are from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import NAMES
from decoders.wire.format_and_escape_text import escape_text
from kwcli.output.short_texts import named_ends

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side
    from kwcli.output.hex import HexRow
    from kwcli.output.output_settings import Settings

__all__ = ["MessageFields", "TreeField", "describe_place", "find_about", "is_below", "list_fields"]

INDEX: Final = re.compile(r"\[\d+\]")
# Fields of one message that are listed from its record, where it has no bytes.
_FIELDS_MAX: Final = 50_000


class TreeField:
    """One line of the tree. `fold`: the path whose other fields it hides when it is folded; empty for none."""

    __slots__ = ("fold", "name", "paint", "path", "runs", "side", "text")

    def __init__(
        self, side: Side, path: str, name: str, text: str, paint: str, runs: list[tuple[int, int, bool]] | None = None
    ) -> None:
        self.side = side
        self.path = path
        self.name = name
        self.text = text
        self.paint = paint
        self.runs = runs or []
        self.fold = ""

    @property
    def is_heading(self) -> bool:
        """Whether the line begins a side."""
        return not self.path and self.fold == self.side


class MessageFields:
    """All fields of an exchange, and the bytes of its sides, secrets hidden."""

    def __init__(
        self, fields: list[TreeField], frames: dict[Side, bytes], hidden: dict[Side, list[tuple[int, int]]]
    ) -> None:
        self.fields = fields
        self.frames = frames
        self.hidden = hidden  # the bytes of each side that are not shown


def list_fields(exchange: Exchange, settings: Settings) -> MessageFields:
    """The fields of both sides."""
    from decoders.messages.build_body_json import Options
    from decoders.messages.exchange_json import to_json_dict
    from kwcli.output.hex import ARROWS, list_exchange_rows

    fields: list[TreeField] = []
    frames: dict[Side, bytes] = {}
    hidden: dict[Side, list[tuple[int, int]]] = {}
    options = Options(True, settings.reveal_secrets, names=False, values=settings.values)
    record = to_json_dict(exchange, options)
    for side in ARROWS:
        data = exchange.raw(side)
        if data is None and record[side] is None and record[f"{side}_size"] is None:
            continue
        head = TreeField(side, "", f"{ARROWS[side]} {side}", _describe_side(exchange, record, side), "head")
        head.fold = side
        fields.append(head)
        if data is None or exchange.record is not None:
            fields += _list_fields_of_record(side, record)
            continue
        frames[side] = data
        rows = list_exchange_rows(exchange, side, data, settings)
        hidden[side] = [(run.at, run.end) for row in rows for run in row.runs if run.secret]
        for row in rows:
            fields += _with_compressed_records(_make_field(side, row), record)
    _add_remarks(fields, record)
    _set_folds(fields)
    return MessageFields(fields, frames, hidden)


def _make_field(side: Side, row: HexRow) -> TreeField:
    return TreeField(side, row.path, row.name, row.text, row.paint, [(run.at, run.end, run.secret) for run in row.runs])


def _describe_side(exchange: Exchange, record: dict[str, Any], side: Side) -> str:
    """`Produce 9 · 51 B · 127.0.0.1:5432 → 127.0.0.1:9092 · packet 17`."""
    size = record[f"{side}_size"]
    client, broker = named_ends(exchange)
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


def describe_place(field: TreeField) -> str:
    """The side of a field, and where its bytes are: `response 0x27–28`, offsets as the hex dump has them."""
    if not field.runs:
        return field.side
    first, last = field.runs[0][0], field.runs[-1][1] - 1
    return f"{field.side} 0x{first:02x}" + (f"–{last:02x}" if last > first else "")


# Fields without bytes


def _list_fields_of_record(side: Side, record: dict[str, Any]) -> list[TreeField]:
    """The fields of a side by its JSON form."""
    body = record[side]
    found = list(_walk_json(side, "", "", body, 0))
    failure = (record.get("undecoded") or {}).get(side)
    if failure:
        found.append(TreeField(side, "", f"! {failure['reason']}", escape_text(str(failure.get("path") or "")), "bad"))
    return found


def _walk_json(side: Side, path: str, name: str, value: Any, depth: int) -> Iterator[TreeField]:
    """A line for each leaf and each list, depth first, without recursion."""
    from kwcli.output.body_printer import format_scalar

    stack: list[tuple[str, str, Any, int]] = [(path, name, value, depth)]
    count = 0
    while stack and count < _FIELDS_MAX:
        path, name, value, depth = stack.pop()
        count += 1
        indent = "  " * max(depth - 1, 0)
        if isinstance(value, dict) and set(value) not in ({"redacted"}, {"base64"}):
            if name:
                yield TreeField(side, path, f"{indent}{name}", "", "")
            stack += [
                (f"{path}.{key}" if path else str(key), escape_text(str(key)), inner, depth + 1)
                for key, inner in reversed(value.items())
            ]
        elif hasattr(value, "__iter__") and not isinstance(value, str | bytes | dict):
            items = list(value)
            yield TreeField(side, path, f"{indent}{name}", f"{len(items):,} element{'s' * (len(items) != 1)}", "")
            stack += [(f"{path}[{at}]", f"[{at}]", inner, depth + 1) for at, inner in reversed(list(enumerate(items)))]
        else:
            yield TreeField(
                side, path, f"{indent}{name}", format_scalar(value), "dim" if value in (None, "", 0) else ""
            )


def _with_compressed_records(field: TreeField, record: dict[str, Any]) -> Iterable[TreeField]:
    """The field, and below the bytes of compressed records the records in them."""
    if not field.path.endswith(".records") or not field.runs:
        return [field]
    batch = _find_json(record[field.side], field.path.rpartition(".")[0])
    records = batch.get("records") if isinstance(batch, dict) else None
    if not records or batch.get("codec") in (None, "none"):
        return [field]
    depth = len(field.name) - len(field.name.lstrip())
    found = [field]
    for at, each in enumerate(records):
        rows = [*_walk_json(field.side, f"{field.path}[{at}]", "", each, 0)]
        for number, row in enumerate(rows):
            label = f"[{at}] " if not number else "    "
            row.name = f"{' ' * depth}  {label}{row.name}"
            row.runs = field.runs
        found += rows
        if len(found) > _FIELDS_MAX:
            break
    return found


def _find_json(value: Any, path: str) -> Any:
    """The value at a path with indices; None where there is none."""
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        try:
            value = value[int(index)] if index else value[name]
        except (KeyError, IndexError, TypeError):
            return None
    return value


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


def _set_folds(fields: list[TreeField]) -> None:
    """Give each field that has others below it, or begins an element of an array, the path that it folds."""
    for at, field in enumerate(fields):
        after = fields[at + 1] if at + 1 < len(fields) else None
        if field.fold or not field.path or after is None or after.side != field.side:
            continue
        if is_below(after.path, field.path):
            field.fold = field.path
            continue
        before = fields[at - 1].path if fields[at - 1].side == field.side else ""
        for match in reversed(list(INDEX.finditer(field.path))):
            element = field.path[: match.end()]
            if is_below(after.path, element) and not is_below(before, element) and before != element:
                field.fold = element
                break


def is_below(path: str, above: str) -> bool:
    """Whether a path is inside another one."""
    return path.startswith(above) and path[len(above) : len(above) + 1] in (".", "[") and len(path) > len(above)


def find_about(exchange: Exchange, field: TreeField) -> str:
    """What a field means, in the words of Kafka's own definitions; empty where nothing says it."""
    from kwcli.reference.field_descriptions import read_api_abouts, read_header_abouts

    if exchange.api_key is None or exchange.api_key not in NAMES or not field.path:
        return ""
    plain = INDEX.sub("[]", field.path)
    about = read_api_abouts(exchange.api_key).get(f"{field.side}.{plain}", "")
    if not about:
        header = "RequestHeader" if field.side == "request" else "ResponseHeader"
        about = read_header_abouts().get(f"{header}.{plain}", "")
    if field.path.rpartition(".")[2].endswith("error_code") and (code := field.text.partition(" ")[0]) not in ("", "0"):
        about = _describe_error(int(code)) or about
    return about


def _describe_error(code: int) -> str:
    from decoders.protocol_facts.errors.error_codes import ERRORS

    error = ERRORS.get(code)
    return "" if error is None else f"{error.name}: {error.meaning}"
