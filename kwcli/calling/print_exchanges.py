"""Exchanges in, what `kw call` prints out: whole exchanges, one side, or the values at a path, in every format.

Text is for people: a line for each side with the body below it, and hints about errors on standard error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from decoders.messages.build_body_json import Options, make_concealer_of_exchange
from decoders.messages.exchange_json import to_json_dict
from decoders.protocol_facts.api_keys import API_VERSIONS, CREATE_TOPICS, PRODUCE
from decoders.schema.api_declaration import FOREVER, NONE, Versions
from decoders.wire.deferred_json import Deferred, DeferredText
from decoders.wire.format_and_escape_text import escape_text, format_latency
from kwcli.calling.words.resolve_body_paths import SelectPath
from kwcli.output import FACT_FORMATS, RECORD_FORMATS
from kwcli.output.body_printer import BodyPrinter, decode_failure_lines, encode_lines, find_message_plan, format_scalar
from kwcli.output.format_decoded_values import make_text_options
from kwcli.output.renderers import WantedPaths, find_paths_read_by_format, open_renderer
from kwcli.output.short_texts import count_of, cut, palette
from kwcli.output.write_values_in_any_format import JsonWriter, open_value_writer

if TYPE_CHECKING:
    from decoders.exchanges.body_reader import Needs
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side
    from kwcli.calling.offered_version_table import VersionTable
    from kwcli.calling.records.print_records import RecordValueWriter, Remark
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Renderer, Write
    from kwcli.output.short_texts import Palette
    from kwcli.output.write_values_in_any_format import ValueWriter
    from kwcli.run_environment import Environment


class CallOutput:
    """Standard output of one run. `sent` False: the exchanges are of requests that were not sent (--dry-run)."""

    def __init__(
        self,
        env: Environment,
        settings: Settings,
        *,
        only: Side | None = None,
        select: SelectPath | None = None,
        sent: bool = True,
        against: str | None = None,
        brief: bool = False,
        values: RecordValueWriter | None = None,
    ) -> None:
        """`brief`: in text one line for each exchange, as in `kw sniff`.

        `values`: prints responses' records, alone or below the line of their response.
        """
        self._env = env
        self._settings = settings
        self._only = only
        self._select = select
        self._sent = sent
        self._against = against
        self._brief = brief
        self._matrix: VersionTable | None = None
        self._begun = False
        self._writer: ValueWriter | None = None
        self._records = values if values is not None and values.alone else None
        self._line_writer = values if self._records is None else None
        plain = values is not None or settings.values is None or settings.format in RECORD_FORMATS
        options = settings.make_record_options() if plain else make_text_options(settings)
        self._options = options._replace(records=settings.records or values is not None, names=settings.names)
        self._renderer: Renderer | None = None
        self._explained: set[int] = set()

    @property
    def brief_body_needs(self) -> Needs | None:
        """The parts of bodies that `brief` output reads; None without `brief`."""
        return WantedPaths(find_paths_read_by_format(self._settings)) if self._brief else None

    def show_exchange(self, exchange: Exchange, node: str, *more: str) -> None:
        """Print one exchange; `node` and `more` stand in the line of its request, in text."""
        settings = self._settings
        if self._records is not None:
            self._print_fetched_records(exchange, self._records)
        elif self._select is not None or (self._only is not None and settings.format in RECORD_FORMATS):
            self._print_selected_values(exchange)
        elif settings.format in RECORD_FORMATS:
            self._get_or_open_record_writer().add(self._build_exchange_json(exchange))
        elif settings.format in FACT_FORMATS and not self._brief:
            way = " · ".join(part for part in (node, *more) if part)
            record = self._build_exchange_json(exchange)
            writer = self._line_writer if isinstance(record["response"], dict) else None
            shown = {**record, "response": None} if writer is not None else record
            self._print_lines(format_exchange_lines(exchange, shown, way, settings, self._only, self._explained))
            if writer is not None:
                self._print_remarks_on_stderr(writer.write_records(record))
        elif settings.format == "table" and exchange.api_key == API_VERSIONS and self._sent:
            self._add_to_version_table(exchange, node)
        else:
            self._get_or_open_renderer().write([exchange])
        self._env.stdout.flush()

    def take_offsets_to_fetch(self) -> dict[int, int]:
        """Partition → offset to go on from, for partitions whose wanted records have not all come yet."""
        return {} if self._records is None else self._records.take_further_offsets()

    def print_request_bytes(self, exchange: Exchange) -> None:
        """Print the bytes of a request below it, in text."""
        self._print_lines(
            format_hex_dump_lines(exchange, "request", self._settings, palette(self._settings.color)), apart=False
        )

    def finish_output(self) -> None:
        """Write the end of the output: of a JSON array, of a table, or of the records."""
        if (writer := self._records or self._line_writer) is not None:
            self._print_remarks_on_stderr(writer.finish_values())
        elif self._renderer is not None:
            self._renderer.close()
        elif self._settings.format == "json":
            self._get_or_open_record_writer().close()
        self._env.stdout.flush()

    def _build_exchange_json(self, exchange: Exchange) -> dict[str, Any]:
        record = to_json_dict(exchange, self._options)
        if not self._sent:
            record["client"] = record["broker"] = None
            record.pop("closed", None)
        return record

    def _print_fetched_records(self, exchange: Exchange, records: RecordValueWriter) -> None:
        """Print the records of a response, and on standard error the messages about it."""
        unread = exchange.failures.get("response")
        if unread is not None:
            name = f"{exchange.api} {exchange.api_version}"
            self._env.report(f"kw: {name}: its answer cannot be read to its end: {unread.text}")
        self._print_remarks_on_stderr(records.write_records(self._build_exchange_json(exchange)))

    def _print_remarks_on_stderr(self, lines: Iterable[Remark]) -> None:
        for line in lines:
            if line.problem or not self._settings.quiet:
                self._env.report(f"kw: {line.text}")

    def _print_selected_values(self, exchange: Exchange) -> None:
        """Print one side, or the values at a path of it; the side is the response where none is named."""
        side = self._only or "response"
        body = self._build_exchange_json(exchange)[side]
        values: Iterable[Any] = [body] if self._select is None else self._select.find_values(body)
        version = exchange.api_version
        if self._select and body is not None and version is not None and version not in self._select.versions:
            where = self._select.versions
            said = f"is in versions {where}" if where else "is in no single version"
            self._env.report(f"kw: {exchange.api} {version} has no {self._select.text} (it {said}; see --api-version)")
        for value in values:
            if self._settings.format in RECORD_FORMATS:
                self._get_or_open_record_writer().add(value)
            elif isinstance(value, DeferredText) and value.is_text():
                for text in value.texts():
                    self._write((escape_text(text) if self._env.stdout_terminal else text).encode())
                self._write(b"\n")
            elif isinstance(value, dict | list | Deferred):
                JsonWriter(self._write, lines=True).add(value)
            else:
                text = value if isinstance(value, str) and not self._env.stdout_terminal else format_scalar(value)
                self._write(text.encode("utf-8", "backslashreplace") + b"\n")

    def _add_to_version_table(self, exchange: Exchange, node: str) -> None:
        """Add a column to the table of versions; an answer that cannot be read to its end gives none."""
        unread = exchange.failures.get("response")
        if unread is None:
            self._get_or_make_version_table().add_broker_answer(
                node, self._build_exchange_json(exchange)["response"] or {}
            )
        else:
            name = f"{exchange.api} {exchange.api_version}"
            self._env.report(f"kw: {node}: its answer to {name} cannot be read: {unread.text}")

    def _get_or_make_version_table(self) -> VersionTable:
        if self._matrix is None:
            from kwcli.calling.offered_version_table import VersionTable

            self._renderer = self._matrix = VersionTable(self._settings, self._write, self._against)
        return self._matrix

    def _get_or_open_record_writer(self) -> ValueWriter:
        if self._writer is None:
            self._writer = open_value_writer(self._settings._replace(columns=()), self._write)
        return self._writer

    def _get_or_open_renderer(self) -> Renderer:
        if self._renderer is None:
            write: Write = self._write
            self._renderer = open_renderer(self._settings, write)
        return self._renderer

    def _print_lines(self, lines: Iterable[str], *, apart: bool = True) -> None:
        before = [""] if self._begun and apart else []
        self._begun = True
        for piece in encode_lines(chain(before, lines)):
            self._write(piece)

    def _write(self, data: bytes) -> None:
        write_to_stdout(self._env, data)


def write_to_stdout(env: Environment, data: bytes) -> None:
    """Write bytes to standard output."""
    left = memoryview(data)
    while left:  # an unbuffered stream (PYTHONUNBUFFERED) may take a part
        left = left[env.stdout.write(left) :]


# Lines of an exchange for people


# A request with more leaves than this is shown as a tree.
PATHS_MAX: Final = 24
# DescribeConfigs' number for a config at its default, which nobody has set.
_DEFAULT_CONFIG: Final = 5
UNANSWERED: Final = {
    "no_response_expected": "no answer is sent to this (acks=0)",
    "unanswered": "no answer",
}


def format_exchange_lines(
    exchange: Exchange, record: dict[str, Any], way: str, settings: Settings, only: Side | None, explained: set[int]
) -> Iterator[str]:
    """All lines of one exchange, or of one side of it. Without -v the request, which the user just typed, is one line.

    The meaning of an error code in `explained` is not printed again.
    """
    colors = palette(settings.color)
    body = BodyPrinter(settings.width, colors, record.get("topic_names"))
    asked = settings.verbose > 0 or (settings.records and exchange.api_key == PRODUCE)
    request_body = asked or only == "request" or _is_record_of_unsent_request(record)
    if only != "response":
        yield _format_request_line(exchange, record, way, settings, colors)
        if settings.verbose:
            yield from _format_header_lines(exchange, record, settings, colors)
        if settings.format == "hex":
            yield from format_hex_dump_lines(exchange, "request", settings, colors)
        elif request_body:
            yield from _format_request_body_lines(exchange, record, body)
        yield from (f"  {line}" for line in decode_failure_lines(record, "request", colors))
    if only != "request" and not _is_record_of_unsent_request(record):
        yield _format_response_line(exchange, record, colors)
        if settings.format == "hex":
            yield from format_hex_dump_lines(exchange, "response", settings, colors)
        elif isinstance(record["response"], dict):
            answer, folded = _fold_default_configs(exchange, record["response"], settings)
            yield from body.struct_lines(answer, find_message_plan(exchange, "response"))
            if folded:
                yield f"  {colors.dim}{count_of(folded, 'config')} at the default: -v lists them{colors.off}"
        elif record["response"] is not None:
            yield f"  {format_scalar(record['response'])}"
        yield from (f"  {line}" for line in decode_failure_lines(record, "response", colors))
    yield from body.error_meaning_lines(explained)


def _fold_default_configs(
    exchange: Exchange, response: dict[str, Any], settings: Settings
) -> tuple[dict[str, Any], int]:
    """A CreateTopics response without the configs at their default, and how many those are; all of it with -v."""
    topics = response.get("topics")
    if exchange.api_key != CREATE_TOPICS or settings.verbose or not isinstance(topics, list):
        return response, 0
    count = 0
    shown = []
    for topic in topics:
        configs = topic.get("configs")
        if isinstance(configs, list):
            told = [each for each in configs if each.get("config_source") != _DEFAULT_CONFIG]
            count += len(configs) - len(told)
            topic = {**topic, "configs": told}
            if configs and not told:
                del topic["configs"]
        shown.append(topic)
    return {**response, "topics": shown}, count


def _format_request_line(
    exchange: Exchange, record: dict[str, Any], way: str, settings: Settings, colors: Palette
) -> str:
    version = "" if exchange.api_version is None else f" {exchange.api_version}"
    parts = [f"{exchange.request_size:,} B" if exchange.request_size is not None else "", way]
    rest = escape_text(" · ".join(part for part in parts if part))
    name = f"{record['api']}{version}"
    if settings.width is not None:
        rest = cut(rest, max(settings.width - len(name) - 5, 1))
    return f"{colors.api}→ {escape_text(name)}{colors.off} · {rest}"


def _format_header_lines(
    exchange: Exchange, record: dict[str, Any], settings: Settings, colors: Palette
) -> Iterator[str]:
    """The header's fields, and both addresses of the connection."""
    parts = [
        f"correlation_id {format_scalar(exchange.correlation_id)}",
        f"client_id {format_scalar(exchange.client_id)}",
    ]
    if record["client"] is not None:
        parts.append(f"{record['client']} → {record['broker']}")
    text = " · ".join(parts)
    yield f"  {colors.dim}{text if settings.width is None else cut(text, settings.width - 2)}{colors.off}"


def _format_request_body_lines(exchange: Exchange, record: dict[str, Any], body: BodyPrinter) -> Iterator[str]:
    value = record["request"]
    if not isinstance(value, dict):
        return
    plan = find_message_plan(exchange, "request")
    paths = [] if exchange.api_key == PRODUCE else list(body.scalar_path_lines(value, plan, most=PATHS_MAX + 1))
    yield from paths if 0 < len(paths) <= PATHS_MAX else body.struct_lines(value, plan)


def format_hex_dump_lines(exchange: Exchange, side: Side, settings: Settings, colors: Palette) -> Iterator[str]:
    """A hex dump of one side, with names and values beside the bytes; those of decoded keys and values, too."""
    from kwcli.output.hex import HexStyle, format_frame_as_hex

    frame = exchange.raw(side)
    if frame is not None:
        style = HexStyle(
            settings.width,
            colors,
            settings.reveal_secrets,
            conceal=make_concealer_of_exchange(exchange),
            topic_name=exchange.topic_name,
            values=settings.values,
        )
        yield from format_frame_as_hex(frame, side, exchange.api_key, exchange.api_version, style)


def _format_response_line(exchange: Exchange, record: dict[str, Any], colors: Palette) -> str:
    if exchange.response_size is None:
        text = UNANSWERED.get(record["status"], "no answer")
        bad = record["status"] != "no_response_expected"
        return f"{colors.bad if bad else colors.api}← {text}{colors.off}"
    return f"{colors.api}←{colors.off} {exchange.response_size:,} B · {format_latency(exchange.latency_ms)}"


def _is_record_of_unsent_request(record: dict[str, Any]) -> bool:
    return record["client"] is None


def format_lookup_lines(exchange: Exchange, node: str, settings: Settings) -> Iterator[str]:
    """A look-up in a line: `kw: asked node 1 kafka1:9092: FindCoordinator 6 · 0.8ms`; with -vv the exchange, too."""
    name = exchange.api or "SASL token"
    version = "" if exchange.api_version is None else f" {exchange.api_version}"
    errors = "".join(f" · {error.name}" for error in exchange.errors)
    yield f"kw: asked {node}: {name}{version} · {format_latency(exchange.latency_ms)}{errors}"
    if settings.verbose > 1:
        record = to_json_dict(exchange, Options(reveal_secrets=settings.reveal_secrets, deferred=True))
        plain = settings._replace(format="text", color=False)
        yield from (f"    {line}" for line in format_exchange_lines(exchange, record, node, plain, None, set()))


# (API key, error code) → the versions for which the reason holds, and the reason.
_REASONS: Final = {
    (0, 76): (Versions(0, 6), "zstd needs Produce 7 or later (KIP-110)"),
    (1, 76): (Versions(0, 9), "the records are compressed with zstd, and zstd needs Fetch 10 or later (KIP-110)"),
    (1, 1): (Versions(0, FOREVER), "the partition has no such offset; offset=beginning and offset=end always exist"),
    (0, 10): (
        Versions(0, FOREVER),
        "a batch is larger than max.message.bytes of the topic: send fewer records at once, or --compression zstd",
    ),
}


def explain_error_codes(exchange: Exchange) -> Iterator[str]:
    """Explanations of error codes that their names do not give, each once."""
    key, version = exchange.api_key, exchange.api_version
    if key is None or version is None:
        return
    for code, name in dict.fromkeys((error.code, error.name) for error in exchange.errors):
        versions, reason = _REASONS.get((key, code), (NONE, ""))
        if version in versions:
            yield f"{name}: {reason}"
