"""Inputs, settings and filters in, rows on standard output and a closing line out: what `kw sniff` does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import repeat
from math import inf
from typing import TYPE_CHECKING, Any, Final

from decoders.capture.files import CaptureReader
from decoders.exchanges.engine import Engine
from decoders.exchanges.exchange import Skipped
from decoders.named_tuple import NamedTuple
from decoders.tls.key_log import KeyLog
from kwcli.output.renderers import Needs, Renderer, WantedPaths, Write, open_renderer, renderer_needs, shows_history
from kwcli.output.short_texts import count_of, find_zone
from kwcli.reading.capture_inputs import Captures
from kwcli.reading.capture_sources import STANDARD_INPUT, add_byte_offset, escape_non_utf8
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.input_files import is_read_once, key_log_names
from kwcli.reading.key_logs import KeyLogFiles, add_secrets_of_captures
from kwcli.reading.run_coverage import PartialRun, RunCoverage
from kwcli.run_environment import Exit, Failure
from kwcli.sniff.closing_lines import (
    LOSSY,
    ShownCounts,
    closing_lines,
    describe_passed_over,
    fault_lines,
    format_exchange_count,
    has_cut_packets,
    is_lossy,
    limit_line,
    make_capture_counts,
    note_dropped_keys,
)
from kwcli.sniff.fold_renderer import FoldRenderer
from kwcli.sniff.row_output import (
    RowOutput,
    TableSink,
    needs_file_names,
    renumber_packets_in_file,
    set_file_names,
    split_off_connection_ends,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from decoders.errors import DecodeError
    from decoders.exchanges.exchange import Ended, Settled
    from decoders.filters import Filter
    from kwcli.options import CaptureOptions, FilterOptions
    from kwcli.output.settings import Settings
    from kwcli.run_environment import Environment
    from kwcli.sniff.no_match_hint import NoMatchHint
    from kwcli.sniff.render_jobs import RenderJobs
    from kwcli.sniff.write_matching_packets import ExchangePackets, MatchingPacketsWriter

__all__ = ["SniffOutcome", "SniffView", "Sniffing", "add_metrics_export"]

# One loop for files, pipes and live captures: bytes → segments → exchanges → filter → renderer. However the run ends,
# everything decoded so far is written.


def _latency_order(row: Settled) -> tuple[bool, float, int]:
    """Slowest first, then exchanges that waited by design, then rows without a latency in the order of their times."""
    if row.kind != "exchange" or row.latency_ms is None:
        return True, inf, row.time_ns
    from decoders.analysis.exchange_facts import WAITING, waited_ns

    waited = row.api_key in WAITING and waited_ns(row) is not None
    return waited, -row.latency_ms, row.time_ns


def _size_order(row: Settled) -> tuple[int, int]:
    """Largest first, by the bytes of both sides."""
    size = (row.request_size or 0) + (row.response_size or 0) if row.kind == "exchange" else 0
    return -size, row.time_ns


def _paths_for_order(sort: str | None) -> list[Needs]:
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
    "latency": _latency_order,
    "size": _size_order,
}


class SniffOutcome:
    """How a run ended."""

    def __init__(self, *, strict: bool) -> None:
        self.problems: list[str] = []
        self.interrupted = False
        self.unwritten = False  # packets that were to be kept were not
        self.broken = False  # an input had a problem, which was reported at once
        self.strict = strict
        self.lossy = False
        self.coverage = RunCoverage()

    def exit_code(self) -> Exit:
        """The exit code; loss counts only with --strict. A live capture mostly ends by being interrupted."""
        if self.unwritten:
            return Exit.FAILURE
        if self.interrupted:
            return Exit.INTERRUPTED
        if self.problems or self.broken:
            return Exit.FAILURE
        return Exit.LOSSY if self.strict and self.lossy else Exit.DONE


class SniffView(NamedTuple):
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


def view_of_format(settings: Settings) -> SniffView:
    """The view of the format that `-o` names."""
    return SniffView(renderer_needs(settings), partial(open_renderer, settings), remembers=shows_history(settings))


def add_metrics_export(
    env: Environment, settings: Settings, capture: CaptureOptions, view: SniffView | None = None
) -> SniffView | None:
    """The view, with its exchanges also reported to Prometheus or OpenTelemetry as the options say. Raises Failure."""
    if capture.metrics is None and capture.otlp is None:
        return view
    from kwcli.sniff.export_metrics import export_metrics_of

    view = view or view_of_format(settings)
    needs, opened = export_metrics_of(env, settings, capture, view.needs, view.open)
    return view._replace(needs=needs, open=opened)


class Sniffing:
    """One run: reads what `capture` names and shows the rows that `filters` let through. Raises Failure."""

    def __init__(
        self,
        env: Environment,
        settings: Settings,
        capture: CaptureOptions,
        filters: FilterOptions,
        *,
        view: SniffView | None = None,
        sort: str | None = None,
        strict: bool = False,
    ) -> None:
        self._file_names: list[str] = []  # of the inputs, where rows are to name theirs
        selection = filters.build_filter(capture.time_filter_text(env, settings.zone))
        view = add_metrics_export(env, settings, capture, view) or view_of_format(settings)
        ports = frozenset(capture.ports) or None
        self._capture = capture
        self._remembers, self._libraries = view.remembers, view.libraries
        self._needs_file_names = view.needs_file_names or needs_file_names(settings, selection)
        self._env = env
        self._settings = settings
        self._selection = selection
        self._ports = ports
        key_logs = key_log_names(capture.keylogs, env.variables)
        self._key_logs = KeyLogFiles(key_logs, follow=capture.is_live) if key_logs else None
        self._keys = KeyLog() if self._key_logs is None else self._key_logs.keys
        wanted = WantedPaths(view.needs, *([] if selection is None else [selection.needs]), *_paths_for_order(sort))
        self._tables = view.tables
        self._end_of = view.ended if self._tables is None else self._tables.end_connection
        self._engine = Engine(ports, wanted, connections=self._end_of is not None, keys=self._keys)
        self._wanted = wanted
        self._cut: MatchingPacketsWriter | None = None
        self._pieces: dict[int, ExchangePackets | None] = {}  # of rows that wait to be sorted, by their identity
        self._left = filters.limit
        self._sort = sort
        self._sorted: list[Settled] | None = [] if sort else None
        self._limited = False  # whether the limit has ended the reading
        self._shown = 0
        self._wider: Filter | None = None  # what --errors all would show
        self._expected = 0  # exchanges that --errors leaves out, and --errors all shows
        self._unmatched: NoMatchHint | None = None
        if selection is not None:
            self._prepare_filter_hints(selection)
        self._whole = True  # the inputs were read to their end
        self._past_faults: list[str] = []  # of captures that tables were made from
        self._partial: PartialRun | None = None  # what was read, where that is not all
        self._records = False  # some inputs are records that kw wrote, which say nothing of packets
        self._outcome = SniffOutcome(strict=strict)
        self._begun = env.monotonic()
        self._output = RowOutput(env, prompt=settings.prompt)
        self._hear = view.hear
        self._renderer = view.open(self._output.write)
        # Answers are told how much of the inputs they cover (fold_renderer.py); renderers of rows are not.
        self._set_coverage: Callable[[RunCoverage], None] | None = getattr(self._renderer, "set_coverage", None)
        self._jobs: RenderJobs | None = None

    def _prepare_filter_hints(self, selection: Filter) -> None:
        """Prepare what a filter needs besides itself: the errors that it leaves out, the reason why nothing matches."""
        from decoders.filters import parse
        from kwcli.filter_options import WENT_WRONG, filter_for_expected_errors
        from kwcli.sniff.no_match_hint import NoMatchHint

        self._remembers |= selection.asks_history
        self._wider = filter_for_expected_errors(selection)
        self._unmatched = NoMatchHint(selection, parse(WENT_WRONG))

    def run(self) -> SniffOutcome:
        """Decode what the options name: an interface, or files."""
        capture = self._capture
        if capture.write and not capture.interface:
            return self.cut(capture, capture.write)
        self._set_engine_options(capture)
        if capture.interface:
            return self.live(capture)
        if capture.follow and not is_read_once(capture.files[0]):
            return self.follow(capture.files[0])
        return self.files(capture.files)

    def _set_engine_options(self, capture: CaptureOptions) -> None:
        """Set the options of the engine."""
        if capture.guess_requests:
            self._engine.guess_requests()
        if self._remembers or self._libraries:
            self._engine.pairer.remember(only_libraries=not self._remembers)

    def _share_rendering(self, captures: Captures) -> None:
        """Have several processes show the rows, where that is possible and there may be enough of them."""
        asked, size = self._capture, captures.size
        if asked.jobs < 2 or asked.metrics is not None or asked.otlp is not None or self._sorted is not None:
            return
        if size is not None and size < SHARED_MIN:
            return
        from kwcli.sniff.render_jobs import RenderJobs, can_fork, has_paused
        from kwcli.sniff.row_work import FoldWork, RowWork

        if not can_fork():
            return
        if isinstance(self._renderer, FoldRenderer):
            work: RowWork = FoldWork(self._renderer, self._filter_rows, kept=(self._env, self._output))
        elif self._output.is_shared and not self._env.stdout_terminal:
            work = RowWork(self._renderer, self._filter_rows)
        else:
            return
        pause = partial(has_paused, self._env.stdin) if "-" in asked.files else None
        context = self._engine.pairer.context
        self._renderer = self._jobs = RenderJobs(work, self._output, context, asked.jobs, pause=pause)

    def _filter_rows(self, rows: list[Settled]) -> tuple[list[Settled], int]:
        """The exchanges that the filter wants, and how many others --errors leaves out that --errors all shows."""
        assert self._selection is not None
        wants = self._selection.matches
        found: list[Settled] = [row for row in rows if row.kind == "exchange" and wants(row)]
        if self._wider is None:
            return found, 0
        # Their errors were read for the filter.
        matches = self._wider.matches
        return found, sum(row.kind == "exchange" and not wants(row) and matches(row) for row in rows)

    # -- files, pipes --------------------------------------------------------------------------------------------------

    def cut(self, options: CaptureOptions, name: str) -> SniffOutcome:
        """Decode files, then write a capture of the packets of the rows that were shown."""
        from kwcli.sniff.files_read_twice import Spooled, check_output, environment_with_stdin, reopen_captures
        from kwcli.sniff.packets_of_rows import LoggedEngine
        from kwcli.sniff.write_matching_packets import MatchingPacketsWriter

        check_output(name, options.files)
        whole = options.whole_connections or (self._selection is None and self._left is None)
        cut = MatchingPacketsWriter(name, self._env, self._keys, whole=whole, with_keys=options.with_keys)
        self._cut = cut
        self._engine = LoggedEngine(cut.segments, ports=self._ports, needs=self._wanted, keys=self._keys)
        self._set_engine_options(options)
        spooled = Spooled(self._env.stdin) if "-" in options.files else None
        try:
            captures = self._open_captures(options.files, environment_with_stdin(self._env, spooled))
            if captures.records:
                raise Failure(f"{captures.records[0]}: records have no packets that -w could write", Exit.USAGE)
            cut.begin_output(captures.names)
            names = ["-" if source == STANDARD_INPUT else source for source in captures.names]
            self._read_captures(captures)
            self._outcome.unwritten = not cut.copy_kept_packets(reopen_captures(names, self._env, spooled))
        except KeyboardInterrupt:
            self._outcome.interrupted = True
        finally:
            cut.close()
            if spooled is not None:
                spooled.file.close()
        return self._outcome

    def files(self, names: Iterable[str]) -> SniffOutcome:
        """Decode files (`-`: standard input), merged by packet time. Bad inputs are reported after the good ones."""
        captures = self._open_captures(names, self._env)
        self._share_rendering(captures)
        return self._read_captures(captures)

    def _open_captures(self, names: Iterable[str], env: Environment) -> Captures:
        captures = Captures(
            names,
            env,
            numbered=self._needs_file_names or self._cut is not None or self._tables is not None,
            on_secrets=self._keys.add_text,
            cut_receiver=self._engine,
        )
        self._pass_file_names(captures.names)
        self._keys.look_further = partial(add_secrets_of_captures, self._keys, captures.names)
        return captures

    def _pass_file_names(self, names: list[str]) -> None:
        """Give the names of the files, by their numbers, to those that want them."""
        if self._needs_file_names:
            self._file_names = names
        if self._tables is not None:
            self._tables.name_files(names)

    def _read_captures(self, captures: Captures) -> SniffOutcome:
        if not self._settings.quiet:
            self._output.start_progress(captures.size)
        try:
            self._decode_captures(captures)
        finally:
            captures.close()
            if self._jobs is not None:
                self._jobs.kill_workers()
        return self._outcome

    def _decode_captures(self, captures: Captures) -> None:
        finish = True
        try:
            for segments in captures:
                self._read_keys()
                if self._cut is not None:
                    self._cut.log_segments(segments)
                if not self._emit_rows(self._engine.feed(segments)):
                    finish = False
                    break
                self._output.show_progress(captures.taken, self._engine.summary.exchanges)
                if self._jobs is not None:
                    self._jobs.poll_workers()
            if finish and captures.records:
                finish = self._emit_rows(self._engine.finish()) and self._read_records(captures)
        except KeyboardInterrupt:
            self._outcome.interrupted = True
            finish = False
        self._whole = finish
        self._records = bool(captures.records)
        self._settle(finish=finish and not captures.records)
        self._outcome.problems += captures.problems
        for name, problem in captures.cut():
            self._outcome.problems.append(self._format_cut_short(name, problem, alone=captures.count == 1))
        self._past_faults = captures.faults
        if not self._settings.quiet:
            for line in captures.lacking:
                self._env.report(f"kw: {line}")
        read = [count_of(count, noun) for count, noun in ((captures.lines, "line"), (captures.rows, "row")) if count]
        self._set_partial(captures.taken, captures.size)
        self._end(captures.counts(), told=not self._has_only_problems(captures.count), read=read)

    def _read_records(self, captures: Captures) -> bool:
        """Show the exchanges of records that kw wrote; False when as many as wanted have been shown."""
        from decoders.filters.contents import lacks_records

        if self._settings.format in ("hex", "raw"):
            names, form = ", ".join(captures.records), self._settings.format
            raise Failure(f"{names}: -o {form} shows bytes, which NDJSON of kw lacks: give the capture", Exit.USAGE)
        lacking = 0
        if self._end_of is not None and self._tables is None:
            for ended in captures.ends():
                if self._ports is None or int(ended.connection_info.broker.rpartition(":")[2] or 0) in self._ports:
                    self._end_of(ended)
        for name, rows in captures.read_records():
            for row in rows:
                if (self._needs_file_names or self._tables is not None) and row.kind == "exchange":
                    row.extra = {"file": escape_non_utf8(name), **(row.extra or {})}
            if self._selection is not None and self._selection.reads_records:
                lacking += sum(map(lacks_records, rows))
            if self._ports is not None:
                rows = [row for row in rows if int(row.broker.rpartition(":")[2] or 0) in self._ports]
            for row in rows:
                self._engine.summary.count(row)
            if not self._emit_rows(rows):
                return False
            self._output.show_progress(captures.taken, self._engine.summary.exchanges)
        if captures.request_logs and not self._settings.quiet:
            self._env.report(
                f"kw: {', '.join(captures.request_logs)}: a broker's request log has no sizes, packets, records and"
                " logins; its times are the broker's, taken as UTC (kw help request-log)"
            )
        if lacking:
            what = f"{count_of(lacking, 'exchange')} with records, but the file lacks their keys, values and headers"
            self._env.report(f"kw: {what}: filters cannot match them (write the file with --records)")
        return True

    def _has_only_problems(self, inputs: int) -> bool:
        """Whether the problems of the inputs say all that there is to say."""
        summary = self._engine.summary
        return not inputs or (len(self._outcome.problems) >= inputs and not summary.exchanges and not summary.skipped)

    def _format_cut_short(self, name: str, problem: DecodeError, *, alone: bool) -> str:
        before = "everything before it is shown"
        if alone:
            total = self._engine.summary.exchanges
            verb = "is" if self._shown == total == 1 else "are"
            shown = format_exchange_count(self._shown, total)
            before = f"{shown} before it {verb} shown" if total else "no exchange before it"
        return f"{name}: {add_byte_offset(problem.text, problem.offset)}; {before}"

    # -- a file that grows ---------------------------------------------------------------------------------------------

    def follow(self, word: str) -> SniffOutcome:
        """Decode a file that grows, and the files that its writer goes on with, until it is interrupted."""
        from kwcli.sniff.following import Follower

        numbered = self._needs_file_names or self._tables is not None
        follower = Follower(word, self._env, numbered=numbered, on_secrets=self._keys.add_text)
        self._pass_file_names(follower.names)
        finish = True
        try:
            if not self._settings.quiet:
                self._env.report(f"kw: {follower.greeting}")
            for segments, now_ns in follower.stream():
                self._read_keys()
                if not self._emit_rows(self._engine.feed(segments, now_ns)):
                    finish = False
                    break
        except KeyboardInterrupt:
            self._outcome.interrupted = True
        except InputProblem as problem:
            self._outcome.problems.append(problem.text)
        finally:
            follower.close()
        self._settle(finish=finish)
        if follower.unfinished is not None and not self._settings.quiet:
            self._env.report(f"kw: {follower.unfinished}")
        self._outcome.broken = follower.broken
        counts = follower.counts()
        self._whole = counts["packets"] > 0
        self._set_partial(follower.taken, None, endless=True)
        self._end(counts)
        return self._outcome

    # -- live ----------------------------------------------------------------------------------------------------------

    def live(self, options: CaptureOptions) -> SniffOutcome:
        """Decode what an interface carries until it is interrupted."""
        from kwcli.sniff.kept_packets_file import open_packet_file
        from kwcli.sniff.live_capture import KernelFilter, LiveCapture

        assert options.interface
        interface = options.interface
        capture = LiveCapture(interface, KernelFilter(options.ports, options.bpf), self._env)
        try:  # an older file stays where there is nothing to capture
            kept = open_packet_file(options.write, options.rotation, self._env) if options.write else None
        except Failure:
            capture.close()
            raise
        if self._tables is not None:
            self._tables.name_files([interface])
        reader = CaptureReader()
        finish = True
        try:
            if not self._settings.quiet:
                self._env.report(f"kw: listening on {interface}; Ctrl-C ends")
            for piece in capture.stream_pcapng():
                if kept is not None:
                    kept.write(piece)
                self._read_keys()
                if not self._emit_rows(self._engine.feed(reader.feed(piece), self._env.now_ns())):
                    finish = False
                    break
        except KeyboardInterrupt:
            self._outcome.interrupted = True
        finally:
            dropped, block = capture.read_drop_statistics()
            capture.close()
            if kept is not None:
                kept.write(block)
                kept.close()
                self._outcome.unwritten = kept.failed
        self._settle(finish=finish)
        self._set_partial(capture.taken, None, endless=True)
        self._end(reader.counts, dropped=dropped)
        return self._outcome

    # -- both ---------------------------------------------------------------------------------------------------------

    def _read_keys(self) -> None:
        """Read what was appended to the key logs, before packets are decrypted with it."""
        if self._key_logs is not None:
            self._key_logs.read_appended_keys(self._env.now_ns())

    def _emit_rows(self, rows: list[Settled]) -> bool:
        """Filter and show rows; False when as many as wanted have been shown."""
        if not rows:
            return True
        if self._cut is not None:
            self._note_packets(rows, self._cut)
        if self._end_of is not None:
            rows = split_off_connection_ends(rows, self._end_of)
        if self._file_names:
            set_file_names(rows, self._file_names, count=self._tables is None)
        if self._outcome.strict and not self._outcome.lossy:
            # Every exchange is decoded for this, also one that is not shown.
            self._outcome.lossy = any(row.kind == "exchange" and row.status in LOSSY for row in rows)
        if self._ports is not None:
            # With --port the other connections are not shown; the closing line counts them.
            rows = [row for row in rows if row.kind == "exchange" or row.reason != "not_kafka"]
        if self._selection is not None:
            if self._jobs is not None and self._unmatched is None and self._left is None:
                self._jobs.write_matching(rows)
                return True
            rows = self._matching_rows(rows)
        if self._sorted is not None:
            self._sorted += rows
            return True
        shown = self._show_rows(rows)
        self._pieces.clear()
        return shown

    def _note_packets(self, rows: list[Settled], cut: MatchingPacketsWriter) -> None:
        """Note the packets of rows, before these are numbered within their files."""
        for row in rows:
            if self._selection is None or (row.kind == "exchange" and self._selection.matches(row)):
                self._pieces[id(row)] = cut.find_packets_of_row(row)
            if row.kind == "exchange" and not self._file_names:
                renumber_packets_in_file(row)

    def _matching_rows(self, rows: list[Settled]) -> list[Settled]:
        """The rows that the filter wants; until one is found, the others are examined to say why nothing matches."""
        self._renderer.learn_from(rows)
        found, expected = self._filter_rows(rows)
        self._expected += expected
        if found:
            self._unmatched = None
        elif self._unmatched is not None:
            self._unmatched.examine_rows(rows)
        return found

    def _show_rows(self, rows: list[Settled]) -> bool:
        if self._left is not None:
            rows = self._limit_rows(rows)
        if self._cut is not None:
            for row in rows:
                self._cut.keep_packets_of_row(self._pieces.pop(id(row), None))
        self._shown += len(rows) - sum(map(isinstance, rows, repeat(Skipped)))
        self._renderer.write(rows)
        self._output.end_batch()
        self._limited = self._left == 0 and self._sorted is None
        return not self._limited

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

    def _settle(self, *, finish: bool) -> None:
        """Show what is open when the inputs have ended, and what was kept to be sorted."""
        if finish:
            self._emit_rows(self._engine.finish())
        if self._sorted is not None:
            self._show_rows(sorted(self._sorted, key=ORDERS[self._sort or "time"]))
            self._sorted = []
        if self._jobs is not None:
            self._jobs.write_all_rows()
            counts = self._jobs.counts()
            self._shown += counts.chosen
            self._expected += counts.passed_over

    def _set_partial(self, read: int, size: int | None, *, endless: bool = False) -> None:
        """Note how many bytes were read of the inputs, if not all were; Ctrl-C is how an `endless` input ends."""
        if self._limited:
            self._partial = PartialRun("limit", read, size)
        elif self._outcome.interrupted and not endless:
            self._partial = PartialRun("interrupted", read, size)

    def _end(
        self, counted: Mapping[str, int], *, dropped: int | None = None, told: bool = True, read: Sequence[str] = ()
    ) -> None:
        """Close the output, then print the messages and the closing line. `read`: what was read besides packets."""
        summary = self._engine.summary
        counts = Counter(self._engine.reassembly.counts)
        counts.update(counted)
        note_dropped_keys(counts, self._keys)
        if self._key_logs is not None:
            self._outcome.problems += self._key_logs.failures
        passed_over = describe_passed_over(counts)
        if is_lossy(summary) or passed_over or dropped or (has_cut_packets(counts) and not summary.connections):
            self._outcome.lossy = True
        if dropped:
            counts["dropped"] += dropped
        faults = [*self._past_faults, *(self._fault_sentences(counts) if told and not self._records else [])]
        self._outcome.coverage = RunCoverage(
            self._partial, self._shown, summary.exchanges, filtered=self._selection is not None
        )
        if self._set_coverage is not None:
            self._set_coverage(self._outcome.coverage)
        if self._hear is not None:
            self._hear(faults)
            faults = []
        self._renderer.close()
        self._output.flush()
        self._output.hide_progress()
        if self._key_logs is not None:
            for problem in () if self._settings.quiet else self._key_logs.remarks():
                self._env.report(f"kw: {problem}")
        for problem in self._outcome.problems:
            self._env.report(f"kw: {problem}")
        if not self._settings.quiet or (self._outcome.strict and self._outcome.lossy):
            for line in faults:
                self._env.report(f"kw: {line}")
        seconds = self._env.monotonic() - self._begun
        if self._settings.quiet or not told:
            return
        unmatched = self._unmatched.hint_line() if self._unmatched is not None else None
        if unmatched is not None:
            self._env.report(f"kw: {unmatched}")
        renderer = self._renderer
        shown = ShownCounts(self._shown, renderer.errors, renderer.expected + self._expected, renderer.undecoded)
        if self._limited:
            said = [limit_line(shown, seconds)]
        else:
            said = closing_lines(
                summary,
                shown,
                packets=counts["packets"],
                read=read,
                seconds=seconds,
                passed_over=passed_over,
                zone=find_zone(self._settings.zone),
            )
        self._env.report(
            self._longest_fitting_line(said, "" if dropped is None else f" · {dropped:,} dropped by the kernel")
        )

    def _fault_sentences(self, counts: Mapping[str, int]) -> list[str]:
        """What is wrong with the captures themselves, in sentences."""
        whole = self._whole and not self._outcome.problems and not self._limited
        has_keys = bool(self._keys)
        counted = make_capture_counts(self._engine.summary, counts, self._ports, has_keys=has_keys)
        return fault_lines(counted, whole=whole)

    def _longest_fitting_line(self, lines: list[str], more: str) -> str:
        """The longest line that the terminal has room for."""
        width = self._env.columns if self._env.stderr_terminal else None
        fitting = (line for line in lines if width is None or len(line) + len(more) <= width)
        return next(fitting, lines[-1]) + more
