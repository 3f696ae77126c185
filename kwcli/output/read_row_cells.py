"""Rows in, the cells of the requested columns out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from decoders.errors import FilterError
from decoders.exchanges.exchange_attribute_table import SCALARS
from decoders.filters.exchange_paths import RecordPath, first_words_of_paths, parse_record_path
from decoders.messages.exchange_json import SCHEMA, to_json_dict
from decoders.named_tuple import NamedTuple
from decoders.schema.body_json_form import CELL_FORM, encode_text_for_cell, json_text
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.output import COLUMN_FORMATS
from kwcli.output.column_table import COLUMNS, CSV_MORE, FOREIGN, OWN, TABLE, WORDS, ColumnWord
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from decoders.exchanges.topic_and_node_names import NodeIds
    from decoders.schema.api_declaration import Side
    from kwcli.output.output_settings import Settings

    Values = Callable[[Settled, dict[str, Any]], Sequence[Any]]


# Values of these types stand in a cell as they are.
_NUMBERS: Final = frozenset({int, float})
# Attributes with texts from the wire, which may be no UTF-8.
_TEXTS: Final = frozenset({"client_id"})
# An attribute that every row has.
_ANY: Final = "kind"


class RowColumn(NamedTuple):
    """One column of an output: the word it was asked for by, its look, and its reader."""

    word: str
    look: ColumnWord
    path: RecordPath | None  # None: `own` reads it
    own: str = ""

    def needed_paths(self, key: int, side: Side) -> frozenset[str]:
        """The paths that the column reads of one side of an API."""
        if self.path is not None:
            return self.path.needs(key, side)
        from kwcli.output.facts.line_fact_functions import facts_paths

        return facts_paths(key, side)  # `node` and `summary` read what lines of text read


def make_row_columns(words: Iterable[str], option: str = "--columns", *, names: bool = False) -> list[RowColumn]:
    """The columns of these words; with `names` numbers have their names beside them. Raises Failure (usage)."""
    return [_make_row_column(word, option, names) for word in words]


def _make_row_column(name: str, option: str, names: bool) -> RowColumn:
    word = WORDS.get(name, name)
    look = COLUMNS.get(word, ColumnWord(name))
    if word in OWN:
        return RowColumn(name, look, None, word)
    try:
        return RowColumn(name, look, parse_record_path(word, names=names))
    except FilterError as error:
        ours = FOREIGN.get(name) or (name.removeprefix("kafka.") if name.startswith("kafka.") else "")
        candidates = [*error.candidates, *OWN, *WORDS]
        hint = (
            f" (write {ours})" if ours in COLUMNS or ours in first_words_of_paths() else did_you_mean(name, candidates)
        )
        raise Failure(f"{option}: {error.text}{hint}", Exit.USAGE) from None


def find_column_words(settings: Settings) -> tuple[str, ...]:
    """The words of the format's columns; none where it has no columns."""
    if settings.columns:
        return tuple(settings.columns)
    if settings.format not in COLUMN_FORMATS:
        return ()
    return (*SCALARS, *CSV_MORE) if settings.format == "csv" else TABLE


class RowReader:
    """Reads the cells of rows; keeps what it needs of earlier rows: which node has which address.

    `form`: what becomes of a row's own text in `cells`, such as `json_text` for programs and `clean` for people.
    """

    def __init__(
        self,
        names: Sequence[str],
        settings: Settings,
        option: str = "--columns",
        *,
        form: Callable[[str], Any] = json_text,
    ) -> None:
        self._form = form
        self.columns = make_row_columns(names, option, names=settings.names)
        self._options = settings.make_record_options()
        if settings.values is not None:
            decoding = [
                column.path for column in self.columns if column.path is not None and column.path.set_value_reader
            ]
            for number, path in enumerate(decoding):
                assert path.set_value_reader is not None
                path.set_value_reader(settings.values, count=number == 0)
        self._whole = any(column.path is not None and column.path.whole for column in self.columns)
        self._learns = any(column.own == "node" for column in self.columns)
        if any(column.own for column in self.columns):
            from decoders.exchanges.topic_and_node_names import NodeIds

            self._nodes = NodeIds()
        # For each column: the attribute of the row, or the function that reads its values.
        self._readers = [self._find_column_reader(column, settings.zone) for column in self.columns]
        # Of an exchange: all attributes at once (with one more they are a tuple in any case), and the other columns.
        self._attributes = attrgetter(*(attribute or _ANY for attribute, _ in self._readers), _ANY)
        self._others = [(at, read) for at, (_, read) in enumerate(self._readers) if read is not None]
        self._texts = [at for at, (attribute, _) in enumerate(self._readers) if attribute in _TEXTS]

    def _find_column_reader(self, column: RowColumn, zone: str) -> tuple[str, Values | None]:
        if column.path is None:
            return "", self._make_derived_column_reader(column.own)
        if column.path.attribute == "time" and zone:
            from kwcli.output.short_texts import find_zone

            exact = find_zone(zone).format_exact_time
            return "", lambda row, _record: [exact(row.time)]
        if column.path.attribute == "schema":
            return "", lambda _row, _record: (SCHEMA,)
        return column.path.attribute, None if column.path.attribute else column.path.values

    def _make_derived_column_reader(self, name: str) -> Values:
        from kwcli.output.facts.line_fact_functions import format_line_facts

        if name == "node":
            return lambda row, _record: [self._nodes[row.broker]] if row.broker in self._nodes else []
        return lambda row, _record: [format_line_facts(row)] if row.kind == "exchange" else []

    def set_node_ids(self, nodes: NodeIds) -> None:
        """Take the addresses of nodes from what others learn."""
        self._nodes = nodes
        self._learns = False

    def learn_node_addresses(self, rows: Iterable[Settled]) -> None:
        """Take the addresses of nodes from the answers that list them."""
        if self._learns:
            from decoders.exchanges.topic_and_node_names import NODE_LISTS

            for row in rows:
                if row.kind == "exchange" and row.api_key in NODE_LISTS:
                    self._nodes.add_brokers(row.view("response"))

    def column_values(self, row: Settled) -> list[Sequence[Any]]:
        """The values of each column, in JSON form: none, one or several."""
        record = to_json_dict(row, self._options) if self._whole else {}
        found: list[Sequence[Any]] = []
        for attribute, read in self._readers:
            if read is not None:
                found.append(read(row, record))
            else:
                value = getattr(row, attribute, None)
                value = self._form(value) if attribute in _TEXTS and value is not None else value
                found.append(() if value is None else (value,))
        return found

    def row_cells(self, row: Settled) -> list[Any]:
        """The content of each cell: one value as it is, several with commas between them, None where there is none."""
        if row.kind != "exchange":
            return [join_cell_values(values) for values in self.column_values(row)]
        record = to_json_dict(row, self._options) if self._whole else {}
        line = list(self._attributes(row))
        line.pop()
        for at in self._texts:
            line[at] = None if line[at] is None else encode_text_for_cell(line[at])
        for at, read in self._others:
            line[at] = join_cell_values(read(row, record))
        return line


def join_cell_values(values: Sequence[Any]) -> Any:
    """The content of a cell of these values."""
    if len(values) != 1:
        return ",".join(map(format_json_value_as_cell, values)) if values else None
    value = values[0]
    return value if value.__class__ in _NUMBERS else format_json_value_as_cell(value)


def format_json_value_as_cell(value: Any) -> str:
    """A value in JSON form as the text of a cell: text as it is, structs and lists as JSON on one line.

    A text that looks like the JSON form of bytes is in this form itself, so that every cell stands for one text.
    """
    if isinstance(value, str):
        return encode_text_for_cell(value) if value.startswith(CELL_FORM) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    from decoders.wire.deferred_json import make_json_pieces

    return b"".join(make_json_pieces(value)).decode()
