"""A body in its JSON form and its plan in, indented lines out: trees, with tables where arrays are flat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal

from decoders.apis import NAMES, api, api_name
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import CONFLUENT_KEYS, describe_unknown_api_key
from decoders.schema.api_declaration import resolve
from decoders.wire.deferred_json import Deferred, DeferredList, DeferredText, make_json_pieces
from decoders.wire.format_and_escape_text import escape_text, format_bytes
from kwcli.output.renderers import OncePiece
from kwcli.output.short_texts import ALL_METRICS, Palette, cell_width, cut, format_number_with_word

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Plan, PlanField, Side

# Characters that are joined before they are written.
AT_ONCE: Final = 1 << 18
# Stands for a long value in a line. Text from the wire has none: it is shown escaped.
_MARK: Final = "\0"


class LinePiece(str):
    """A piece of a line that another piece follows."""

    __slots__ = ()


class OnceLine(str):
    """One or more lines about an error code, printed once in the whole output."""

    __slots__ = ("key",)

    key: int


def encode_lines(lines: Iterable[str]) -> Iterator[bytes]:
    """Lines as bytes to write, in pieces: the lines of a frame of 100 MiB are not held together."""
    parts: list[str] = []
    size = 0
    for line in lines:
        if line.__class__ is OnceLine:
            assert isinstance(line, OnceLine)
            if parts:
                yield "".join(parts).encode("utf-8", "backslashreplace")
            yield OncePiece(f"{line}\n".encode("utf-8", "backslashreplace"), ("error code", line.key))
            parts, size = [], 0
            continue
        parts.append(line)
        if line.__class__ is not LinePiece:
            parts.append("\n")
        size += len(line) + 1
        if size > AT_ONCE:
            yield "".join(parts).encode("utf-8", "backslashreplace")
            parts, size = [], 0
    if parts:
        yield "".join(parts).encode("utf-8", "backslashreplace")


class LongValues:
    """Values too long to be held in a line: a mark stands for each, and the value is read as the line is written.

    With a width only the beginning is shown, as there is no room for more.
    """

    def __init__(self, width: int | None, format_scalar: Callable[[Any], str]) -> None:
        self._width = width
        self._scalar = format_scalar
        self.waiting: dict[str, Deferred] = {}  # by their numbers
        self._count = 0

    def put_mark_for_value(self, value: Deferred) -> str:
        """The mark that stands for the value in a line; with a width, the beginning of the value."""
        if self._width is not None:
            return next(self._list_pieces_of_value(value), "")
        self._count += 1
        self.waiting[str(self._count)] = value
        return f"{_MARK}{self._count}{_MARK}"

    def restore_values(self, line: str) -> Iterator[str]:
        """The line, in pieces, with the values in place of their marks."""
        if _MARK not in line:
            yield line
            return
        texts = line.split(_MARK)
        for text, number in zip(texts[::2], texts[1::2], strict=False):
            yield LinePiece(text)
            for piece in self._list_pieces_of_value(self.waiting.pop(number)):
                yield LinePiece(piece)
        yield texts[-1]

    def _list_pieces_of_value(self, value: Deferred) -> Iterator[str]:
        if isinstance(value, DeferredText):
            lead = "" if value.is_text() else "base64:"
            for text in value.texts():
                yield lead + escape_text(text)
                lead = ""
        elif isinstance(value, DeferredList):
            lead = ""
            for chunk in value.chunks():
                yield lead + ",".join(map(self._scalar, chunk))
                lead = ","


# Records and their batches


# Fields of a batch, the most important first.
BATCH: Final = [
    *("base_offset", "last_offset", "record_count", "size", "codec", "crc", "producer_id", "producer_epoch"),
    *("base_sequence", "transactional", "control", "timestamp_type", "base_timestamp", "max_timestamp"),
    *("partition_leader_epoch", "magic", "delete_horizon_ms", "truncated"),
]
# The values with which these fields of a batch say nothing.
_NOTHING: Final[dict[str, tuple[Any, ...]]] = {
    "producer_id": (-1, None),
    "producer_epoch": (-1, None),
    "base_sequence": (-1, None),
    "transactional": (False, None),
    "control": (False, None),
    "timestamp_type": ("create", None),
    "base_timestamp": (None,),
    "max_timestamp": (-1, None),
    "partition_leader_epoch": (-1, None),
    "delete_horizon_ms": (None,),
    "truncated": (False,),
}
_TIMES: Final = ("timestamp", "base_timestamp", "max_timestamp", "delete_horizon_ms")
_RECORD: Final = {"offset", "timestamp", "key", "value", "headers"}
_VALUE_MIN: Final = 24
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def is_record_batch_json(item: dict[str, Any]) -> bool:
    """Whether the item is one batch of a records field."""
    return "record_count" in item and "base_offset" in item and "magic" in item


def is_plain_record_json(item: dict[str, Any]) -> bool:
    """Whether the item is one record of a batch (not a control record, which has something nested)."""
    return item.keys() == _RECORD and not (_is_embedded_structure(item["key"]) or _is_embedded_structure(item["value"]))


def _is_embedded_structure(value: Any) -> bool:
    return isinstance(value, dict) and "$type" in value


def clean_field_names(value: Any) -> Any:
    """A body with field names that are safe in a line of text: those of a record that was read may be anything."""
    if isinstance(value, dict):
        return {escape_text(name): clean_field_names(each) for name, each in value.items()}
    return [clean_field_names(each) for each in value] if isinstance(value, list) else value


def pick_informative_batch_fields(batch: dict[str, Any]) -> dict[str, Any]:
    """The fields of a batch that say something, known ones first, in the order of importance."""
    ordered = {name: batch[name] for name in BATCH if name in batch}
    return {name: value for name, value in (ordered | batch).items() if value not in _NOTHING.get(name, ())}


def format_timestamp_field(name: str, value: Any) -> str | None:
    """A time of a batch or record as text: `2026-11-21T03:04:05.123Z`; None for other fields and values."""
    if name not in _TIMES or not isinstance(value, int) or value < 0:
        return None
    try:
        text = (_EPOCH + timedelta(milliseconds=value)).isoformat(timespec="milliseconds")
    except OverflowError:
        return None
    return text.replace("+00:00", "Z")


def fit_record_columns(widths: dict[str, int], room: int, gap: int) -> dict[str, int]:
    """The width of each column of a table of records; columns without a width are not shown.

    Few of the twenty fields of a batch say something. Of a record, people look for key and value: where there is no
    room, the other fields go first, and then these two are cut.
    """

    def left(*names: str) -> int:
        return room - sum(widths[name] + gap for name in names)

    out = dict(widths)
    if sum(widths.values()) + gap * (len(widths) - 1) <= room:
        return out
    keyed = min(widths["key"], max(room // 4, 8))
    if left("offset", "timestamp") - keyed - gap < _VALUE_MIN:
        del out["timestamp"]
    out["key"] = keyed
    rest = room - sum(out[name] + gap for name in ("offset", "timestamp", "key") if name in out)
    out["headers"] = min(widths["headers"], max(rest // 3, 2))
    out["value"] = min(widths["value"], rest - out["headers"] - gap)
    if out["value"] < min(_VALUE_MIN, widths["value"]):
        del out["headers"]
        out["value"] = max(min(widths["value"], rest), 1)
    return out


# Lines of a body


# The structs of an array.
Structs = list[dict[str, Any]] | DeferredList
Paint = Literal["", "dim", "bad"]
Cell = tuple[str, Paint]

INDENT: Final = "  "
NULL: Final = "–"
NULL_UUID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
GAP: Final = "  "
# Fields that name an element of an array.
LEADS: Final = ("name", "topic", "topic_name", "group_id", "transactional_id")
# The `$type` of the metrics that a client pushed.
_METRICS: Final = "MetricsData"
# Kinds of fields that may be shown as structs: batches, structures inside bytes.
_HOLDING: Final = ("bytes", "records")
# Headings for tables that do not fit otherwise.
SHORT: Final = {
    "partition_index": "partition",
    "error_code": "error",
    "replica_nodes": "replicas",
    "isr_nodes": "isr",
    "offline_replicas": "offline",
    "leader_id": "leader",
    "leader_epoch": "epoch",
    "current_leader_epoch": "epoch",
    "partition_leader_epoch": "epoch",
    "partition_max_bytes": "max_bytes",
    "committed_offset": "offset",
    "committed_leader_epoch": "epoch",
    "committed_metadata": "metadata",
    "record_count": "records",
    "timestamp_type": "type",
    "base_timestamp": "from",
    "max_timestamp": "to",
    "topic_authorized_operations": "operations",
    "eligible_leader_replicas": "elr",
    "last_known_elr": "last_elr",
}


# Characters to which all cells of one column may be padded together, and those that each cell may have in any case.
TABLE_MAX: Final = 1 << 24
TABLE_CELL: Final = 64


class _Layout(NamedTuple):
    """The columns of a table: all names, headings, widths of the columns that are shown, and the cells available."""

    names: list[str]
    titles: dict[str, str]
    widths: dict[str, int]
    room: int | None


class BodyPrinter:
    """Makes the lines of one message. `width` None: nothing is cut. `mentioned` collects the error codes shown.

    `topic_names`: topic id → name in JSON form, which is shown beside the id.

    Values at their default are dim, error codes have their names, and the meaning of a code is printed once at the end.
    """

    def __init__(self, width: int | None, palette: Palette, topic_names: Mapping[str, Any] | None = None) -> None:
        self._width = width
        self._names = topic_names or {}
        self._palette = palette
        self._long = LongValues(width, format_scalar)
        self.mentioned: dict[int, str] = {}

    def struct_lines(self, value: dict[str, Any], plan: Plan | None, depth: int = 1) -> Iterator[str]:
        """The lines of a struct, its scalars aligned in a column; long lines in pieces."""
        for line in self._make_struct_lines(value, plan, depth):
            yield from self._long.restore_values(line)

    def error_meaning_lines(self, explained: set[int]) -> Iterator[str]:
        """The meanings of the error codes shown, each once; codes in `explained` are left out, new ones added to it."""
        fresh = self.mentioned.keys() - explained
        explained |= fresh
        if not fresh:
            return
        import textwrap  # few bodies mention an error

        from decoders.protocol_facts.errors.error_codes import ERRORS

        for code, name in self.mentioned.items():
            if code not in fresh or code not in ERRORS:
                continue
            again = " (trying again may help)" if ERRORS[code].retriable else ""
            text = f"{name} {code}: {ERRORS[code].meaning}{again}"
            lines = [text] if self._width is None else textwrap.wrap(text, self._width - 2 * len(INDENT))
            first = f"{INDENT}{self._palette.bad}{name}{self._palette.off}{lines[0].removeprefix(name)}"
            meaning = OnceLine("\n".join([first, *(INDENT * 2 + line for line in lines[1:])]))
            meaning.key = code
            yield meaning

    def _make_struct_lines(self, value: dict[str, Any], plan: Plan | None, depth: int) -> Iterator[str]:
        fields = _index_fields_by_name(plan)
        scalars = {name: item for name, item in value.items() if _is_scalar(item)}
        margin = INDENT * depth
        room = max((cell_width(name) for name in value), default=0)
        for name, item in value.items():
            field = fields.get(name)
            if name in scalars:
                shown = self._make_scalar_cell(name, item, field)
                yield self._join_head_and_cut_value(
                    f"{margin}{self._paint_field_name(name)}{' ' * (room - cell_width(name))}{GAP}", shown
                )
            elif isinstance(item, dict) and item.get("$type") == _METRICS:
                yield from self._client_metrics_lines(
                    f"{margin}{self._paint_field_name(name)}{' ' * (room - cell_width(name))}{GAP}", item, depth
                )
            elif isinstance(item, dict):
                kind = f" {escape_text(str(item['$type']))}" if "$type" in item else ""
                yield f"{margin}{self._paint_field_name(name)}{kind}"
                yield from self._make_struct_lines(_drop_type_field(item), field.plan if field else None, depth + 1)
            else:
                yield from self._array_lines(name, item, field, depth, room)

    def _client_metrics_lines(self, head: str, metrics: dict[str, Any], depth: int) -> Iterator[str]:
        """The metrics that a client pushed, a line for each."""
        from kwcli.output.format_client_metrics import client_metric_lines, format_client_metrics_heading

        yield self._join_head_and_cut_value(head, (format_client_metrics_heading(metrics), ""))
        indent = INDENT * (depth + 1)
        room = None if self._width is None else self._width - len(indent)
        yield from (indent + line for line in client_metric_lines(metrics, room, self._palette))

    def scalar_path_lines(
        self, value: dict[str, Any], plan: Plan | None, *, most: int, depth: int = 1
    ) -> Iterator[str]:
        """A line for each leaf, beginning with its path as `kw call` takes it; `most` lines at most."""
        leaves = list(islice(self._walk_scalars(value, plan, ""), most))
        room = max((cell_width(path) for path, _ in leaves), default=0)
        for path, shown in leaves:
            yield from self._long.restore_values(
                self._join_head_and_cut_value(
                    f"{INDENT * depth}{self._paint_field_name(path)}{' ' * (room - cell_width(path))}{GAP}", shown
                )
            )

    def _walk_scalars(self, value: dict[str, Any], plan: Plan | None, prefix: str) -> Iterator[tuple[str, Cell]]:
        fields = _index_fields_by_name(plan)
        for name, item in value.items():
            field = fields.get(name)
            path = f"{prefix}{name}"
            if _is_scalar(item):
                yield path, self._make_scalar_cell(name, item, field)
                continue
            inner = field.plan if field else None
            if isinstance(item, dict):
                yield from self._walk_scalars(item, inner, f"{path}.")
                continue
            for number, element in enumerate(item):
                yield from self._walk_scalars(element, inner, f"{path}[{number}].")

    def _array_lines(self, name: str, items: Structs, field: PlanField | None, depth: int, room: int) -> Iterator[str]:
        plan = field.plan if field else None
        margin = INDENT * depth
        if _are_flat_structs(items, plan):
            head = f"{margin}{self._paint_field_name(name)}{' ' * (room - cell_width(name))}{GAP}"
            blank = " " * (len(margin) + room + len(GAP))
            for number, line in enumerate(self._struct_table_lines(items, plan, len(blank))):
                yield (blank if number else head) + line
        else:
            yield f"{margin}{self._paint_field_name(name)}"
            for item in items:
                yield from self._element_lines(item, plan, depth + 1)
        if isinstance(items, DeferredList):
            yield from self._make_struct_lines(items.fields_following_list(), None, depth)

    def _element_lines(self, item: Any, plan: Plan | None, depth: int) -> Iterator[str]:
        """An array element with nested fields: its scalars on one line, its name first, then the rest."""
        fields = _index_fields_by_name(plan)
        margin = INDENT * depth
        if not isinstance(item, dict):  # in a structure of a record that was edited
            yield f"{margin}{format_scalar(item)}"
            return
        if is_record_batch_json(item):
            item = pick_informative_batch_fields(item)
        scalars = {name: value for name, value in item.items() if _is_scalar(value)}
        nested = {name: value for name, value in item.items() if name not in scalars}
        lead = next((name for name in LEADS if name in scalars), None)
        words = []
        if lead is not None:
            words.append(("", self._make_scalar_cell(lead, scalars.pop(lead), fields.get(lead))))
        words += [
            (f"{name} ", self._make_scalar_cell(name, value, fields.get(name))) for name, value in scalars.items()
        ]
        yield from self._join_cells_in_lines(margin, words)
        alone = len(nested) == 1
        for name, value in nested.items():
            field = fields.get(name)
            inner = field.plan if field else None
            if alone and isinstance(value, list | DeferredList) and _are_flat_structs(value, inner):
                indent = INDENT * (depth + 1)
                yield from (indent + line for line in self._struct_table_lines(value, inner, len(indent)))
                if isinstance(value, DeferredList):
                    yield from self._make_struct_lines(value.fields_following_list(), None, depth + 1)
            else:
                yield from self._make_struct_lines({name: value}, plan, depth + 1)

    def _join_cells_in_lines(self, margin: str, words: list[tuple[str, Cell]]) -> Iterator[str]:
        """Words one after the other, with a new line where the width is used up."""
        line, used = margin, cell_width(margin)
        begun = False
        for name, (text, paint) in words:
            size = cell_width(name) + cell_width(text)
            if begun and self._width is not None and used + 3 + size > self._width:
                yield line
                line, used, begun = margin + INDENT, cell_width(margin) + 2, False
            if begun:
                line += f" {self._palette.dim}·{self._palette.off} "
                used += 3
            if self._width is not None and used + size > self._width:
                text = cut(text, max(self._width - used - cell_width(name), 1))
            line += f"{self._palette.name}{name}{self._palette.off if name else ''}{self._paint_text(text, paint)}"
            used += size
            begun = True
        yield line

    def _struct_table_lines(self, items: Structs, plan: Plan | None, indent: int) -> Iterator[str]:
        """A table of flat structs: a heading, then a line each. The first chunk of a deferred list sets the widths."""
        if isinstance(items, list):
            yield from self._table_part_lines(*self._lay_out_table(items, plan, indent), heading=True)
            return
        layout: _Layout | None = None
        for chunk in items.chunks():
            if layout is None or any(name not in layout.names for item in chunk for name in item):
                layout, columns = self._lay_out_table(chunk, plan, indent)
                yield from self._table_part_lines(layout, columns, heading=True)
            else:
                columns = self._make_column_cells(chunk, [name for name in layout.names if name in layout.widths], plan)
                yield from self._table_part_lines(layout, columns, heading=False)

    def _lay_out_table(
        self, items: list[dict[str, Any]], plan: Plan | None, indent: int
    ) -> tuple[_Layout, dict[str, list[Cell]]]:
        """The columns, headings and widths of a table of these structs, and the cells by column."""
        names = list(dict.fromkeys(name for item in items for name in item))
        if names[:1] == BATCH[:1] and "record_count" in names:
            names = [name for name in BATCH if name in names] + [name for name in names if name not in BATCH]
        columns = self._make_column_cells(items, names, plan)
        titles = {name: name for name in names}
        room = None if self._width is None else self._width - indent
        widths: dict[str, int] | None = None
        if room is not None and all(map(is_plain_record_json, items)):
            widths = fit_record_columns(_measure_columns(columns, titles), room, len(GAP))
            columns = {name: column for name, column in columns.items() if name in widths}
        elif room is not None and _measure_table_width(columns, titles) > room:
            titles = {name: SHORT.get(name, name) for name in names}
            dull = [name for name in names if all(paint == "dim" for _, paint in columns[name])]
            while dull and _measure_table_width(columns, titles) > room:
                del columns[dull.pop()]
            while len(columns) > 1 and _measure_table_width(columns, titles) > room:
                columns.popitem()
        widths = widths or _measure_columns(columns, titles)
        if room is None:
            # One long value must not make every line as long.
            most = max(TABLE_MAX // len(items), TABLE_CELL)
            widths = {name: min(width, most) for name, width in widths.items()}
        return _Layout(names, titles, widths, room), columns

    def _make_column_cells(
        self, items: list[dict[str, Any]], names: Iterable[str], plan: Plan | None
    ) -> dict[str, list[Cell]]:
        fields = _index_fields_by_name(plan)
        return {
            name: [
                self._make_scalar_cell(name, item[name], fields.get(name)) if name in item else ("", "")
                for item in items
            ]
            for name in names
        }

    def _table_part_lines(self, layout: _Layout, columns: dict[str, list[Cell]], *, heading: bool) -> Iterator[str]:
        """The lines of a table, or of a part of one."""
        widths, titles, room = layout.widths, layout.titles, layout.room
        if heading:
            dim, off = self._palette.dim, self._palette.off
            text = GAP.join(f"{titles[name]:<{widths[name]}}" for name in columns)
            if len(columns) < len(layout.names):
                text = f"{text.rstrip()} …"
            yield f"{dim}{cut(text.rstrip(), room) if room is not None else text.rstrip()}{off}"
        for number in range(len(next(iter(columns.values()), ()))):
            line, used = "", 0
            for name, column in columns.items():
                text, paint = column[number]
                if room is not None:
                    text = cut(text, widths[name])
                    if used + cell_width(text) > room:
                        text = cut(text, max(room - used, 0))
                line += self._paint_text(text, paint) + " " * (widths[name] - cell_width(text)) + GAP
                used += widths[name] + len(GAP)
                if room is not None and used >= room:
                    break
            yield line.rstrip()

    def _make_scalar_cell(self, name: str, value: Any, field: PlanField | None) -> Cell:
        """The text of a scalar, and its paint."""
        if name.endswith("error_code") and isinstance(value, int) and not isinstance(value, bool):
            if value == 0:
                return NULL, "dim"
            from decoders.protocol_facts.errors.error_codes import error_name

            self.mentioned[value] = error_name(value)
            return self.mentioned[value], "bad"
        if field is None and (time := format_timestamp_field(name, value)) is not None:
            return time, ""
        if name == "topic_id" and value in self._names:
            return f"{value} ({format_scalar(self._names[value])})", ""
        if name == "requested_metrics" and isinstance(value, list):
            return format_requested_metrics(value), ""
        if name == "api_key" and value in NAMES:
            return f"{value:>2} {api_name(value)}", ""
        if isinstance(value, Deferred):
            return self._long.put_mark_for_value(value), ""
        paint: Paint = "dim" if _is_default_value(value, field) else ""
        if field is not None and field.means:
            return _format_enum_numbers(value, field.means), paint
        return format_scalar(value), paint

    def _paint_text(self, text: str, paint: Paint) -> str:
        if not paint or not text:
            return text
        return f"{self._palette.dim if paint == 'dim' else self._palette.bad}{text}{self._palette.off}"

    def _paint_field_name(self, name: str) -> str:
        return f"{self._palette.name}{name}{self._palette.off}"

    def _join_head_and_cut_value(self, head: str, shown: Cell) -> str:
        text, paint = shown
        if self._width is not None:
            used = cell_width(head) - len(self._palette.name) - len(self._palette.off)
            text = cut(text, max(self._width - used, 1))
        return head + self._paint_text(text, paint)


def _measure_columns(columns: dict[str, list[Cell]], titles: dict[str, str]) -> dict[str, int]:
    return {
        name: max(cell_width(titles[name]), *(cell_width(text) for text, _ in column))
        for name, column in columns.items()
    }


def _measure_table_width(columns: dict[str, list[Cell]], titles: dict[str, str]) -> int:
    widths = _measure_columns(columns, titles)
    return sum(widths.values()) + len(GAP) * (len(widths) - 1)


def _index_fields_by_name(plan: Plan | None) -> dict[str, PlanField]:
    return {} if plan is None else {field.name: field for field in (*plan.fields, *plan.tagged)}


def _drop_type_field(value: dict[str, Any]) -> dict[str, Any]:
    return {name: item for name, item in value.items() if name != "$type"}


def _is_scalar(value: Any) -> bool:
    """Whether a value fits in one cell: no struct, and no array of structs other than record headers."""
    if isinstance(value, dict):
        return "base64" in value or "redacted" in value or not value
    if isinstance(value, DeferredList):
        return not value.holds_structs()
    if isinstance(value, list):
        return not value or not isinstance(value[0], dict) or _is_record_headers(value) or "base64" in value[0]
    return True


def _are_flat_structs(items: Structs, plan: Plan | None) -> bool:
    """Whether a table can hold these structs: nothing is nested in any of them."""
    if isinstance(items, DeferredList):
        if plan is not None and not any(field.plan or field.kind in _HOLDING for field in (*plan.fields, *plan.tagged)):
            return True
        first = next(items.chunks(), [])
        if first and all(map(is_plain_record_json, first)):
            return True  # the records of one batch are all alike
    return all(isinstance(item, dict) and all(map(_is_scalar, item.values())) for item in items)


def _is_record_headers(value: list[Any]) -> bool:
    return isinstance(value[0], dict) and value[0].keys() == {"key", "value"}


def format_scalar(value: Any) -> str:
    """A value that is not nested, as text without control characters for a terminal."""
    if isinstance(value, str):
        return escape_text(value) if value else '""'
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        if len(value) == 1 and "base64" in value:
            return f"base64:{escape_text(str(value['base64']))}"
        if isinstance(value.get("redacted"), int):
            return f"‹{format_bytes(value['redacted'])} redacted›"
        if value.keys() == {"base64", "error"} and isinstance(value["error"], dict):
            reason = escape_text(str(value["error"].get("text")))
            return f"not readable ({reason}): base64:{escape_text(str(value['base64']))}"
        return escape_text(b"".join(make_json_pieces(value)).decode())
    if isinstance(value, list):
        return _format_scalar_list(value)
    if isinstance(value, DeferredText):
        return escape_text(next(value.texts(), ""))
    return str(value)


def format_requested_metrics(value: list[Any]) -> str:
    """The prefixes of the metric names that a broker wants (KIP-714); an empty one, or `*`, stands for all."""
    if not value:
        return "none"
    return "all metrics" if value in ALL_METRICS else f"{', '.join(map(format_scalar, value))} …"


def _format_enum_numbers(value: Any, means: str) -> str:
    """A number, or a list of them, each with its word: `0 read_uncommitted`; a set of bits by its words alone."""
    if isinstance(value, list):
        return ",".join(_format_enum_numbers(one, means) for one in value) or "[]"
    return format_number_with_word(value, means) if isinstance(value, int) else format_scalar(value)


def _format_scalar_list(value: list[Any]) -> str:
    if not value:
        return "[]"
    if _is_record_headers(value):
        return " ".join(f"{format_scalar(one['key'])}={format_scalar(one['value'])}" for one in value)
    return ",".join(format_scalar(one) for one in value)


def _is_default_value(value: Any, field: PlanField | None) -> bool:
    """Whether a value is the default of its field."""
    if field is None:
        return value is None
    if field.array:
        return value == [] if field.default == () else value is None
    if field.kind == "uuid":
        return bool(value == NULL_UUID)
    if field.default == b"":
        return bool(value == "")
    return bool(value == field.default)


def find_message_plan(exchange: Exchange, side: Side) -> Plan | None:
    """The plan of one side of an exchange; None where its API or version is unknown."""
    key, version = exchange.api_key, exchange.api_version
    if key not in NAMES or version is None or version not in api(key).versions:
        return None
    return resolve(api(key).message(side), version)


def decode_failure_lines(record: dict[str, Any], side: Side, palette: Palette) -> Iterator[str]:
    """A line with the reason and the offset at which decoding a side failed; nothing where it did not."""
    failure = (record.get("undecoded") or {}).get(side)
    if failure:
        place = f" in {escape_text(failure['path'])}" if failure["path"] else ""
        reason = escape_text(failure["reason"])
        if record.get("api_key") in CONFLUENT_KEYS:
            reason += f" ({describe_unknown_api_key(record['api_key'])})"
        yield f"{palette.bad}undecoded from byte {failure['offset']}{place}: {reason}{palette.off}"


def format_remark_lines(record: dict[str, Any], side: Side, palette: Palette) -> Iterator[str]:
    """The bytes behind the last field of a side, and a line for each remark on it."""
    behind = record.get("trailing")
    if isinstance(behind, dict) and side in behind:
        yield f"{palette.bad}bytes behind it: {format_scalar(behind[side])}{palette.off}"
    for remark in record.get("remarks", ()):
        if remark["side"] == side:
            place = f" in {escape_text(remark['path'])}" if remark["path"] else ""
            text = f"remark {remark['id']} at byte {remark['offset']}{place}: {escape_text(remark['text'])}"
            yield f"{palette.bad}{text}{palette.off}"
