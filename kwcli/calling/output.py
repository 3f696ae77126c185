"""Exchanges in, what `kw call` prints out, in every output format, with hints for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from decoders.apis.keys import API_VERSIONS, PRODUCE
from decoders.messages.bodies import Options, conceal_of
from decoders.messages.record import to_json_dict
from decoders.schema.model import NONE, Versions
from decoders.wire.deferred import Deferred, DeferredText
from kwcli.calling.extract import Path
from kwcli.output import Wanted, needs, open_renderer
from kwcli.output.body import BodyPrinter, in_pieces, plan_of, scalar, undecoded
from kwcli.output.json import JsonWriter
from kwcli.output.units import cut, format_latency, palette
from kwcli.terminal import clean

if TYPE_CHECKING:
    from decoders.exchanges.api_versions import Needs
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.model import Side
    from kwcli.calling.version_table import Matrix
    from kwcli.env import Environment, Settings
    from kwcli.output import Renderer, Write
    from kwcli.output.units import Palette

# (API key, error code) → the versions in which it is said for this reason, and the reason.
_REASONS: Final = {
    (0, 76): (Versions(0, 6), "zstd needs Produce 7 or later (KIP-110)"),
    (1, 76): (Versions(0, 9), "the records are compressed with zstd, and zstd needs Fetch 10 or later (KIP-110)"),
}


def remarks(exchange: Exchange) -> Iterator[str]:
    """What is worth saying besides the names of the error codes, each thing once."""
    key, version = exchange.api_key, exchange.api_version
    if key is None or version is None:
        return
    for code, name in dict.fromkeys((error.code, error.name) for error in exchange.errors):
        versions, reason = _REASONS.get((key, code), (NONE, ""))
        if version in versions:
            yield f"{name}: {reason}"


# An exchange in, its lines for people out: a line for each side and the body under it.
#
# A request of few fields is shown as the words that would make it (`topics[0].name  orders`), every other body as a
# tree; so are the batches of Produce.


# A request of more leaves than this is a tree.
PATHS_MAX: Final = 24
UNANSWERED: Final = {
    "no_response_expected": "no answer is sent to this (acks=0)",
    "unanswered": "no answer",
}


def exchange_lines(
    exchange: Exchange, record: dict[str, Any], way: str, settings: Settings, only: Side | None, explained: set[int]
) -> Iterator[str]:
    """All lines of one exchange, or of one side of it. What an error code in `explained` means is not told again."""
    colors = palette(settings.color)
    body = BodyPrinter(settings.width, colors, record.get("topic_names"))
    if only != "response":
        yield _head(exchange, record, way, settings, colors)
        if settings.verbose:
            yield from _header(exchange, record, settings, colors)
        if settings.format == "hex":
            yield from hex_of(exchange, "request", settings, colors)
        else:
            yield from _request(exchange, record, body)
        yield from (f"  {line}" for line in undecoded(record, "request", colors))
    if only != "request" and not _unsent(record):
        yield _answer(exchange, record, colors)
        if settings.format == "hex":
            yield from hex_of(exchange, "response", settings, colors)
        elif isinstance(record["response"], dict):
            yield from body.lines(record["response"], plan_of(exchange, "response"))
        elif record["response"] is not None:
            yield f"  {scalar(record['response'])}"
        yield from (f"  {line}" for line in undecoded(record, "response", colors))
    yield from body.meanings(explained)


def _head(exchange: Exchange, record: dict[str, Any], way: str, settings: Settings, colors: Palette) -> str:
    version = "" if exchange.api_version is None else f" {exchange.api_version}"
    parts = [f"{exchange.request_size:,} B" if exchange.request_size is not None else "", way]
    rest = clean(" · ".join(part for part in parts if part))
    name = f"{record['api']}{version}"
    if settings.width is not None:
        rest = cut(rest, max(settings.width - len(name) - 5, 1))
    return f"{colors.api}→ {clean(name)}{colors.off} · {rest}"


def _header(exchange: Exchange, record: dict[str, Any], settings: Settings, colors: Palette) -> Iterator[str]:
    """The header's fields and the ends of the connection."""
    parts = [f"correlation_id {scalar(exchange.correlation_id)}", f"client_id {scalar(exchange.client_id)}"]
    if record["client"] is not None:
        parts.append(f"{record['client']} → {record['broker']}")
    text = " · ".join(parts)
    yield f"  {colors.dim}{text if settings.width is None else cut(text, settings.width - 2)}{colors.off}"


def _request(exchange: Exchange, record: dict[str, Any], body: BodyPrinter) -> Iterator[str]:
    value = record["request"]
    if not isinstance(value, dict):
        return
    plan = plan_of(exchange, "request")
    paths = [] if exchange.api_key == PRODUCE else list(body.paths(value, plan, most=PATHS_MAX + 1))
    yield from paths if 0 < len(paths) <= PATHS_MAX else body.lines(value, plan)


def hex_of(exchange: Exchange, side: Side, settings: Settings, colors: Palette) -> Iterator[str]:
    """The bytes of a side, with names and values beside them."""
    from kwcli.output.hex import HexStyle, hex_lines

    frame = exchange.raw(side)
    if frame is not None:
        style = HexStyle(settings.width, colors, settings.reveal_secrets, conceal=conceal_of(exchange))
        yield from hex_lines(frame, side, exchange.api_key, exchange.api_version, style)


def _answer(exchange: Exchange, record: dict[str, Any], colors: Palette) -> str:
    if exchange.response_size is None:
        text = UNANSWERED.get(record["status"], "no answer")
        bad = record["status"] != "no_response_expected"
        return f"{colors.bad if bad else colors.api}← {text}{colors.off}"
    return f"{colors.api}←{colors.off} {exchange.response_size:,} B · {format_latency(exchange.latency_ms)}"


def _unsent(record: dict[str, Any]) -> bool:
    return record["client"] is None


def lookup_lines(exchange: Exchange, node: str, settings: Settings) -> Iterator[str]:
    """A look-up in a line: `kw: asked node 1 kafka1:9092: FindCoordinator 6 · 0.8ms`; with -vv what was said, too."""
    name = exchange.api or "SASL token"
    version = "" if exchange.api_version is None else f" {exchange.api_version}"
    errors = "".join(f" · {error.name}" for error in exchange.errors)
    yield f"kw: asked {node}: {name}{version} · {format_latency(exchange.latency_ms)}{errors}"
    if settings.verbose > 1:
        record = to_json_dict(exchange, Options(reveal_secrets=settings.reveal_secrets, deferred=True))
        plain = settings._replace(format="text", color=False)
        yield from (f"    {line}" for line in exchange_lines(exchange, record, node, plain, None, set()))


# Exchanges in, what `kw call` prints out: whole, one side of them, or the values at a path; in every output format.


# Formats whose rows are exchange records.
RECORDS: Final = ("ndjson", "json")
# Formats for people that show one exchange after the other.
LINES: Final = ("text", "hex")


class CallOutput:
    """Standard output of one run. `sent` False says that the exchanges are of requests that never left (--dry-run)."""

    def __init__(
        self,
        env: Environment,
        settings: Settings,
        *,
        only: Side | None = None,
        select: Path | None = None,
        sent: bool = True,
        against: str | None = None,
        brief: bool = False,
    ) -> None:
        """`brief`: in text a line for each exchange, as `kw sniff` has them."""
        self._env = env
        self._settings = settings
        self._only = only
        self._select = select
        self._sent = sent
        self._against = against
        self._brief = brief
        self._matrix: Matrix | None = None
        self._begun = False
        self._json = JsonWriter(self._write, lines=settings.format == "ndjson")
        self._options = Options(settings.records, settings.reveal_secrets, deferred=True)
        self._renderer: Renderer | None = None
        self._explained: set[int] = set()

    @property
    def needs(self) -> Needs | None:
        """What it reads of bodies."""
        return Wanted(needs(self._settings)) if self._brief else None

    def show(self, exchange: Exchange, node: str, *more: str) -> None:
        """Print one exchange; `node` and what `more` there is to say stand in the line of its request, in text."""
        settings = self._settings
        if self._select is not None or (self._only is not None and settings.format in RECORDS):
            self._values(exchange)
        elif settings.format in RECORDS:
            self._json.add(self._record(exchange))
        elif settings.format in LINES and not self._brief:
            way = " · ".join(part for part in (node, *more) if part)
            self._write_lines(
                exchange_lines(exchange, self._record(exchange), way, settings, self._only, self._explained)
            )
        elif settings.format == "table" and exchange.api_key == API_VERSIONS and self._sent:
            self._compare(exchange, node)
        else:
            self._rows().write([exchange])
        self._env.stdout.flush()

    def show_bytes(self, exchange: Exchange) -> None:
        """Print the bytes of a request below it, in text."""
        from kwcli.output.units import palette

        self._write_lines(hex_of(exchange, "request", self._settings, palette(self._settings.color)), apart=False)

    def close(self) -> None:
        """What is owed at the end."""
        if self._renderer is not None:
            self._renderer.close()
        elif self._settings.format == "json":
            self._json.close()
        self._env.stdout.flush()

    def _record(self, exchange: Exchange) -> dict[str, Any]:
        record = to_json_dict(exchange, self._options)
        if not self._sent:
            record["client"] = record["broker"] = None
            record.pop("closed", None)
        return record

    def _values(self, exchange: Exchange) -> None:
        """One side, or what is at a path of it (the response, where none is named)."""
        side = self._only or "response"
        body = self._record(exchange)[side]
        values: Iterable[Any] = [body] if self._select is None else self._select.values(body)
        version = exchange.api_version
        if self._select and body is not None and version is not None and version not in self._select.versions:
            where = self._select.versions
            said = f"is in versions {where}" if where else "is in no single version"
            self._env.say(f"kw: {exchange.api} {version} has no {self._select.text} (it {said}; see --api-version)")
        for value in values:
            if self._settings.format in RECORDS:
                self._json.add(value)
            elif isinstance(value, DeferredText) and value.is_text():
                for text in value.texts():
                    self._write((clean(text) if self._env.stdout_terminal else text).encode())
                self._write(b"\n")
            elif isinstance(value, dict | list | Deferred):
                JsonWriter(self._write, lines=True).add(value)
            else:
                from kwcli.output.body import scalar

                text = value if isinstance(value, str) and not self._env.stdout_terminal else scalar(value)
                self._write(text.encode("utf-8", "backslashreplace") + b"\n")

    def _compare(self, exchange: Exchange, node: str) -> None:
        """A column of the table of versions; a part of an answer would be none of what is offered."""
        unread = exchange.failures.get("response")
        if unread is None:
            self._table().add(node, self._record(exchange)["response"] or {})
        else:
            name = f"{exchange.api} {exchange.api_version}"
            self._env.say(f"kw: {node}: its answer to {name} cannot be read: {unread.text}")

    def _table(self) -> Matrix:
        if self._matrix is None:
            from kwcli.calling.version_table import Matrix

            self._renderer = self._matrix = Matrix(self._settings, self._write, self._against)
        return self._matrix

    def _rows(self) -> Renderer:
        if self._renderer is None:
            write: Write = self._write
            self._renderer = open_renderer(self._settings, write)
        return self._renderer

    def _write_lines(self, lines: Iterable[str], *, apart: bool = True) -> None:
        before = [""] if self._begun and apart else []
        self._begun = True
        for piece in in_pieces(chain(before, lines)):
            self._write(piece)

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:  # an unbuffered stream (PYTHONUNBUFFERED) may take a part
            left = left[self._env.stdout.write(left) :]
