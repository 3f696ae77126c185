"""Rows of the engine in; those that the filters want, in the order and number asked for, to the renderer out.

    engine ─► file names ─► ports ─► filter ─► (kept to be sorted) ─► limit ─► renderer, or the workers of --jobs

What is done with them is the *view* of the command: the format of `-o`, or an answer; a *tap* copies their packets
(`kw sniff FILES -w`). The sink counts what it lets through, for the closing line, and it says when the limit is
reached; it does not end the run (how_runs_end.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import repeat
from math import inf
from typing import TYPE_CHECKING, Any, Final, Protocol

from decoders.exchanges.exchange import Skipped
from decoders.messages.connection_end_rows import (
    is_row_of_ports,
    replace_connection_ends_by_rows,
)
from decoders.named_tuple import NamedTuple
from kwcli.output.renderers import (
    Needs,
    Renderer,
    WantedPaths,
    Write,
    find_paths_read_by_format,
    open_renderer,
    shows_facts_of_earlier_exchanges,
)
from kwcli.reading.run_coverage import RunCoverage
from kwcli.reading.sinks.closing_lines import ShownCounts, is_row_lossy
from kwcli.reading.sinks.fold_renderer import FoldRenderer
from kwcli.reading.sinks.row_output import (
    RowOutput,
    TableSink,
    needs_file_names,
    set_file_names,
    set_points_of_rows,
    split_off_connection_ends,
)

if TYPE_CHECKING:
    from collections import Counter

    from decoders.exchanges.chunks_to_exchanges import Context
    from decoders.exchanges.exchange import Ended, Settled
    from decoders.exchanges.segments_to_exchanges import Engine
    from decoders.filters import Filter
    from decoders.tcp.stream_chunks import Segment
    from decoders.tls.key_log import KeyLog
    from kwcli.capture_options import CaptureOptions
    from kwcli.output.output_settings import Settings
    from kwcli.reading.sinks.host_names import HostNames
    from kwcli.reading.sinks.no_match_hint import NoMatchHint
    from kwcli.reading.sinks.render_jobs import RenderJobs
    from kwcli.run_environment import Environment

__all__ = [
    "ORDERS",
    "SHARED_MIN",
    "FilteredRowSink",
    "PacketTap",
    "ReadingView",
    "find_paths_read_by_order",
    "make_format_view",
    "with_metrics_export",
]


def make_latency_sort_key(row: Settled) -> tuple[bool, float, int]:
    """Slowest first, then exchanges that waited by design, then rows without a latency in the order of their times."""
    if row.kind != "exchange" or row.latency_ms is None:
        return True, inf, row.time_ns
    from decoders.analysis.exchange_facts import WAITING, waited_ns

    waited = row.api_key in WAITING and waited_ns(row) is not None
    return waited, -row.latency_ms, row.time_ns


def make_size_sort_key(row: Settled) -> tuple[int, int]:
    """Largest first, by the bytes of both sides."""
    size = (row.request_size or 0) + (row.response_size or 0) if row.kind == "exchange" else 0
    return -size, row.time_ns


def find_paths_read_by_order(sort: str | None) -> list[Needs]:
    """The paths of bodies that an order reads."""
    if sort != "latency":
        return []
    from decoders.analysis.exchange_facts import WAITS

    return [WAITS.needed_paths]


# Captures of fewer bytes have too few rows to be shared among processes.
SHARED_MIN: Final = 1 << 20
# Word of --sort → the key of a row.
ORDERS: Final[Mapping[str, Callable[[Settled], Any]]] = {
    "time": lambda row: row.time_ns,
    "latency": make_latency_sort_key,
    "size": make_size_sort_key,
}


class ReadingView(NamedTuple):
    """What is done with the exchanges, where it is not what `-o` says: the body paths that are read, and the renderer.

    `hear` gets the problems of the captures themselves, before the renderer is closed; they are not printed then.
    `needs_file_names`: the renderer reads the file of a row. `tables` takes all that a capture has: packets numbered by
    their file, whose names it is given, and the ends of connections.
    """

    needs: Needs
    open: Callable[[Write], Renderer]
    hear: Callable[[list[str]], None] | None = None
    needs_file_names: bool = False
    tables: TableSink | None = None
    remembers: bool = False  # the renderer asks for what went before on a connection
    libraries: bool = False  # the renderer asks for the libraries of clients alone
    ended: Callable[[Ended], None] | None = None  # takes the ends of connections, where there are no tables
    has_connection_ends: bool = False  # rows say how connections ended that the filter asks for
    # Takes the names of the captures by their numbers, which packets have, too; the list may grow while they are read.
    set_file_names: Callable[[Sequence[str]], None] | None = None


def make_format_view(settings: Settings) -> ReadingView:
    """The view of the format that `-o` names."""
    opened = partial(open_renderer, settings)
    return ReadingView(
        find_paths_read_by_format(settings),
        opened,
        remembers=shows_facts_of_earlier_exchanges(settings),
        has_connection_ends=True,
    )


def with_metrics_export(
    env: Environment, settings: Settings, capture: CaptureOptions, view: ReadingView | None = None
) -> ReadingView | None:
    """The view, with its exchanges also reported to Prometheus or OpenTelemetry as the options say. Raises Failure."""
    if capture.metrics is None and capture.otlp is None:
        return view
    from kwcli.reading.sinks.export_metrics import export_metrics_of

    view = view or make_format_view(settings)
    needs, opened = export_metrics_of(env, settings, capture, view.needs, view.open)
    return view._replace(needs=needs, open=opened)


class PacketTap(Protocol):
    """Sees the segments and the rows of a run, to copy the packets of the rows that are shown (`kw sniff FILES -w`)."""

    def make_engine(
        self, ports: frozenset[int] | None, wanted: WantedPaths, keys: KeyLog, selection: Filter | None
    ) -> Engine:
        """The engine of the run."""

    def log_segments(self, segments: list[Segment]) -> None:
        """Log segments that the engine gets next."""

    def note_packets_of_rows(self, rows: list[Settled], *, numbered: bool) -> None:
        """Note the packets of settled rows; `numbered`: their packets will be numbered within their files."""

    def keep_packets_of_rows(self, rows: list[Settled]) -> None:
        """Keep the packets of rows that are shown."""

    def forget_unshown_rows(self) -> None:
        """Forget the rows of this batch that are not shown."""


class FilteredRowSink:
    """Takes the rows of one run; `tap` sees them before the filter, and those that are shown."""

    def __init__(
        self,
        env: Environment,
        settings: Settings,
        view: ReadingView,
        selection: Filter | None,
        *,
        ports: frozenset[int] | None,
        limit: int | None,
        sort: str | None,
        tap: PacketTap | None,
    ) -> None:
        self.output = RowOutput(env, prompt=settings.prompt)
        self.reached_limit = False
        self.looks_for_loss = False  # asked for by --strict
        self.host_names: HostNames | None = None  # of --hosts
        self.found_loss = False  # a row has shown that traffic was lost
        self.learn_from_rows: Callable[[list[Settled]], None] | None = None  # schemas of values in all rows
        self.missing_schemas: Counter[str] | None = None  # values by the id of a schema that is missing
        self._env = env
        self._selection = selection
        self._ports = ports
        self._tap = tap
        self.tables = view.tables
        self._asks_for_connections = selection is not None and selection.asks_for_connections
        self.has_connection_ends = view.has_connection_ends and self._asks_for_connections
        self._found_only_hidden_rows = False  # the rows that matched stand for no bytes, and are not shown
        self.end_of_connection = view.ended if view.tables is None else view.tables.end_connection
        self.needs_file_names = view.needs_file_names or needs_file_names(settings, selection)
        self._set_names_of_files = view.set_file_names
        self._file_names: Sequence[str] = ()  # of the inputs, where rows are to name theirs
        self._points: Sequence[str] = ()  # of the places, where there are several
        self._left = limit
        self._sort = sort
        self._sorted: list[Settled] | None = [] if sort else None
        self._shown = 0
        self._wider: Filter | None = None  # what --errors all would show
        self._expected = 0  # exchanges that --errors leaves out, and --errors all shows
        self._unmatched: NoMatchHint | None = None
        if selection is not None:
            self._prepare_filter_hints(selection)
        self._renderer = view.open(self.output.write)
        # Answers are told how much of the inputs they cover (fold_renderer.py); renderers of rows are not.
        self._set_coverage: Callable[[RunCoverage], None] | None = getattr(self._renderer, "set_coverage", None)
        self._jobs: RenderJobs | None = None

    def _prepare_filter_hints(self, selection: Filter) -> None:
        """Prepare what a filter needs besides itself: the errors that it leaves out, the reason why nothing matches."""
        from decoders.filters import parse
        from kwcli.filter_options import WENT_WRONG, filter_for_expected_errors
        from kwcli.reading.sinks.no_match_hint import NoMatchHint

        self._wider = filter_for_expected_errors(selection)
        self._unmatched = NoMatchHint(selection, parse(WENT_WRONG))

    def set_file_names(self, names: Sequence[str], *, has_files: bool) -> None:
        """Give the names of the captures, by their numbers, to those that want them."""
        if self.needs_file_names and has_files:
            self._file_names = names
        if self.tables is not None:
            self.tables.set_file_names(names)
        if self._set_names_of_files is not None and has_files:
            self._set_names_of_files(names)

    def set_host_names(self, names: HostNames) -> None:
        """Give the names of addresses to rows, and to an answer whose text has them."""
        self.host_names = names
        take_names = getattr(self._renderer, "set_host_names", None)
        if take_names is not None:
            take_names(names)

    def set_point_names(self, points: Sequence[str]) -> None:
        """Give the names of the places, by their numbers: each row names its own."""
        self._points = points
        if self.tables is not None:
            self.tables.set_point_names(points)

    @property
    def needs_file_numbers(self) -> bool:
        """Whether the numbers of packets have to name their files as well."""
        named = self.needs_file_names or self._set_names_of_files is not None
        return named or self._tap is not None or self.tables is not None

    # -- several processes ---------------------------------------------------------------------------------------------

    def start_render_jobs(self, asked: CaptureOptions, size: int | None, context: Context) -> None:
        """Have several processes show the rows, where that is possible and `size` bytes may have enough of them."""
        if asked.jobs < 2 or asked.metrics is not None or asked.otlp is not None or self._sorted is not None:
            return
        if size is not None and size < SHARED_MIN:
            return
        from kwcli.reading.sinks.process_row_steps import FoldWork, RowWork
        from kwcli.reading.sinks.render_jobs import RenderJobs, can_fork, has_stdin_paused

        if not can_fork():
            return
        if isinstance(self._renderer, FoldRenderer):
            work: RowWork = FoldWork(self._renderer, self._filter_rows)
        elif self.output.is_shared and not self._env.stdout_terminal:
            work = RowWork(self._renderer, self._filter_rows)
        else:
            return
        if self.missing_schemas is not None:
            work.missing_schemas = self.missing_schemas
        pause = partial(has_stdin_paused, self._env.stdin) if "-" in asked.files else None
        self._renderer = self._jobs = RenderJobs(work, self.output, context, asked.jobs, pause=pause)

    def poll_workers(self) -> None:
        """Between two batches of the input: collect what workers have done."""
        if self._jobs is not None:
            self._jobs.poll_workers()

    def kill_workers(self) -> None:
        """Kill the workers that are left, however the run has ended."""
        if self._jobs is not None:
            self._jobs.kill_workers()

    # -- rows ----------------------------------------------------------------------------------------------------------

    def filter_and_show_rows(self, rows: list[Settled]) -> bool:
        """Filter and show rows; False when as many as wanted have been shown."""
        if not rows:
            return True
        if self._ports is not None:
            # With --port the other connections are not shown; the closing line counts them.
            rows = [row for row in rows if is_row_of_ports(row, self._ports)]
        if self.has_connection_ends:
            rows = replace_connection_ends_by_rows(rows)
        if self.learn_from_rows is not None:
            self.learn_from_rows(rows)
        if self.host_names is not None:
            self.host_names.add_names_to_rows(rows)  # the tap filters rows as well
        if self._tap is not None:
            self._tap.note_packets_of_rows(rows, numbered=bool(self._file_names))
        if self.end_of_connection is not None:
            rows = split_off_connection_ends(rows, self.end_of_connection)
        if self._file_names:
            set_file_names(rows, self._file_names, count=self.tables is None and not self._points)
        if self._points:
            set_points_of_rows(rows, self._points, count=self.tables is None)
        if self.looks_for_loss and not self.found_loss:
            # Every exchange is decoded for this, also one that is not shown.
            self.found_loss = any(map(is_row_lossy, rows))
        if self._selection is not None:
            if self._jobs is not None and self._unmatched is None and self._left is None:
                self._jobs.write_matching(rows)
                return True
            rows = self._matching_rows(rows)
        if self._sorted is not None:
            self._sorted += rows
            return True
        shown = self._show_rows(rows)
        if self._tap is not None:
            self._tap.forget_unshown_rows()
        return shown

    def _filter_rows(self, rows: list[Settled]) -> tuple[list[Settled], int]:
        """The exchanges that the filter wants, and how many others --errors leaves out that --errors all shows."""
        assert self._selection is not None
        wants = self._selection.matches
        if self._asks_for_connections:
            return [row for row in rows if wants(row)], 0  # type: ignore[arg-type]  # it asks for what all rows have
        found: list[Settled] = [row for row in rows if row.kind == "exchange" and wants(row)]
        if self._wider is None:
            return found, 0
        # Their errors were read for the filter.
        matches = self._wider.matches
        return found, sum(row.kind == "exchange" and not wants(row) and matches(row) for row in rows)

    def _matching_rows(self, rows: list[Settled]) -> list[Settled]:
        """The rows that the filter wants; until one is found, the others are examined to say why nothing matches."""
        self._renderer.learn_from_unshown_rows(rows)
        found, expected = self._filter_rows(rows)
        self._expected += expected
        if any(row.kind == "exchange" for row in found) or (found and self._renderer.shows_skipped):
            self._unmatched = None
        elif found:
            self._found_only_hidden_rows = True
        elif self._unmatched is not None:
            self._unmatched.collect_values_of_unmatched_rows(rows)
        return found

    def _show_rows(self, rows: list[Settled]) -> bool:
        if self._left is not None:
            rows = self._limit_rows(rows)
        if self._tap is not None:
            self._tap.keep_packets_of_rows(rows)
        self._shown += len(rows) - sum(map(isinstance, rows, repeat(Skipped)))
        self._renderer.write(rows)
        self.output.flush_if_prompt()
        self.reached_limit = self._left == 0 and self._sorted is None
        return not self.reached_limit

    def _limit_rows(self, rows: list[Settled]) -> list[Settled]:
        """The rows that the limit leaves; rows that the format does not show do not count."""
        assert self._left is not None
        kept: list[Settled] = []
        for row in rows:
            if self._left == 0:
                break
            kept.append(row)
            if row.kind == "exchange" or self._renderer.shows_skipped:
                self._left -= 1
        return kept

    # -- the end -------------------------------------------------------------------------------------------------------

    def show_waiting_rows(self) -> None:
        """Show the rows that were kept to be sorted, and those that workers have."""
        if self._sorted is not None:
            self._show_rows(sorted(self._sorted, key=ORDERS[self._sort or "time"]))
            self._sorted = []
        if self._jobs is not None:
            self._jobs.write_all_rows()
            counts = self._jobs.counts()
            self._shown += counts.chosen
            self._expected += counts.passed_over

    def set_coverage(self, coverage: RunCoverage) -> None:
        """Tell an answer what it covers of the inputs, before it is closed."""
        if self._set_coverage is not None:
            self._set_coverage(coverage)

    def close(self) -> None:
        """Write the end of the output."""
        self._renderer.close()
        self.output.flush()
        self.output.hide_progress()

    def shown_counts(self) -> ShownCounts:
        """How many exchanges the filters have let through, and how many of them went wrong."""
        renderer = self._renderer
        return ShownCounts(
            self._shown, renderer.errors, renderer.expected + self._expected, renderer.undecoded, renderer.remarks
        )

    def no_match_line(self) -> str | None:
        """The sentence that says why no row has matched; None where one has."""
        if self._unmatched is None:
            return None
        if self._found_only_hidden_rows:
            return "no exchange on the connections that match; kw sniff -v says how they began and ended"
        return self._unmatched.hint_line()
