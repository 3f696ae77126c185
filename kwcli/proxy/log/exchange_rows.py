"""Chunks of the connections of a proxy or mock in, rows out: the engine, filters and formats of `kw sniff`.

A client's connection is one whose first byte was seen and whose other end, the listener, is known to be a broker.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import orjson

from decoders.exchanges.body_reader import LOGGING_IN
from decoders.exchanges.chunks_to_exchanges import Pairer
from decoders.exchanges.exchange import Exchange, Skipped
from decoders.filters import parse
from decoders.messages.exchange_json import SCHEMA
from decoders.schema.body_json_form import row_json
from decoders.wire.format_and_escape_text import format_rfc3339
from kwcli.output.renderers import (
    WantedPaths,
    find_paths_read_by_format,
    open_renderer,
    shows_facts_of_earlier_exchanges,
)
from kwcli.output.short_texts import count_of, find_zone
from kwcli.reading.sinks.closing_lines import ShownCounts, closing_lines
from kwcli.reading.sinks.row_output import RowOutput
from kwcli.run_environment import describe_write_error

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Login, Settled
    from decoders.tcp.connection_and_halves import Connection
    from decoders.tcp.stream_chunks import Chunk
    from kwcli.output.output_settings import Settings
    from kwcli.proxy.log.log_protocol import LogPlan
    from kwcli.proxy.log.log_queue import Reporter
    from kwcli.reading.schemas_of_run import RunSchemas
    from kwcli.run_environment import Environment

__all__ = ["LogRows"]

# For how many correlation ids times (of a connection) and decisions are kept, in case no exchange takes them.
PENDING_MAX: Final = 10_000
# Keys of the record that say who decided about an exchange → words for the count of such exchanges.
_DECIDED: Final = {"fault": "with a fault on purpose", "refused": "refused, as other brokers would"}


class LogRows:
    """Decodes, filters and prints exchanges; `listening` turns False when nobody reads the rows any more."""

    def __init__(self, env: Environment, plan: LogPlan, reporter: Reporter | None = None) -> None:
        self._env = env
        self._reporter = reporter
        self._via = plan.via
        self._selection = parse(plan.filter)
        self._settings, self._schemas = self._make_run_schemas(plan)
        self.pairer = Pairer(needs=WantedPaths(find_paths_read_by_format(plan.settings), self._selection.needs))
        if self._selection.asks_history or shows_facts_of_earlier_exchanges(plan.settings):
            self.pairer.enable_noting_of_earlier_facts()
        self._output = RowOutput(env, prompt=True)
        self._renderer = open_renderer(self._settings, self._output.write)
        # By connection and correlation id; a deque where several requests with one id wait for their exchanges.
        self._upstream: dict[int, dict[int, float | deque[float]]] = {}
        self._decisions: dict[tuple[int, int], list[dict[str, Any]]] = {}  # by connection and correlation id
        self._decided: Counter[str] = Counter()  # exchanges with a `fault`, and those that were `refused`
        self._shown = 0
        self._begun = env.monotonic()
        self.listening = plan.rows
        self.events = plan.events and plan.rows
        self._logins: dict[int, Login] = {}  # connection → the login in its last row of kind `login`
        self.failed = False  # rows that somebody wanted could not be written

    def _make_run_schemas(self, plan: LogPlan) -> tuple[Settings, RunSchemas | None]:
        """The settings, and the schemas, where keys and values are decoded to be shown or to be filtered."""
        from decoders.messages.decode_record_values import RecordValueReader

        reader = self._selection.set_value_reader(RecordValueReader() if plan.decodes else None)
        if reader is None:
            return plan.settings, None
        from kwcli.reading.schemas_of_run import RunSchemas

        if plan.schemas:
            from kwcli.reading.schema_files import add_schema_files

            add_schema_files(plan.schemas, reader.store, self._env)
        return plan.settings._replace(values=reader if plan.decodes else None), RunSchemas(reader)

    def add_connection(self, connection: Connection) -> None:
        """Register a connection, before its chunks come."""
        self.pairer.context.brokers.setdefault(connection.first.target, 0)
        self._upstream[connection.number] = {}

    def forget_connection(self, number: int) -> None:
        """Forget a connection, after its last chunk is settled."""
        self._upstream.pop(number, None)
        self._logins.pop(number, None)

    def keep_upstream_latency(self, number: int, correlation_id: int, latency_ms: float) -> None:
        """Remember how long the broker took for an answer, before the answer's chunks come."""
        times = self._upstream[number]
        if len(times) >= PENDING_MAX:
            del times[next(iter(times))]
        before = times.setdefault(correlation_id, latency_ms)
        if before is not latency_ms:
            if isinstance(before, float):
                before = times[correlation_id] = deque([before])
            before.append(latency_ms)

    def keep_decision(self, number: int, said: dict[str, Any]) -> None:
        """Remember `fault` or `refused` of the exchange `id`, before the chunks that settle it come."""
        place = (number, said.pop("id"))
        if place in self._decisions or len(self._decisions) < PENDING_MAX:
            self._decisions.setdefault(place, []).append(said)

    def print_connection_event(
        self, ends: tuple[str, str, int], event: str, time_ns: int, details: Mapping[str, Any]
    ) -> None:
        """Print a row of kind `connection`, where rows of events are wanted: `event` is opened, tls, login or closed.

        `ends` are the client's address, the listener's, and the number of the connection.
        """
        said = dict(zip(("client", "broker", "connection"), ends, strict=True))
        self._write_event(
            {"kind": "connection", "schema": SCHEMA, "time": format_rfc3339(time_ns), **said, "what": event, **details}
        )

    def print_event(self, text: str, time_ns: int, number: int | None) -> None:
        """Print a row of kind `event`: a message for people."""
        said = {"kind": "event", "schema": SCHEMA, "time": format_rfc3339(time_ns), "connection": number, "text": text}
        self._write_event(said)

    def print_listeners(self, said: dict[str, Any], time_ns: int) -> None:
        """Print a row of kind `listeners`: `bootstrap`, and where clients find which node."""
        self._write_event({"kind": "listeners", "schema": SCHEMA, "time": format_rfc3339(time_ns), **said})

    def _write_event(self, row: dict[str, Any]) -> None:
        if self.events:
            self._write_rows_guarded(self._output.write, orjson.dumps(row_json(row), option=orjson.OPT_APPEND_NEWLINE))
            self._write_rows_guarded(self._output.flush_if_prompt)

    def _print_login(self, exchange: Exchange) -> None:
        """Print a row about a login, with the first request after it."""
        login, number = exchange.login, exchange.connection_info.number
        if login is None or exchange.api_key in LOGGING_IN or self._logins.get(number) == login:
            return
        self._logins[number] = login
        self.print_connection_event((exchange.client, exchange.broker, number), "login", exchange.time_ns, login)

    def add_chunks(self, chunks: list[Chunk]) -> None:
        """Take chunks, and print the rows that are settled by them."""
        self._print_rows(self.pairer.feed(chunks))

    def finish(self, more: list[str]) -> None:
        """Settle and print the open exchanges, then say the summary; `more` goes behind its counts."""
        self._print_rows(self.pairer.finish())
        if self.listening:
            self._write_rows_guarded(self._renderer.close)
            self._write_rows_guarded(self._output.flush)
        if not self._settings.quiet:
            renderer = self._renderer
            lines = closing_lines(
                self.pairer.summary,
                ShownCounts(self._shown, renderer.errors, renderer.expected, renderer.undecoded, renderer.remarks),
                packets=0,
                seconds=self._env.monotonic() - self._begun,
                passed_over=more,
                zone=find_zone(self._settings.zone),
            )
            self._env.report(lines[1] if len(lines) > 1 else lines[0])
            for line in [] if self._schemas is None else self._schemas.closing_lines():
                self._env.report(f"kw: {line}")
            for name, text in _DECIDED.items():
                if self._decided[name]:
                    count = count_of(self._decided[name], "exchange")
                    self._env.report(f"kw: {count} {text} (-f {name} shows them)")

    def _print_rows(self, rows: list[Settled]) -> None:
        for row in rows:
            if isinstance(row, Exchange):
                self._add_latency_and_decisions(row)
                if self.events:
                    self._print_login(row)
                if self._reporter is not None:
                    self._reporter.add_exchange(row)
        if not rows or not self.listening:
            return
        if self._schemas is not None:
            self._schemas.learn_from_rows(rows)
        selection = self._selection
        if not selection.passes_everything:
            self._renderer.learn_from_unshown_rows(rows)
            rows = [row for row in rows if row.kind == "exchange" and selection.matches(row)]
        self._shown += len(rows) - sum(map(isinstance, rows, repeat(Skipped)))
        self._write_rows_guarded(self._renderer.write, rows)
        self._write_rows_guarded(self._output.flush_if_prompt)

    def _add_latency_and_decisions(self, exchange: Exchange) -> None:
        """Add to an exchange what is not in its bytes: the broker's latency, and decisions about it."""
        extra = exchange.extra
        if extra is None:
            extra = exchange.extra = {}
        extra["via"] = self._via
        times = self._upstream.get(exchange.connection_info.number)
        correlation_id = exchange.correlation_id
        if times and correlation_id is not None and exchange.response_ns is not None:
            latency_ms = times.pop(correlation_id, None)
            if isinstance(latency_ms, deque):
                waiting, latency_ms = latency_ms, latency_ms.popleft()
                if waiting:
                    times[correlation_id] = waiting
            if latency_ms is not None:
                extra["upstream_latency_ms"] = latency_ms
        if self._decisions and correlation_id is not None:
            extra |= _merge_decisions(self._decisions.pop((exchange.connection_info.number, correlation_id), []))
            self._decided.update(extra.keys() & _DECIDED.keys())

    def _write_rows_guarded(self, write: Any, *arguments: Any) -> None:
        """Write rows. A reader that has gone ends the rows only; any other error (a full disk) is reported, too."""
        if not self.listening:
            return
        try:
            write(*arguments)
        except BrokenPipeError:
            self.listening = False
        except OSError as error:
            self.listening, self.failed = False, True
            self._env.report(f"kw: {describe_write_error(error, 'standard output') or error}; no more rows are written")


def _merge_decisions(decisions: list[dict[str, Any]]) -> dict[str, Any]:
    """The keys of a record for all decisions about its exchange; further ones of a kind are under `more`."""
    made: dict[str, Any] = {}
    for decision in decisions:
        for name, said in decision.items():
            if name in made:
                made[name].setdefault("more", []).append(said)
            else:
                made[name] = said
    return made
