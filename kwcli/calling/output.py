"""Exchanges in, what `kw call` prints out, in every output format, with hints for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from decoders.apis.keys import API_VERSIONS
from decoders.messages.bodies import Options
from decoders.messages.record import to_json_dict
from decoders.schema.model import FOREVER, NONE, Versions
from decoders.wire.deferred import Deferred, DeferredText
from kwcli.calling.words.paths import Path
from kwcli.output import Wanted, needs, open_renderer
from kwcli.output.json import JsonWriter
from kwcli.output.records import record_writer
from kwcli.output.units import palette
from kwcli.terminal import clean

if TYPE_CHECKING:
    from decoders.exchanges.api_versions import Needs
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.model import Side
    from kwcli.calling.records.values import RecordValues, Said
    from kwcli.calling.version_table import Matrix
    from kwcli.env import Environment, Settings
    from kwcli.output import Renderer, Write

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


def remarks(exchange: Exchange) -> Iterator[str]:
    """Explanations of error codes that their names do not give, each once."""
    key, version = exchange.api_key, exchange.api_version
    if key is None or version is None:
        return
    for code, name in dict.fromkeys((error.code, error.name) for error in exchange.errors):
        versions, reason = _REASONS.get((key, code), (NONE, ""))
        if version in versions:
            yield f"{name}: {reason}"


# Exchanges in, the output of `kw call` out: whole exchanges, one side, or the values at a path, in every format.


# Formats whose rows are exchange records.
RECORDS: Final = ("ndjson", "json", "yaml")
# Formats for people that show one exchange after the other.
LINES: Final = ("text", "hex")


class CallOutput:
    """Standard output of one run. `sent` False: the exchanges are of requests that were not sent (--dry-run)."""

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
        values: RecordValues | None = None,
    ) -> None:
        """`brief`: in text one line for each exchange, as in `kw sniff`; `values`: prints responses' records alone."""
        self._env = env
        self._settings = settings
        self._only = only
        self._select = select
        self._sent = sent
        self._against = against
        self._brief = brief
        self._matrix: Matrix | None = None
        self._begun = False
        self._writer = record_writer(settings._replace(columns=()), self._write)
        self._records = values
        self._options = Options(
            settings.records or values is not None, settings.reveal_secrets, deferred=True, names=settings.names
        )
        self._renderer: Renderer | None = None
        self._explained: set[int] = set()

    @property
    def needs(self) -> Needs | None:
        """The parts of bodies that `brief` output reads; None without `brief`."""
        return Wanted(needs(self._settings)) if self._brief else None

    def show(self, exchange: Exchange, node: str, *more: str) -> None:
        """Print one exchange; `node` and `more` stand in the line of its request, in text."""
        from kwcli.calling.text import exchange_lines

        settings = self._settings
        if self._records is not None:
            self._show_records(exchange, self._records)
        elif self._select is not None or (self._only is not None and settings.format in RECORDS):
            self._values(exchange)
        elif settings.format in RECORDS:
            self._writer.add(self._record(exchange))
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

    def further(self) -> dict[int, int]:
        """Partition → offset to go on from, for partitions whose wanted records have not all come yet."""
        return {} if self._records is None else self._records.further()

    def show_bytes(self, exchange: Exchange) -> None:
        """Print the bytes of a request below it, in text."""
        from kwcli.calling.text import hex_of

        self._write_lines(hex_of(exchange, "request", self._settings, palette(self._settings.color)), apart=False)

    def close(self) -> None:
        """Write the end of the output: of a JSON array, of a table, or of the records."""
        if self._records is not None:
            self._tell(self._records.close())
        elif self._renderer is not None:
            self._renderer.close()
        elif self._settings.format == "json":
            self._writer.close()
        self._env.stdout.flush()

    def _record(self, exchange: Exchange) -> dict[str, Any]:
        record = to_json_dict(exchange, self._options)
        if not self._sent:
            record["client"] = record["broker"] = None
            record.pop("closed", None)
        return record

    def _show_records(self, exchange: Exchange, records: RecordValues) -> None:
        """Print the records of a response, and on standard error the messages about it."""
        unread = exchange.failures.get("response")
        if unread is not None:
            name = f"{exchange.api} {exchange.api_version}"
            self._env.say(f"kw: {name}: its answer cannot be read to its end: {unread.text}")
        self._tell(records.show(self._record(exchange)))

    def _tell(self, lines: Iterable[Said]) -> None:
        for line in lines:
            if line.problem or not self._settings.quiet:
                self._env.say(f"kw: {line.text}")

    def _values(self, exchange: Exchange) -> None:
        """Print one side, or the values at a path of it; the side is the response where none is named."""
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
                self._writer.add(value)
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
        """Add a column to the table of versions; an answer that cannot be read to its end gives none."""
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
        from kwcli.output.body import in_pieces

        before = [""] if self._begun and apart else []
        self._begun = True
        for piece in in_pieces(chain(before, lines)):
            self._write(piece)

    def _write(self, data: bytes) -> None:
        write_all(self._env, data)


def write_all(env: Environment, data: bytes) -> None:
    """Write bytes to standard output."""
    left = memoryview(data)
    while left:  # an unbuffered stream (PYTHONUNBUFFERED) may take a part
        left = left[env.stdout.write(left) :]
