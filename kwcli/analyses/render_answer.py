"""A fold in, its answer out when the inputs have ended: text for people, or the fold's rows in any other format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from decoders.exchanges.find_client_library import format_library
from decoders.messages.exchange_json import SCHEMA
from decoders.schema.body_json_form import row_json
from kwcli.output.report_partial_input import add_partial_to_rows, format_partial_note, list_partial_sentences
from kwcli.output.write_values_in_any_format import open_value_writer
from kwcli.reading.sinks.filter_sort_and_limit_rows import ReadingView
from kwcli.reading.sinks.fold_renderer import FoldRenderer
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Fold, Row
    from decoders.exchanges.exchange import Ended
    from kwcli.capture_options import CaptureOptions
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Write
    from kwcli.reading.sinks.host_names import HostNames

__all__ = ["AnswerRenderer", "format_software", "format_value_on_one_line", "make_answer_record", "make_reading_view"]

# Rows that are aligned together, where they are too many to be held.
_PAGE: Final = 10_000
# Rows whose text has names of hosts, and keys with addresses in them; other rows have commands to be copied.
_NAMED_KINDS: Final = ("client", "broker", "audit", "audit_broker")
_ADDRESSES: Final = ("addresses", "via_addresses", "broker", "brokers")
Text = Callable[[Sequence["Row"], "Settings"], str]


class AnswerRenderer(FoldRenderer):
    """Gives exchanges to `fold` and writes `rows()` at the end, each with its `kind`; `text` makes text of the rows.

    Where rows may be very many, `rows()` makes them anew each time that it is iterated over; all have the same keys.
    """

    def __init__(
        self, fold: Fold, kind: str, rows: Callable[[], Iterable[Row]], text: Text, settings: Settings
    ) -> None:
        super().__init__([fold], "give a filter")
        self.needs = fold.needs
        self.asks_libraries: bool = getattr(fold, "asks_history", False)
        self.found: Iterable[Row] = []
        self._kind = kind
        self._rows = rows
        self._text = text
        self._settings = settings
        self._write: Write | None = None
        self._host_names: HostNames | None = None
        self.keys: Iterable[str] = ()  # keys that rows may have besides the keys of the rows found
        # Gets what is wrong with the captures themselves; None: that is told beside the answer.
        self.hear: Callable[[list[str]], None] | None = None
        self.ended: Callable[[Ended], None] | None = None  # gets how connections ended
        self.needs_file_names = False  # the fold reads the file of an exchange
        self.capture: CaptureOptions | None = None  # the inputs of the run
        # Takes the names of the captures by their numbers in packets; the list may grow while they are read.
        self.set_file_names: Callable[[Sequence[str]], None] | None = None

    def open(self, write: Write) -> AnswerRenderer:
        """Set the function to write with, which `ReadingRun` knows; returns this renderer."""
        self._write = write
        return self

    def close(self) -> None:
        """Write the answer of the fold."""
        assert self._write is not None
        self.found = self._rows()
        settings, partial = self._settings, self.coverage.partial
        if settings.format in ("sarif", "junit"):
            self._write_sarif_or_junit()
            return
        if settings.format in ("text", "table", "csv", "md"):
            for some in self._split_rows_into_pages():
                self._write(self._format_rows_of_page(some).encode("utf-8", "backslashreplace"))
            self._write(format_partial_note(self.coverage_sentences(), settings).encode())
            return
        rows = self.found if isinstance(self.found, list) else list(islice(self.found, 1))
        writer = open_value_writer(settings, self._write, [*_list_keys_of_rows(rows), *self.keys, "partial"])
        for row in add_partial_to_rows(self.found, partial, as_text=False):
            writer.add(make_answer_record(self._kind, row))
        writer.close()

    def _format_rows_of_page(self, some: list[Row]) -> str:
        """Rows as text, or in a format whose cells are flat."""
        settings = self._settings
        if settings.format == "text":
            return self._text(self._put_host_names_in_rows(some), settings)
        from kwcli.analyses.csv_and_table_columns import format_csv, format_markdown, format_table

        if settings.format == "csv":
            some = list(add_partial_to_rows(some, self.coverage.partial, as_text=True))
            return format_csv(self._kind, some, settings)
        return (format_markdown if settings.format == "md" else format_table)(self._kind, some, settings)

    def set_host_names(self, names: HostNames) -> None:
        """Take the names of addresses, which text has in place of these."""
        self._host_names = names

    def _put_host_names_in_rows(self, rows: list[Row]) -> list[Row]:
        """The rows with names in place of addresses that have one, where they are about clients and brokers."""
        names = self._host_names
        if names is None or self._kind not in _NAMED_KINDS:
            return rows
        return [
            row | {key: names.put_names_in_place_of_addresses(row[key]) for key in _ADDRESSES if key in row}
            for row in rows
        ]

    def makes_command_fail(self, row: Row) -> bool:  # noqa: ARG002  # a subclass that judges looks at it
        """Whether the command ends with Exit.FINDINGS because of this row."""
        return False

    def _write_sarif_or_junit(self) -> None:
        """Write the rows as the results of a check, in one document."""
        from kwcli import VERSION
        from kwcli.analyses.sarif_and_junit import CHECK_FORMATS, RESULTS

        assert self._write is not None
        results = [RESULTS[self._kind](row, failed=self.makes_command_fail(row)) for row in self.found]
        command = "doctor" if self._kind == "finding" else "audit"
        files = self.capture.files if self.capture is not None else ()
        document = CHECK_FORMATS[self._settings.format](command, VERSION, results, self.coverage_sentences(), files)
        self._write(document.encode("utf-8", "backslashreplace"))

    def coverage_sentences(self) -> list[str]:
        """What the answer says of the part of the inputs that it was made of; empty where that is all of them."""
        return list_partial_sentences(self.coverage.partial)

    def make_not_found_failure(self, *sentences: str) -> Failure:
        """The failure of an answer without the rows that were asked for: it says also that a part was not read."""
        return Failure("; ".join([*sentences, *self.coverage_sentences()]), Exit.FAILURE)

    def summary_line_with_coverage(self) -> str:
        """The summary, with what it was made of: `nothing found; interrupted at 3 % (70.0MB of 2.1GB); …`."""
        return "; ".join([self.summary_line(), *self.coverage_sentences()])

    def summary_line(self) -> str:
        """The answer in one line, in a subclass that has such a line."""
        return ""

    def _split_rows_into_pages(self) -> Iterator[list[Row]]:
        """The rows that are aligned together: all where they are a list, else some thousand."""
        if isinstance(self.found, list) or self._settings.format in ("csv", "md"):
            yield list(self.found)
            return
        rows = iter(self.found)
        some = list(islice(rows, _PAGE))
        yield some
        while some := list(islice(rows, _PAGE)):
            yield some


def make_reading_view(renderer: AnswerRenderer) -> ReadingView:
    """The ReadingView by which `ReadingRun` feeds the renderer's fold instead of showing exchanges."""
    return ReadingView(
        renderer.needs,
        renderer.open,
        renderer.hear,
        renderer.needs_file_names,
        libraries=renderer.asks_libraries,
        ended=renderer.ended,
        set_file_names=renderer.set_file_names,
    )


def make_answer_record(kind: str, row: Row) -> dict[str, Any]:
    """A row of an answer as the object that `-o ndjson` writes for it."""
    return {"kind": kind, "schema": SCHEMA, **row_json(row)}


def format_software(row: Row) -> str:
    """The software that a client states, else the library it looks like (`~kafkajs ≥ 1.13`); empty where unknown."""
    library = row.get("library")
    return format_value_on_one_line(row.get("client_software")) or (
        "" if library is None else f"~{format_library(library)}"
    )


def format_value_on_one_line(value: Any) -> str:
    """A value of a row as text for people: objects as their values, lists with commas."""
    if value is None:
        return ""
    if isinstance(value, dict):
        return " ".join(filter(None, map(format_value_on_one_line, value.values())))
    return ", ".join(map(format_value_on_one_line, value)) if isinstance(value, list) else str(value)


def _list_keys_of_rows(rows: Sequence[Row]) -> list[str]:
    """The keys of all rows, in their order; a key that only some rows have stands where it stands in those rows."""
    names: list[str] = []
    for row in rows:
        at = 0
        for name in row:
            if name in names:
                at = max(at, names.index(name) + 1)
            else:
                names.insert(at, name)
                at += 1
    return names
