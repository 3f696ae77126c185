"""Inputs, settings and filters in; rows, or an answer on them, on standard output and a closing line out.

One loop for files, pipes, growing files and live captures: source → segments → engine → exchanges → sink. How it ends
is the subject of how_runs_end.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.connection_end_rows import EndRowsByTime, is_row_of_ports
from decoders.tls.key_log import KeyLog
from kwcli.output.renderers import WantedPaths
from kwcli.output.short_texts import count_of, find_zone
from kwcli.reading.capture_sources import add_byte_offset, escape_non_utf8
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.how_runs_end import Event, RunEnds, RunPhase
from kwcli.reading.list_input_files import (
    FoundPath,
    choose_key_logs,
    is_pipe,
    is_read_once,
    is_table_folder,
    list_paths,
)
from kwcli.reading.read_captures_by_time import Captures
from kwcli.reading.run_coverage import RunCoverage
from kwcli.reading.sinks.closing_lines import (
    closing_lines,
    describe_passed_over,
    format_closing_line_at_limit,
    format_exchange_count,
    has_cut_packets,
    is_lossy,
    list_capture_fault_lines,
    make_capture_counts,
    note_dropped_keys,
)
from kwcli.reading.sinks.filter_sort_and_limit_rows import (
    FilteredRowSink,
    ReadingView,
    find_paths_read_by_order,
    make_format_view,
    with_metrics_export,
)
from kwcli.reading.tls_key_log_files import KeyLogFiles, add_secrets_of_captures
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from decoders.errors import DecodeError
    from decoders.exchanges.topic_and_node_names import Topics
    from decoders.filters import Filter
    from kwcli.capture_options import CaptureOptions
    from kwcli.options import FilterOptions
    from kwcli.output.output_settings import Settings
    from kwcli.reading.live_capture import PieceWriter
    from kwcli.reading.packet_sources import PacketSource
    from kwcli.reading.schemas_of_run import RunSchemas
    from kwcli.reading.sinks.filter_sort_and_limit_rows import PacketTap
    from kwcli.run_environment import Environment

__all__ = ["ReadingOutcome", "ReadingRun"]


class ReadingOutcome:
    """How a run ended: its events, the messages about its inputs, what it covers of them."""

    def __init__(self) -> None:
        self.ends = RunEnds()
        self.problems: list[str] = []
        self.coverage = RunCoverage()

    def exit_code(self) -> Exit:
        """The exit code of the run. A live capture mostly ends by being interrupted."""
        return self.ends.exit_code()


class ReadingRun:
    """One run: reads what `capture` names and shows the rows that `filters` let through. Raises Failure.

    `tap` sees the segments and rows besides (`kw sniff FILES -w`).
    """

    def __init__(
        self,
        env: Environment,
        settings: Settings,
        capture: CaptureOptions,
        filters: FilterOptions,
        *,
        view: ReadingView | None = None,
        sort: str | None = None,
        strict: bool = False,
        tap: PacketTap | None = None,
    ) -> None:
        self._env, self._settings, self._capture, self._tap = env, settings, capture, tap
        selection = filters.build_filter(capture.time_filter_text(env, settings.zone))
        view = with_metrics_export(env, settings, capture, view) or make_format_view(settings)
        self._selection = selection
        self._ports = ports = frozenset(capture.ports) or None
        key_logs = choose_key_logs(capture.keylogs, env.variables)
        self._key_logs = KeyLogFiles(key_logs, follow=capture.is_live) if key_logs else None
        self._keys = KeyLog() if self._key_logs is None else self._key_logs.keys
        wanted = WantedPaths(
            view.needs, *([] if selection is None else [selection.needs]), *find_paths_read_by_order(sort)
        )
        self._sink = FilteredRowSink(
            env, settings, view, selection, ports=ports, limit=filters.limit, sort=sort, tap=tap
        )
        self._sink.looks_for_loss = self._strict = strict
        if tap is not None:
            self._engine = tap.make_engine(ports, wanted, self._keys, selection)
        else:
            ends = self._sink.end_of_connection is not None
            self._engine = Engine(ports, wanted, connections=ends, keys=self._keys)
        if self._sink.has_connection_ends:
            self._engine.enable_rows_of_ended_connections()
        self._engine.enable_leaving_out_of_copies()
        if capture.guess_requests:
            self._engine.enable_guessing_of_requests()
        remembers = view.remembers or (selection is not None and selection.asks_history)
        if remembers or view.libraries:
            self._engine.pairer.enable_noting_of_earlier_facts(only_libraries=not remembers)
        if capture.names_from is not None:
            from kwcli.reading.load_topic_names import load_topic_names

            topics = self._engine.pairer.context.topics
            for identity, (name, _) in load_topic_names(capture.names_from, env, self._keys).names.items():
                topics.add(identity, name)
        self._schemas = self._make_run_schemas(selection)
        if self._schemas is not None:
            self._sink.learn_from_rows = self._schemas.learn_from_rows
            self._sink.missing_schemas = self._schemas.missing
        if capture.hosts is not None:
            from kwcli.reading.sinks.host_names import read_host_names

            self._sink.set_host_names(read_host_names(capture.hosts, env))
        self._hear = view.hear
        self.outcome = ReadingOutcome()
        self._told: list[str] = []  # problems of inputs that were reported before reading began
        self._begun = env.monotonic()

    def _make_run_schemas(self, selection: Filter | None) -> RunSchemas | None:
        """The schemas of the run, where keys and values are decoded to be shown or to be filtered."""
        reader = self._settings.values
        if selection is not None:
            reader = selection.set_value_reader(reader)
        if reader is None:
            return None
        from kwcli.reading.schemas_of_run import RunSchemas

        found = RunSchemas(reader, self._ports, self._keys)
        found.learn_from_engine(self._engine)
        return found

    @property
    def topics(self) -> Topics:
        """The names of topics known so far."""
        return self._engine.pairer.context.topics

    def run(self) -> ReadingOutcome:
        """Read what the options name: places merged as they come, an interface, a file that grows, or files."""
        capture = self._capture
        if capture.has_merged_places and not any(map(is_table_folder, capture.files)):
            return self.read_source(self._open_merged_live_inputs())
        if capture.interfaces:
            return self.read_source(self._open_interface(capture.interfaces[0]))
        if capture.follow and not is_read_once(capture.files[0]):
            return self.read_source(self._open_growing_file(capture.files[0]))
        return self.read_captures(self.open_captures(capture.files, self._env))

    # -- sources -------------------------------------------------------------------------------------------------------

    def open_captures(self, names: Iterable[str], env: Environment) -> Captures:
        """Open files (`-`: the standard input of `env`), to be merged by packet time."""
        captures = Captures(
            names,
            env,
            numbered=self._sink.needs_file_numbers,
            on_secrets=self._keys.add_lines,
            cut_receiver=self._engine,
        )
        self._keys.look_further = partial(add_secrets_of_captures, self._keys, captures.names)
        return captures

    def read_captures(self, captures: Captures) -> ReadingOutcome:
        """Read opened files. Inputs that are missing are reported at once, what else is wrong after the good ones."""
        if self._schemas is not None and not any(map(is_read_once, self._capture.files)):
            self._schemas.allow_second_reading(partial(self.open_captures, self._capture.files, self._env))
        self._told = [*captures.problems]
        for problem in self._told:
            self._env.report(f"kw: {problem}")
        # Workers can read files again for a schema that came later; what a pipe taught is known here alone.
        if self._tap is None and (self._schemas is None or self._schemas.can_read_again):
            self._sink.start_render_jobs(self._capture, captures.size, self._engine.pairer.context)
        if not self._settings.quiet:
            self._sink.output.start_progress(captures.size)
        return self.read_source(captures)

    def _open_growing_file(self, word: str) -> PacketSource:
        from kwcli.reading.follow_captures import CaptureFollower

        numbered = self._sink.needs_file_numbers
        return CaptureFollower(word, self._env.report, numbered=numbered, on_secrets=self._keys.add_lines)

    def _open_interface(self, interface: str) -> PacketSource:
        from kwcli.reading.live_capture import KernelFilter, LiveCapture

        capture = LiveCapture(interface, KernelFilter(self._capture.ports, self._capture.bpf), self._env)
        try:  # an older file stays where there is nothing to capture
            capture.kept = self._open_packet_file()
        except Failure:
            capture.close()
            raise
        return capture

    def _open_merged_live_inputs(self) -> PacketSource:
        from kwcli.reading.live.capture_commands import parse_and_name_capture_commands
        from kwcli.reading.live.merged_live_inputs import LivePlaces, MergeOptions
        from kwcli.reading.live_capture import KernelFilter, LiveCapture

        asked, env = self._capture, self._env
        commands = parse_and_name_capture_commands(asked.commands, asked.interfaces)
        words = [
            found.path
            for word in asked.files
            for found in ([FoundPath(word, False)] if is_pipe(word) else list_paths(word))
        ]
        interfaces: list[LiveCapture] = []
        try:
            for interface in asked.interfaces:
                interfaces.append(LiveCapture(interface, KernelFilter(asked.ports, asked.bpf), env))
            places = LivePlaces(
                words,
                commands,
                interfaces,
                env,
                options=MergeOptions(
                    MergeOptions().delay_s if asked.merge_delay is None else asked.merge_delay,
                    asked.restart,
                    asked.align_clocks,
                ),
                on_secrets=self._keys.add_lines,
                cut_receiver=self._engine,
            )
            places.kept = self._open_packet_file()
        except Failure:
            for capture in interfaces:
                capture.close()
            raise
        return places

    def _open_packet_file(self) -> PieceWriter | None:
        """The file that packets of a live capture are kept in, where one is named."""
        asked = self._capture
        if not asked.write:
            return None
        from kwcli.reading.sinks.write_live_capture import open_packet_file

        return open_packet_file(asked.write, asked.rotation, self._env)

    # -- the phases of a run -------------------------------------------------------------------------------------------

    def read_source(self, source: PacketSource) -> ReadingOutcome:
        """Read a source and show its rows: the phases of a run up to the copying (how_runs_end.py)."""
        ends, sink = self.outcome.ends, self._sink
        sink.set_file_names(source.names, has_files=source.has_files)
        if self._schemas is not None and sink.needs_file_numbers and source.has_files:
            self._schemas.set_file_names(source.names)
        sink.set_point_names(source.points)
        try:
            with ends.note_errors_that_end_run():
                self._read_until_end(source)
                last = self._engine.finish() if ends.reached_end and not source.records else []
                sink.filter_and_show_rows(source.finish_rows(last))
                sink.show_waiting_rows()
                if sink.reached_limit and not ends.reached_limit:
                    ends.note_event(Event.LIMIT_REACHED)
                ends.note_event(Event.DONE)
                self._close_output(source)
                ends.note_event(Event.DONE)
                if self._tap is None:
                    ends.note_event(Event.DONE)
        finally:
            sink.kill_workers()
        return self.outcome

    def _read_until_end(self, source: PacketSource) -> None:
        """Read until the source, a limit or a signal ends that; however it ends, the source is closed."""
        ends, sink, engine, tap = self.outcome.ends, self._sink, self._engine, self._tap
        try:
            if source.greeting and not self._settings.quiet:
                self._env.report(f"kw: {source.greeting}")
            for segments, now_ns in source.read_batches():
                self._read_appended_keys()
                if tap is not None:
                    tap.log_segments(segments)
                if not sink.filter_and_show_rows(source.release_rows(engine.feed(segments, now_ns))):
                    ends.note_event(Event.LIMIT_REACHED)
                    return
                sink.output.show_progress(source.taken, engine.summary.exchanges)
                sink.poll_workers()
            if source.records and not (
                sink.filter_and_show_rows(source.finish_rows(engine.finish())) and self._show_recorded_rows(source)
            ):
                ends.note_event(Event.LIMIT_REACHED)
                return
            if source.problems:
                ends.note_event(Event.INPUT_BROKEN)
            ends.note_event(Event.INPUT_ENDED)
        except KeyboardInterrupt:
            if ends.phase is not RunPhase.READING:
                raise
            ends.note_event(Event.INTERRUPTED)
        except InputProblem as problem:
            self.outcome.problems.append(problem.text)
            ends.note_event(Event.INPUT_LOST)
        finally:
            source.close()

    def _read_appended_keys(self) -> None:
        """Read what was appended to the key logs, before packets are decrypted with it."""
        if self._key_logs is not None:
            self._key_logs.read_appended_keys(self._env.now_ns())

    def _show_recorded_rows(self, source: PacketSource) -> bool:
        """Show the exchanges of records that kw wrote; False when as many as wanted have been shown."""
        from decoders.filters.read_partitions_and_records import has_counts_without_records

        sink, ports = self._sink, self._ports
        if self._settings.format in ("hex", "raw"):
            names, form = ", ".join(source.records), self._settings.format
            raise Failure(f"{names}: -o {form} shows bytes, which NDJSON of kw lacks: give the capture", Exit.USAGE)
        lacking = 0
        ends = (ended for ended in source.read_connection_ends() if ports is None or is_row_of_ports(ended, ports))
        if sink.end_of_connection is not None and sink.tables is None:
            for ended in ends:
                sink.end_of_connection(ended)
        rows_of_ends = EndRowsByTime(ends if sink.has_connection_ends else iter(()))
        for name, rows in source.read_recorded_rows():
            for row in rows:
                if sink.needs_file_numbers and row.kind == "exchange":
                    row.extra = {"file": escape_non_utf8(name), **(row.extra or {})}
            if self._selection is not None and self._selection.reads_records:
                lacking += sum(map(has_counts_without_records, rows))
            if ports is not None:
                rows = [row for row in rows if _parse_port_of_address(row.broker) in ports]
            for row in rows:
                self._engine.summary.count_settled(row)
            if not sink.filter_and_show_rows(rows_of_ends.insert_end_rows_by_time(rows)):
                return False
            sink.output.show_progress(source.taken, self._engine.summary.exchanges)
        if not sink.filter_and_show_rows(rows_of_ends.take_remaining_rows()):
            return False
        if source.request_logs and not self._settings.quiet:
            self._env.report(
                f"kw: {', '.join(source.request_logs)}: a broker's request log has no sizes, packets, records and"
                " logins; its times are the broker's, taken as UTC (kw help request-log)"
            )
        if lacking:
            what = f"{count_of(lacking, 'exchange')} with records, but the file lacks their keys, values and headers"
            self._env.report(f"kw: {what}: filters cannot match them (write the file with --records)")
        return True

    # -- what is said at the end ---------------------------------------------------------------------------------------

    def _close_output(self, source: PacketSource) -> None:
        """Close the output, then print the messages and the closing line."""
        outcome, sink, summary, quiet = self.outcome, self._sink, self._engine.summary, self._settings.quiet
        ends = outcome.ends
        outcome.problems += source.problems
        for name, problem in source.cut_captures():
            outcome.problems.append(self._format_cut_short(name, problem, alone=source.input_count == 1))
        if not quiet:
            for line in source.closing_remarks():
                self._env.report(f"kw: {line}")
        counts = Counter(self._engine.reassembly.counts)
        counts.update(source.packet_counts())
        note_dropped_keys(counts, self._keys)
        told = not self._has_only_problems(source.input_count)
        if self._key_logs is not None:
            outcome.problems += self._key_logs.failures
        if outcome.problems or source.is_broken:
            ends.note_event(Event.INPUT_BROKEN)
        if source.packets_unwritten:
            ends.note_event(Event.PACKETS_UNWRITTEN)
        passed_over = describe_passed_over(counts)
        no_kafka_in_cut = has_cut_packets(counts) and not summary.connections
        is_lossy_run = is_lossy(summary) or bool(passed_over) or bool(source.dropped) or no_kafka_in_cut
        tells_loss = self._strict and (is_lossy_run or sink.found_loss)
        if tells_loss:
            ends.note_event(Event.TRAFFIC_LOST)
        if source.dropped:
            counts["dropped"] += source.dropped
        faults = [*source.faults, *(self._fault_sentences(source, counts) if told else [])]
        shown = sink.shown_counts()
        make_partial_run = ends.make_partial_run(source.taken, source.size, is_endless=source.is_endless)
        outcome.coverage = RunCoverage(
            make_partial_run, shown.exchanges, summary.exchanges, filtered=self._selection is not None
        )
        sink.set_coverage(outcome.coverage)
        if self._hear is not None:
            self._hear(faults)
            faults = []
        sink.close()
        remarks = self._key_logs.remarks() if self._key_logs is not None and not quiet else []
        problems = [problem for problem in outcome.problems if problem not in self._told]
        for line in (*remarks, *problems, *(faults if not quiet or tells_loss else [])):
            self._env.report(f"kw: {line}")
        if quiet or not told:
            return
        for line in [] if self._schemas is None else self._schemas.closing_lines():
            self._env.report(f"kw: {line}")
        nameless = self._engine.pairer.context.topics.count_nameless()
        if nameless:
            ids = f"{count_of(nameless, 'topic')} {'has' if nameless == 1 else 'have'} no name in what was read"
            self._env.report(f"kw: {ids}: give --names-from a capture, NDJSON of kw call Metadata, or HOST:PORT")
        if (unmatched := sink.no_match_line()) is not None:
            self._env.report(f"kw: {unmatched}")
        self._report_closing_line(source, counts["packets"], passed_over)

    def _report_closing_line(self, source: PacketSource, packets: int, passed_over: list[str]) -> None:
        seconds = self._env.monotonic() - self._begun
        shown = self._sink.shown_counts()
        if self.outcome.ends.reached_limit:
            said = [format_closing_line_at_limit(shown, seconds)]
        else:
            said = closing_lines(
                self._engine.summary,
                shown,
                packets=packets,
                read=[count_of(count, noun) for count, noun in source.counts_besides_packets() if count],
                seconds=seconds,
                passed_over=passed_over,
                zone=find_zone(self._settings.zone),
            )
        more = "" if source.dropped is None else f" · {source.dropped:,} dropped by the kernel"
        self._env.report(self._choose_longest_fitting_line(said, more))

    def _has_only_problems(self, inputs: int | None) -> bool:
        """Whether the problems of the inputs say all that there is to say."""
        summary = self._engine.summary
        if inputs is None:
            return False
        return not inputs or (len(self.outcome.problems) >= inputs and not summary.exchanges and not summary.skipped)

    def _format_cut_short(self, name: str, problem: DecodeError, *, alone: bool) -> str:
        before = "everything before it is shown"
        if alone:
            total, count = self._engine.summary.exchanges, self._sink.shown_counts().exchanges
            verb = "is" if count == total == 1 else "are"
            shown = format_exchange_count(count, total)
            before = f"{shown} before it {verb} shown" if total else "no exchange before it"
        return f"{name}: {add_byte_offset(problem.text, problem.offset)}; {before}"

    def _fault_sentences(self, source: PacketSource, counts: Mapping[str, int]) -> list[str]:
        """What is wrong with the captures themselves, in sentences; records say nothing of packets."""
        if source.records:
            return []
        ends = self.outcome.ends
        whole = source.is_read_whole and (ends.reached_end or source.is_endless)
        seen_twice = []
        if source.points and counts["twice"]:  # that is what several places are for
            verb = "was" if counts["twice"] == 1 else "were"
            twice = f"{count_of(counts['twice'], 'packet')} with payload {verb} seen at several places"
            seen_twice = [f"{twice}; each counts once"]
            counts = {**counts, "twice": 0}
        counted = make_capture_counts(self._engine.summary, counts, self._ports, has_keys=bool(self._keys))
        return seen_twice + list_capture_fault_lines(
            counted, whole=whole and not self.outcome.problems and not ends.reached_limit
        )

    def _choose_longest_fitting_line(self, lines: list[str], more: str) -> str:
        """The longest line that the terminal has room for."""
        width = self._env.columns if self._env.stderr_terminal else None
        fitting = (line for line in lines if width is None or len(line) + len(more) <= width)
        return next(fitting, lines[-1]) + more


def _parse_port_of_address(address: str) -> int:
    return int(address.rpartition(":")[2] or 0)
