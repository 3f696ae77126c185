"""Exchanges in, one line for each out, in the columns that the terminal has room for; with signs and colours.

An error that has no room beside its topic stands on a line below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from decoders.exchanges.topic_and_node_names import NODE_LISTS, NodeIds
from decoders.messages.connection_end_rows import ENDS_OF_CONNECTIONS
from decoders.mypyc_modules import mypyc_attr
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import escape_text, format_latency, format_size
from kwcli.output.column_table import COLUMNS, TEXT
from kwcli.output.facts.compile_line_facts import FactLimits
from kwcli.output.facts.line_fact_functions import (
    NO_VIEW,
    find_api_facts,
    format_exchange_trouble,
    list_facts_of_decoded_sides,
    list_no_facts,
)
from kwcli.output.short_texts import (
    NS,
    UTC_ZONE,
    TimeZone,
    cell_width,
    cut,
    cut_start_to_width,
    find_zone,
    format_ends_with_host_names,
    palette,
    shorten_api_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from decoders.exchanges.body_reader import ApiReader
    from decoders.exchanges.exchange import ConnectionInfo, Exchange, Settled, Skipped
    from decoders.messages.build_body_json import Options
    from kwcli.output.facts.compile_line_facts import Facts
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Write


class LineLayout(NamedTuple):
    """Widths in cells, 0 for a column that is not shown; `facts` None when nothing is ever cut.

    `fact_rooms`: how much of lists and ids is shown, the least first; a line takes the last one that fits.
    """

    took: int
    client: int  # the client's id, or its address
    software: int
    address: int  # the client's address, beside its id
    broker: int
    connection: int
    correlation: int
    sent: int  # size of the request
    got: int  # size of the response
    api: int
    facts: int | None
    fact_rooms: tuple[FactLimits, ...]

    @property
    def widths_before_api(self) -> tuple[int, ...]:
        """The widths of the columns between the time and the sign."""
        return (
            *(self.took, self.client, self.software, self.address, self.broker),
            *(self.connection, self.correlation, self.sent, self.got),
        )


TIME_WIDTH: Final = 12
SIGN_WIDTH: Final = 1
TOOK_WIDTH: Final = 6
FACTS_LEAST: Final = 12
CONTINUED_AT: Final = 2  # cells before what stands below a line
NODE_ALONE: Final = 7  # cells of a column that has a node's id, or the end of its address
# The columns of a line on the narrowest terminal, in cells.
_NARROWEST: Final = {"time": TIME_WIDTH, "took": TOOK_WIDTH, "client": 6, "sign": SIGN_WIDTH, "api": 10, "facts": 20}
# What further cells are used for, in this order: a column and the width it grows to; a new column needs so many cells.
# What is left after the last step goes to the facts. No step takes anything away, so that a wider terminal shows all
# that a narrower one does; cells that are too few for the next new column stay empty.
_GROWTH: Final[tuple[tuple[str, int, int], ...]] = (
    *(("broker", 6, 6), ("client", 9, 0), ("api", 13, 0), ("facts", 27, 0)),  # 80 cells
    *(("client", 11, 0), ("facts", 33, 0), ("client", 13, 0), ("broker", 7, 0), ("api", 16, 0), ("facts", 39, 0)),
    *(("client", 16, 0), ("api", 20, 0), ("broker", 15, 0), ("facts", 44, 0)),  # from 100 to 120
    *(("broker", 21, 0), ("address", 21, 7)),  # 150
    *(("connection", 4, 4), ("correlation", 10, 10), ("sent", 7, 7), ("got", 7, 7)),  # 180
    *(("software", 18, 11), ("facts", 70, 0), ("software", 24, 0), ("api", 22, 0)),  # 200 and more
)
# How much of lists and ids is shown, from this width on.
_FACT_ROOMS: Final[tuple[tuple[int, FactLimits], ...]] = (
    (0, FactLimits(2, 10)),
    (96, FactLimits(3, 12)),
    (150, FactLimits(4, 16)),
    (180, FactLimits(6, 24)),
    (220, FactLimits(16, 64)),
)
# Without a terminal: the columns that people read; programs have the other formats.
_UNLIMITED: Final = {"took": TOOK_WIDTH, "client": 16, "broker": 21, "api": 20}


def lay_out_line(width: int | None) -> LineLayout:
    """The layout for a terminal of `width` columns (60 at least); None: nothing is cut."""
    if width is None:
        return _make_line_layout(_UNLIMITED, None, (FactLimits(),))
    widths = dict(_NARROWEST)
    left = width - sum(widths.values()) - len(widths) + 1  # there is a blank between columns
    for column, most, least in _GROWTH:
        had = widths.get(column, -1)  # a new column has a blank beside it
        if left <= 0 or left < least - had:
            break
        widths[column] = min(most, had + left)
        left -= widths[column] - had
    else:
        widths["facts"] += left
    if left < 0:
        widths["facts"] += left
    return _make_line_layout(
        widths,
        max(widths["facts"], FACTS_LEAST),
        tuple(fact_room for least, fact_room in _FACT_ROOMS if least <= width),
    )


def _make_line_layout(widths: Mapping[str, int], facts: int | None, fact_rooms: tuple[FactLimits, ...]) -> LineLayout:
    columns = {column: widths.get(column, 0) for column in LineLayout._fields[:-2]}
    return LineLayout(**columns, facts=facts, fact_rooms=fact_rooms)


# Lines of exchanges


# Ready-made texts of the numbers that lines are full of.
MILLISECONDS: Final = [f"{number:03d}" for number in range(1000)]
MICROSECONDS: Final = [f"{number:>4d}µs" for number in range(1000)]
TENTHS: Final = [f"{number // 10:>2d}.{number % 10}ms" for number in range(1000)]
# Connections whose cells are kept; beyond that they are made again.
CELLS_MAX: Final = 20_000

# Status → sign. An exchange with an error code in its response has ✗, or · if the protocol expects all of its codes.
SIGNS: Final[dict[str, str]] = {
    "complete": " ",
    "not_sent": " ",
    "no_response_expected": " ",
    "token": " ",
    "unanswered": "?",
    "orphan_response": "←",
    "undecoded": "!",
}
SKIPPED: Final[dict[str, str]] = {
    "lost": "lost in the capture",
    "midstream": "before the first whole frame",
    "one_direction": "one direction only",
    "garbage": "no Kafka frame",
    "oversized": "a frame larger than kw keeps",
    "encrypted": "TLS not decrypted",
    "not_kafka": "not Kafka",
    "tls": "a TLS connection",
    "snaplen": "cut by the snaplen",
    "limit": "given up at a limit",
    "prefix": "before Kafka",
    "copy": "not counted again",
}


class TextLines:
    """Makes the lines; keeps what a line needs of those before: the day, the known nodes, cells made before.

    Lines are f-strings with ready escape codes: a line costs about as much as reading the two views of its exchange.
    """

    def __init__(
        self,
        width: int | None,
        *,
        color: bool,
        zone: TimeZone = UTC_ZONE,
        nodes: NodeIds | None = None,
        alone: bool = False,
    ) -> None:
        """`nodes`: those known already. `alone`: each exchange takes one line, without lines for days and troubles."""
        self._alone = alone
        self.layout: LineLayout = lay_out_line(width)
        self._width = width
        before_facts = (TIME_WIDTH, *self.layout.widths_before_api, SIGN_WIDTH, self.layout.api)
        self._facts_at = sum(each + 1 for each in before_facts if each)
        self.zone = zone
        self.palette = palette(color)
        self.errors = 0  # exchanges with an unexpected error code in their response
        self.expected = 0  # exchanges with only error codes that the protocol expects
        self.undecoded = 0
        self.remarks = 0
        self._room, (*self._smaller, self._fact_room) = self.layout.facts, self.layout.fact_rooms
        self._broker = None if self._room is None else self.layout.broker
        self._wide = self.layout.correlation > 0
        self._after_time = f"{self.palette.off} "
        self._second = -1
        self._day = ""
        self._clock = ""
        self._nodes = NodeIds() if nodes is None else nodes
        self._api_readers: dict[ApiReader, tuple[Facts, str]] = {}
        self._between_of: dict[tuple[ConnectionInfo, str | None, bool], str] = {}

    def column_titles_line(self) -> str:
        """The names of the columns."""
        w = self.layout
        parts = []
        for word, width in zip(TEXT, (TIME_WIDTH, *w.widths_before_api), strict=True):
            if width:
                column = COLUMNS[word]
                title = "node" if word == "broker" and width <= NODE_ALONE else column.title
                if word == "time":
                    title = f"{title} {self.zone.name(max(self._second, 0))}".rstrip()
                parts.append(f"{title:>{width}}" if column.right else f"{title:<{width}}")
        return f"{self.palette.dim}{' '.join(parts)}   {COLUMNS['summary'].title}{self.palette.off}"

    def exchange_line(self, exchange: Exchange) -> str:
        """The line of an exchange, after a line for its day where that is a new one."""
        time_ns = exchange.time_ns
        seconds = time_ns // NS
        request, response = exchange.view("request"), exchange._response_view
        facts_of, api = self._api_readers.get(exchange._api_reader) or self._make_api_line_parts(exchange)
        if exchange.api_key in NODE_LISTS:
            self.learn_node_addresses(exchange)
        client_key = (exchange.connection_info, exchange.client_id, exchange.client_software is None)
        between = self._between_of.get(client_key) or self._format_client_columns(client_key, exchange)
        if exchange._failed:
            facts = list_facts_of_decoded_sides(exchange, facts_of, self._fact_room)
        else:
            facts = facts_of(exchange, request or NO_VIEW, response or NO_VIEW, self._fact_room)
        if exchange.connection_info.tls is not None:
            facts = [*facts, *_list_tls_facts(exchange)]
        text = " ".join(facts)
        room = self._room
        if not text.isprintable():
            facts = [escape_text(fact) for fact in facts]
            text = " ".join(facts)
        sign = " "
        if (
            exchange._error_codes
            or exchange._failed
            or exchange.outcome != "complete"
            or (exchange.extra is not None and ("fault" in exchange.extra or "remarks" in exchange.extra))
        ):
            sign = self._format_exchange_sign(exchange)
            only_remarks = sign == " " and "fault" not in (exchange.extra or ())
            text = self._join_facts_that_fit(
                exchange, facts_of, facts, format_exchange_trouble(exchange), bad="·" not in sign and not only_remarks
            )
        elif room is not None and (len(text) > room or not text.isascii()):
            text = self._join_facts_that_fit(exchange, facts_of, facts, "")
        if self._wide:
            between += self._format_number_columns(exchange)
        return (
            f"{self._clock if seconds == self._second else self._set_clock_to_second(seconds)}"
            f"{MILLISECONDS[time_ns // 1_000_000 % 1000]}{self._after_time}"
            f"{_format_latency_cell(exchange)} {between} {sign} {api} {text}"
        )

    def is_on_latest_day(self, time_ns: int) -> bool:
        """Whether a time is on the day of the latest line, so that its line needs no line for a new day before it."""
        try:
            when = self.zone.local_time(time_ns // NS)
        except (OverflowError, ValueError, OSError):
            return False
        return self._day == f"{when.year:04d}-{when.month:02d}-{when.day:02d}"

    def learn_node_addresses(self, exchange: Exchange) -> None:
        """Take the addresses of nodes from a response that lists them."""
        if self._nodes.add_brokers(exchange.view("response")):
            self._between_of.clear()

    def _format_exchange_sign(self, exchange: Exchange) -> str:
        status = exchange.status
        failed = bool(exchange.unexpected)
        if exchange._error_codes:
            self.errors += failed
            self.expected += not failed
        if status == "undecoded":
            self.undecoded += 1
        self.remarks += len(exchange.remarks)
        sign = SIGNS[status]
        if exchange._error_codes and status == "complete":
            sign = "✗" if failed else "·"
        return f"{self.palette.sign[sign]}{sign}{self.palette.off}" if sign != " " else " "

    def skipped_line(self, row: Skipped) -> str:
        """The line of skipped bytes."""
        w = self.layout
        p = self.palette
        seconds, ns = divmod(row.time_ns, NS)
        clock = self._clock if seconds == self._second else self._set_clock_to_second(seconds)
        to = {"request": " to broker", "response": " to client"}.get(row.direction or "", "")
        api = "skipped"
        text = f"{format_size(row.size)}{to}: {SKIPPED.get(row.reason, row.reason)}"
        detail = row.detail.removeprefix("TLS: ") if row.reason == "tls" else row.detail
        if detail and detail not in text:
            text += f", {escape_text(detail)}"
        if row.reason in ENDS_OF_CONNECTIONS:
            api, text = "connection", f"{row.connection} from port {row.client.rpartition(':')[2]}: {row.detail}"
        client = row.client.rpartition(":")[0]
        gap = " " * sum(width + 1 for width in (w.software, w.address) if width)
        numbers = " " * sum(width + 1 for width in (w.connection, w.correlation, w.sent, w.got) if width)
        if w.facts is not None:
            client = cut(client, w.client)
            text = cut(text, w.facts)
        broker = f"{self._format_node_address(row.broker):<{w.broker}} " if w.broker else ""
        return (
            f"{clock}{ns // 1_000_000:03d}{self._after_time}{'':>{w.took}} {p.client}{client:<{w.client}}{p.off} "
            f"{gap}{broker}{numbers}"
            f"{p.sign['…']}…{p.off} {api:<{w.api}} {text}"
        )

    def _set_clock_to_second(self, seconds: int) -> str:
        """Set the clock to a new second; returns the beginning of a line, up to the milliseconds."""
        self._second = seconds
        p = self.palette
        try:
            when = self.zone.local_time(seconds)
        except (OverflowError, ValueError, OSError):  # a time stamp beyond all calendars, as a corrupt capture may have
            self._clock = f"{p.dim}??:??:??."
            return self._clock
        self._clock = f"{p.dim}{when.hour:02d}:{when.minute:02d}:{when.second:02d}."
        day = f"{when.year:04d}-{when.month:02d}-{when.day:02d}"
        before, self._day = self._day, day
        if self._alone or before in ("", day):
            return self._clock
        return f"{p.dim}── {day} {self.zone.name(seconds)} ──{p.off}\n{self._clock}"

    def _make_api_line_parts(self, exchange: Exchange) -> tuple[Facts, str]:
        """The parts that all lines of an API version share: the function of their facts, and the text `Produce 9`."""
        width = self.layout.api
        name, version = exchange.api, exchange.api_version
        if name is None and exchange.is_orphan:  # not kept: tokens have the same API version
            return list_no_facts, f"{self.palette.api}{'answer':<{width}}{self.palette.off}"
        text = "SASL token" if name is None else name
        number = "" if version is None else f" {version}"
        if self.layout.facts is not None:
            text = shorten_api_name(text, width - len(number))
        p = self.palette
        row = find_api_facts(exchange.api_key)
        made = (row.facts if row else list_no_facts, f"{p.api}{f'{text}{number}':<{width}}{p.off}")
        self._api_readers[exchange._api_reader] = made
        return made

    def _format_client_columns(self, client_key: tuple[ConnectionInfo, str | None, bool], exchange: Exchange) -> str:
        """The columns that all exchanges of a client on a connection share."""
        w = self.layout
        p = self.palette
        ends = format_ends_with_host_names(exchange)
        client = escape_text(exchange.client_id or "") or ends[0].rpartition(":")[0]
        software = self._format_client_software(exchange)
        if w.facts is not None:
            client = cut(client, w.client)
        parts = [f"{p.client}{client}{' ' * (w.client - cell_width(client))}{p.off}"]
        if w.software:
            parts.append(software + " " * (w.software - cell_width(software)))
        if w.address:
            parts.append(f"{cut_start_to_width(ends[0], w.address):<{w.address}}")
        if w.broker:
            parts.append(f"{self._format_node_address(exchange.broker, ends[1]):<{w.broker}}")
        if w.connection:
            parts.append(f"{exchange.connection:>{w.connection}}")
        text = " ".join(parts)
        if len(self._between_of) > CELLS_MAX:
            self._between_of.clear()
        self._between_of[client_key] = text
        return text

    def _format_node_address(self, address: str, shown: str = "") -> str:
        """A node's id, with its address where there is room for both. For an unknown node, as much of the address as
        fits: its end, which tells it apart. `shown`: the address with the name of its host; that goes before the id.
        """
        number, room = self._nodes.get(address), self._broker
        whole = shown or address
        name = whole if whole == address else whole.rpartition(":")[0]
        texts = [whole] if number is None else [f"{number} {whole}", f"{number} {name}"]
        texts += [name] if whole != address else []
        for text in texts:
            if room is None or len(text) <= room:
                return text
        return str(number) if number is not None else cut_start_to_width(name, room or 0)

    def _format_number_columns(self, exchange: Exchange) -> str:
        """The columns of numbers that only wide terminals have room for."""
        w = self.layout
        number = exchange.correlation_id
        text = f" {'–' if number is None else number:>{w.correlation}}"
        if w.sent:
            size = exchange.request_size
            text += f" {'–' if size is None else format_size(size):>{w.sent}}"
        if w.got:
            size = exchange.response_size
            text += f" {'–' if size is None else format_size(size):>{w.got}}"
        return text

    def _format_client_software(self, exchange: Exchange) -> str:
        """Name and version of the client's software; the name is cut where there is no room for both."""
        software = exchange.client_software
        if not software:
            return ""
        room = self.layout.software
        version = cut(escape_text(software["version"].partition("-")[0]), room // 2)
        return f"{cut(escape_text(software['name']), room - len(version) - 1)} {version}"

    def _join_facts_that_fit(
        self, exchange: Exchange, facts_of: Facts, facts: list[str], trouble: str, *, bad: bool = True
    ) -> str:
        """The first fact, the trouble, then the other facts: all of them with the longest lists and ids that fit, else
        as many as fit with the shortest ones.
        """
        room = self._room
        said = [trouble] if trouble else []
        if room is None or _do_texts_fit([*facts, *said], room):
            return self._join_facts_and_trouble(facts, trouble, bad=bad)
        for fact_room in reversed(self._smaller):
            facts = [
                escape_text(fact)
                for fact in (*list_facts_of_decoded_sides(exchange, facts_of, fact_room), *_list_tls_facts(exchange))
            ]
            if _do_texts_fit([*facts, *said], room):
                return self._join_facts_and_trouble(facts, trouble, bad=bad)
        if not trouble:
            return self._join_facts_and_trouble(_cut_to_first_facts_that_fit(facts, room), "")
        head = facts[0] if facts else ""
        if cell_width(head) + 1 + cell_width(trouble) <= room:
            left = room - cell_width(trouble) - 1
            return self._join_facts_and_trouble(_cut_to_first_facts_that_fit(facts, left), trouble, bad=bad)
        head = head.removeprefix("group ")  # the name says enough
        if not self._alone and (exchange._error_codes or exchange.status == "unanswered"):
            width = self._width or room
            if max(cell_width(head), cell_width(trouble)) <= width - CONTINUED_AT:
                return self._put_trouble_below(head, trouble, width, bad=bad)
        head = cut(head, max(room - cell_width(trouble) - 1, room // 4))
        return self._join_facts_and_trouble(
            [head] if head else [], cut(trouble, room - cell_width(head) - bool(head)), bad=bad
        )

    def _put_trouble_below(self, head: str, trouble: str, width: int, *, bad: bool) -> str:
        """The first fact, and the trouble below it, neither of them cut: a topic, a partition and an error are why
        somebody reads the line. Where the line has no room for the first fact, both are below.
        """
        colored = self._join_facts_and_trouble([], trouble, bad=bad)
        if cell_width(head) <= width - self._facts_at:
            return f"{head}\n{' ' * max(min(self._facts_at, width - cell_width(trouble)), CONTINUED_AT)}{colored}"
        below = "\n" + " " * CONTINUED_AT
        fits = cell_width(head) + 1 + cell_width(trouble) <= width - CONTINUED_AT
        return f"{below}{head}{' ' if fits else below}{colored}"

    def _join_facts_and_trouble(self, facts: list[str], trouble: str, *, bad: bool = True) -> str:
        if not trouble:
            return " ".join(facts)
        p = self.palette
        return " ".join([*facts[:1], f"{p.bad if bad else p.dim}{trouble}{p.off}", *facts[1:]])


def _list_tls_facts(exchange: Exchange) -> list[str]:
    """The facts that the connection adds to an exchange: the version of TLS."""
    tls = exchange.connection_info.tls
    return [] if tls is None else [f"TLS{tls['version']}"]


def _do_texts_fit(texts: list[str], room: int) -> bool:
    """Whether all texts fit in `room` cells, with a blank between each two."""
    text = " ".join(texts)
    return len(text) <= room and cell_width(text) <= room


def _cut_to_first_facts_that_fit(facts: list[str], room: int) -> list[str]:
    """The first facts that fit in `room` cells; the first one is cut where it alone is too long."""
    kept = [cut(fact, room) for fact in facts[:1]]
    left = room - sum(map(cell_width, kept))
    for fact in facts[1:]:
        left -= cell_width(fact) + 1
        if left < 0:
            break
        kept.append(fact)
    return kept


def _format_latency_cell(exchange: Exchange) -> str:
    """The latency in six cells; the usual texts are made beforehand."""
    sent, answered = exchange.request_end_ns, exchange.response_ns
    if sent is None or answered is None:
        return "     –"
    ns = answered - sent
    if 0 <= ns < 999_500:
        return MICROSECONDS[(ns + 500) // 1000]
    if 0 <= ns < 99_950_000:
        return TENTHS[(ns + 50_000) // 100_000]
    return f"{format_latency(ns / 1e6):>6}"


@mypyc_attr(allow_interpreted_subclasses=True)
class LineRenderer:
    """Base of the renderers that write a line for each exchange."""

    def __init__(self, settings: Settings, write: Write) -> None:
        self._write = write
        self._settings = settings
        self._lines = TextLines(settings.width, color=settings.color, zone=find_zone(settings.zone))
        self._begun = not settings.heading

    @property
    def errors(self) -> int:
        """Exchanges shown with an unexpected error code in their response."""
        return self._lines.errors

    @property
    def expected(self) -> int:
        """Exchanges shown with only error codes that the protocol expects."""
        return self._lines.expected

    @property
    def undecoded(self) -> int:
        """Exchanges shown that could not be decoded."""
        return self._lines.undecoded

    @property
    def remarks(self) -> int:
        """Remarks on the exchanges shown."""
        return self._lines.remarks

    def are_all_on_latest_day(self, rows: Iterable[Settled]) -> bool:
        """Whether all rows are on the day of the latest line: then their lines depend on no other line's time."""
        first = last = -1
        for row in rows:
            time_ns = row.time_ns
            if first < 0 or time_ns < first:
                first = time_ns
            last = max(last, time_ns)
        return first < 0 or (self._lines.is_on_latest_day(first) and self._lines.is_on_latest_day(last))

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Learn the addresses of nodes from rows that are not shown."""
        for row in rows:
            if row.kind == "exchange" and row.api_key in NODE_LISTS:
                self._lines.learn_node_addresses(row)

    def close(self) -> None:
        """Do nothing: lines need no end."""


class Text(LineRenderer):
    """The text renderer: a line for each exchange, with -v its bodies below."""

    def __init__(self, settings: Settings, write: Write) -> None:
        super().__init__(settings, write)
        self._explained: set[int] = set()  # error codes whose meaning was printed
        self._options: Options | None = None
        self.shows_skipped = settings.verbose > 0

    def write(self, rows: list[Settled]) -> None:
        """Write the rows."""
        if self._settings.verbose > 0 or self._settings.records:
            from kwcli.output.body_printer import encode_lines

            for piece in encode_lines(self._exchange_lines_with_bodies(rows)):
                self._write(piece)
            return
        out: list[str] = []
        for row in rows:
            if row.kind == "exchange":
                out.append(self._lines.exchange_line(row))
            elif self.shows_skipped:
                out.append(self._lines.skipped_line(row))
        if out:
            if not self._begun:
                self._begun = True
                out.insert(0, self._lines.column_titles_line())
            out.append("")
            self._write("\n".join(out).encode("utf-8", "backslashreplace"))

    def _exchange_lines_with_bodies(self, rows: list[Settled]) -> Iterator[str]:
        """The lines of the rows, each with the lines that belong below it."""
        from kwcli.output.exchange_details import exchange_detail_lines
        from kwcli.output.format_decoded_values import make_text_options

        if self._options is None:
            self._options = make_text_options(self._settings)  # once: readers of records are kept for each
        for row in rows:
            if row.kind != "exchange" and not self.shows_skipped:
                continue
            line = self._lines.exchange_line(row) if row.kind == "exchange" else self._lines.skipped_line(row)
            if not self._begun:
                self._begun = True
                yield self._lines.column_titles_line()
            yield line
            if row.kind == "exchange":
                yield from exchange_detail_lines(row, self._settings, self._options, self._explained)
