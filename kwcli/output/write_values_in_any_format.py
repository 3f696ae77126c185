"""JSON values in, each written as it comes: as JSON, YAML, CSV, or the values at the paths of -e."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from decoders.protocol_facts.field_paths import FieldPathStep, parse_field_path, values_at_path
from decoders.wire.deferred_json import make_json_pieces
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Write


class ValueWriter(Protocol):
    """Writes values one after the other; `close` ends what was begun."""

    def add(self, value: Any) -> None: ...

    def close(self) -> None: ...


def open_value_writer(settings: Settings, write: Write, keys: Sequence[str] = ()) -> ValueWriter:
    """The writer of the format in `settings`, one of VALUE_WRITERS.

    `keys`: all keys that an object may have, where not all objects have the same.
    """
    return VALUE_WRITERS[settings.format](settings, write, keys)


class JsonWriter:
    """Writes values one after the other: with `lines` each on its own line; else as one array, which `close` ends."""

    def __init__(self, write: Write, *, lines: bool) -> None:
        self._write = write
        self._lines = lines
        self._begun = False

    def add(self, value: Any) -> None:
        """Write one value, which may be deferred."""
        if not self._lines:
            self._write(b",\n" if self._begun else b"[\n")
            self._begun = True
        for piece in make_json_pieces(value):
            self._write(piece)
        if self._lines:
            self._write(b"\n")

    def close(self) -> None:
        """End the array."""
        if not self._lines:
            self._write(b"\n]\n" if self._begun else b"[]\n")


class YamlWriter:
    """Writes each value as a YAML document."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def add(self, value: Any) -> None:
        """Write one document."""
        from kwcli.output.yaml import encode_yaml_in_pieces

        for piece in encode_yaml_in_pieces(value):
            self._write(piece)

    def close(self) -> None:
        """Do nothing: a document needs no end."""


class _RowWriter:
    """Base of the writers of lines. Cells are the values at the paths asked for, else at those keys of the first object
    that hold no object.
    """

    def __init__(self, settings: Settings, write: Write, keys: Sequence[str] = ()) -> None:
        self._settings = settings
        self._write = write
        self._keys = keys
        self._names: Sequence[str] = tuple(settings.columns)
        self._steps: list[tuple[FieldPathStep, ...]] | None = None

    def _read_cells(self, value: Any) -> list[list[Any]]:
        """The values at each path. Raises Failure (usage) where no object has such a key."""
        found = value if isinstance(value, dict) else {"value": value}
        if self._steps is None:
            self._names = self._names or [name for name, held in found.items() if not isinstance(held, dict)]
            self._steps = [
                _parse_field_path_or_fail(name, dict.fromkeys([*found, *self._keys])) for name in self._names
            ]
            self._write_heading(self._names)
        return [[each for each in values_at_path(found, steps) if each is not None] for steps in self._steps]

    def _write_heading(self, names: Sequence[str]) -> None:
        """Write the heading above the rows, in formats that have one."""

    def close(self) -> None:
        """Do nothing: rows need no end."""


class FieldWriter(_RowWriter):
    """Writes a line for each value, as `-o fields` does for exchanges."""

    def __init__(self, settings: Settings, write: Write, keys: Sequence[str] = ()) -> None:
        from kwcli.output.fields import FieldSeparators

        super().__init__(settings, write, keys)
        self._marks = FieldSeparators.parse_words(settings.marks)

    def add(self, value: Any) -> None:
        """Write one line."""
        self._write_line(self._read_cells(value))

    def _write_heading(self, names: Sequence[str]) -> None:
        if self._marks.header:
            self._write_line([[name] for name in names])

    def _write_line(self, cells: list[list[Any]]) -> None:
        flat = ([part for value in values for part in _list_scalar_parts(value)] for values in cells)
        self._write(self._marks.join_cells(flat).encode("utf-8", "backslashreplace"))


class CsvWriter(_RowWriter):
    """Writes a line for each value, below a line of names."""

    def add(self, value: Any) -> None:
        """Write one line."""
        from kwcli.output.read_row_cells import join_cell_values

        self._write_line(
            [
                join_cell_values([_find_name_in_object(part) for each in values for part in _list_flat_parts(each)])
                for values in self._read_cells(value)
            ]
        )

    def _write_heading(self, names: Sequence[str]) -> None:
        self._write_line(names)

    def _write_line(self, cells: Sequence[Any]) -> None:
        from kwcli.output.csv import format_csv_lines

        self._write(format_csv_lines([cells], safe=self._settings.csv_safe).encode("utf-8", "backslashreplace"))


# The writers of values by format: those of `FORMATS` that are records, and the two that are rows of chosen fields.
VALUE_WRITERS: Final[dict[str, Callable[[Settings, Write, Sequence[str]], ValueWriter]]] = {
    "ndjson": lambda _settings, write, _keys: JsonWriter(write, lines=True),
    "json": lambda _settings, write, _keys: JsonWriter(write, lines=False),
    "yaml": lambda _settings, write, _keys: YamlWriter(write),
    "csv": CsvWriter,
    "fields": FieldWriter,
}


def _list_flat_parts(value: Any) -> Sequence[Any]:
    """The elements of a list, also of lists in it; anything else is one part."""
    if isinstance(value, list):
        return [part for each in value for part in _list_flat_parts(each)]
    return [value]


def _find_name_in_object(value: Any) -> Any:
    """What names an object where a cell may have no object: its name, its path, or its first value; else the value."""
    if not isinstance(value, dict):
        return value
    return value.get("name") or value.get("path") or next(iter(value.values()), None)


def _list_scalar_parts(value: Any) -> Sequence[Any]:
    """The elements of a list of scalars; anything else is one part."""
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        return [each for each in value if each is not None]
    return [value]


def _parse_field_path_or_fail(name: str, first: dict[str, Any]) -> tuple[FieldPathStep, ...]:
    try:
        steps = parse_field_path(name)
    except ValueError:
        raise Failure(f"-e {name!r} is no path (write name, versions[0] or fields[].name)", Exit.USAGE) from None
    if steps[0].name not in first:
        hint = did_you_mean(steps[0].name, first)
        raise Failure(f"-e: there is no field {steps[0].name!r}{hint}; there are {', '.join(first)}", Exit.USAGE)
    return steps
