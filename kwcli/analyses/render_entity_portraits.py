"""`kw clients`, `groups`, `transactions`, `topics`, `brokers`: captures in, a table or the page of one of them out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.groups.group_rows import Groups
from decoders.analysis.portraits.client_and_broker_portraits import Brokers, Clients, Portraits
from decoders.analysis.portraits.topic_portraits import TopicPortraits
from decoders.analysis.transactions.transactions_fold import Transactions
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.find_client_library import format_library
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import escape_text, format_latency, format_size
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.analyses.csv_and_table_columns import format_topic_schemas
from kwcli.analyses.draw_transaction_page import (
    TRANSACTION_LINES,
    draw_transaction_details,
    format_held_back_partitions,
    format_producer_id_and_epoch,
    format_transaction_age,
    format_transaction_state,
    format_written_partitions,
    list_commands_that_end_transactions,
)
from kwcli.analyses.group_details_as_text import (
    GROUP_LINES,
    draw_group_details,
    format_lag,
    format_last_attempts,
    format_share,
)
from kwcli.analyses.render_answer import AnswerRenderer, format_software, format_value_on_one_line
from kwcli.output.short_texts import count_of, palette
from kwcli.output.table import Column, draw_table
from kwcli.stats.statistics_as_text import OTHERS, explain_row_of_others, wrap_note

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Settled
    from kwcli.output.output_settings import Settings

__all__ = ["PORTRAITS", "PortraitRenderer"]

_NAME_LEAST: Final = 10
_NOTHING: Final = "–"
Cell = Callable[["Row"], str]


class PortraitColumn(NamedTuple):
    """One column of the table. The greater `drop`, the sooner it is left out where there is no room; 0: never. Where
    `says` is a key, the column is there only if some row has a value for that key.
    """

    title: str
    cell: Cell
    drop: int = 0
    right: bool = False
    paint: str = ""
    says: str = ""


class PortraitKind(NamedTuple):
    """A kind of portraits: the fold, the kind of its rows, the key with the name, and the columns of its table.

    `in_time`: exchanges that the filters leave out are learnt from only within --since and --until.
    """

    fold: type[Portraits]
    kind: str
    name: str
    columns: tuple[PortraitColumn, ...]
    in_time: bool = False


def _make_count_cell(key: str) -> Cell:
    return lambda row: f"{row[key]:,}" if row[key] else _NOTHING


def _make_size_cell(key: str) -> Cell:
    return lambda row: _NOTHING if row[key] is None else format_size(row[key])


def _format_bytes_sent_and_received(row: Row) -> str:
    sent, got = row["request_bytes"], row["response_bytes"]
    return "" if sent is None else f"{format_size(sent)} sent, {format_size(got)} got"


def _make_time_cell(key: str) -> Cell:
    return lambda row: _NOTHING if row[key] is None else format_latency(row[key])


def _make_names_cell(key: str) -> Cell:
    """A cell with the first names of a list, and how many more there are."""

    def format_first_names(row: Row) -> str:
        names = row.get(key, ())
        more = f" +{len(names) - _SHOWN:,}" if len(names) > _SHOWN else ""
        return ", ".join(map(escape_text, names[:_SHOWN])) + more or _NOTHING

    return format_first_names


_SHOWN: Final = 3
_NUMBERS: Final = (
    PortraitColumn("count", _make_count_cell("count"), 0, right=True),
    PortraitColumn("errors", _make_count_cell("errors"), 3, right=True, paint="bad"),
    PortraitColumn("p50", _make_time_cell("p50"), 9, right=True),
    PortraitColumn("p99", _make_time_cell("p99"), 7, right=True),
    PortraitColumn("sent", _make_size_cell("request_bytes"), 11, right=True),
    PortraitColumn("got", _make_size_cell("response_bytes"), 12, right=True),
)
PORTRAITS: Final[dict[str, PortraitKind]] = {
    "clients": PortraitKind(
        Clients,
        "client",
        "client_id",
        (
            PortraitColumn("client", lambda row: _name_of_row(row, "client_id", "addresses"), paint="client"),
            PortraitColumn("software", lambda row: escape_text(format_software(row)) or _NOTHING, 5),
            PortraitColumn("user", _make_names_cell("users"), 6, says="users"),
            PortraitColumn("address", _make_names_cell("addresses"), 8),
            PortraitColumn("via", _make_names_cell("via_addresses"), 9, says="via_addresses"),
            PortraitColumn("conns", _make_count_cell("connections"), 10, right=True),
            *_NUMBERS,
            PortraitColumn("writes", _make_names_cell("writes"), 1),
            PortraitColumn("reads", _make_names_cell("reads"), 2),
            PortraitColumn("groups", _make_names_cell("groups"), 4),
        ),
    ),
    "groups": PortraitKind(
        Groups,
        "group",
        "group",
        (
            PortraitColumn("group", lambda row: _name_of_row(row, "group"), paint="client"),
            PortraitColumn("type", lambda row: row["type"] or _NOTHING, 6),
            PortraitColumn("state", lambda row: escape_text(row["state"] or _NOTHING), 1),
            PortraitColumn(
                "members", lambda row: f"{sum(each['present'] for each in row['members']):,}", 4, right=True
            ),
            PortraitColumn("rebalances", _make_count_cell("rebalances"), 3, right=True),
            PortraitColumn("lag of commits", lambda row: format_lag(row, "commit"), 0, right=True),
            PortraitColumn("of reading", lambda row: format_lag(row, "position"), 2, right=True),
            PortraitColumn("last attempt", format_last_attempts, 3, says="last_attempts"),
            PortraitColumn("read again", lambda row: format_share(row["refetched"]), 7, right=True),
            *(column._replace(drop=column.drop or 13) for column in _NUMBERS),
            PortraitColumn("protocol", lambda row: escape_text(row["protocol"] or _NOTHING), 8),
            PortraitColumn("clients", _make_names_cell("clients"), 5),
        ),
        in_time=True,
    ),
    "transactions": PortraitKind(
        Transactions,
        "transaction",
        "transactional_id",
        (
            PortraitColumn("transactional id", lambda row: _name_of_row(row, "transactional_id"), paint="client"),
            PortraitColumn("state", format_transaction_state),
            PortraitColumn("age", format_transaction_age, 2, right=True),
            PortraitColumn("producer", format_producer_id_and_epoch, 3, right=True),
            PortraitColumn("holds", lambda row: escape_text(format_held_back_partitions(row)) or _NOTHING, 1),
            PortraitColumn("opened by", lambda row: escape_text(row["client_id"] or _NOTHING), 4, paint="client"),
            PortraitColumn("partitions", format_written_partitions, 5),
            PortraitColumn("commits", _make_count_cell("commits"), 7, right=True),
            PortraitColumn("aborts", _make_count_cell("aborts"), 6, right=True),
            *(column._replace(drop=(column.drop or 1) + 10) for column in _NUMBERS),
        ),
        in_time=True,
    ),
    "topics": PortraitKind(
        TopicPortraits,
        "topic",
        "topic",
        (
            PortraitColumn("topic", lambda row: _name_of_row(row, "topic"), paint="client"),
            *_NUMBERS,
            PortraitColumn(
                "parts", lambda row: f"{len(row['partitions']):,}" if row["partitions"] else _NOTHING, 8, right=True
            ),
            PortraitColumn("written", lambda row: _format_count_of_written(row, "records"), 10, right=True),
            PortraitColumn("written by", _make_names_cell("writes"), 1),
            PortraitColumn("read by", _make_names_cell("reads"), 2),
            PortraitColumn("schemas", lambda row: format_topic_schemas(row, _SHOWN) or _NOTHING, 3, says="schemas"),
            PortraitColumn("groups", _make_names_cell("groups"), 4),
            PortraitColumn("administered by", _make_names_cell("administers"), 5),
            PortraitColumn(
                "only asked for by",
                lambda row: _make_names_cell("asks")(row) if _is_topic_only_asked_for(row) else _NOTHING,
                6,
            ),
        ),
        in_time=True,
    ),
    "brokers": PortraitKind(
        Brokers,
        "broker",
        "broker",
        (
            PortraitColumn("node", lambda row: _NOTHING if row["node_id"] is None else str(row["node_id"]), right=True),
            PortraitColumn("broker", lambda row: escape_text(row["broker"]), paint="client"),
            PortraitColumn("advertised", lambda row: escape_text(row["advertised"] or _NOTHING), 2),
            PortraitColumn("rack", lambda row: escape_text(row["rack"] or _NOTHING), 5),
            PortraitColumn("looks like", lambda row: row["release"] or _NOTHING, 1),
            *_NUMBERS,
            PortraitColumn(
                "clients", lambda row: f"{len(row['clients']):,}" if row["clients"] else _NOTHING, 4, right=True
            ),
            PortraitColumn("", lambda row: "controller" if row["controller"] else "", 6),
        ),
    ),
}


def _name_of_row(row: Row, *keys: str) -> str:
    """The name of a row for people."""
    if "others" in row:
        return OTHERS
    value = next((row[key] for key in keys if row[key]), None)
    return _make_names_cell(keys[-1])(row) if isinstance(value, list) else escape_text(value or _NOTHING)


def _format_count_of_written(row: Row, key: str) -> str:
    return f"{row['written'][key]:,}" if row["written"] else _NOTHING


def _is_topic_only_asked_for(row: Row) -> bool:
    return not (row["writes"] or row["reads"] or row["administers"])


# Kind → a filter for one of them, as an example.
_FILTERS: Final = {
    "client": "-f 'client_id == NAME'",
    "group": "-f 'group == NAME'",
    "transaction": "-f 'transactional_id == NAME'",
    "topic": "-f 'topic == NAME'",
    "broker": "-f 'broker == \"HOST:PORT\"'",
}
# Kind → the names besides its own by which a row may be asked for.
_OTHER_NAMES: Final[dict[str, Callable[[Row], list[str]]]] = {
    "client": lambda row: row["addresses"] if row["client_id"] is None else [],
    "group": lambda _: [],
    "transaction": lambda row: [] if row["producer_id"] is None else [str(row["producer_id"])],
    "topic": lambda _: [],
    "broker": lambda row: [str(row["node_id"]), row["advertised"] or ""] if row["node_id"] is not None else [],
}


class PortraitRenderer(AnswerRenderer):
    """A table of all portraits, or with `name` the page of the one that has this name."""

    def __init__(
        self, kind: PortraitKind, settings: Settings, name: str | None, within: Callable[[Exchange], bool]
    ) -> None:
        self.fold = kind.fold()
        if settings.values is not None and isinstance(self.fold, TopicPortraits):
            self.fold.set_value_reader(settings.values)
        self._within = within
        self._portrayed = kind
        self._name = name
        super().__init__(self.fold, kind.kind, self._find_rows_by_name, self._format_text, settings)

    def make_empty_copy(self) -> PortraitRenderer:
        """A renderer like this one that has seen nothing."""
        return PortraitRenderer(self._portrayed, self._settings, self._name, self._within)

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Learn also from exchanges that the filters leave out."""
        for row in rows:
            if isinstance(row, Exchange) and (not self._portrayed.in_time or self._within(row)):
                self.fold.learn(row)

    def _find_rows_by_name(self) -> list[Row]:
        rows = self.fold.rows()
        if self._name is None:
            return rows
        kind, key = self._portrayed.kind, self._portrayed.name
        others = [row["others"] for row in rows if "others" in row]
        rows = [row for row in rows if "others" not in row]
        found = [row for row in rows if self._name in (row[key], *_OTHER_NAMES[kind](row))]
        if not found and others:
            raise self.make_not_found_failure(
                f"no {kind} {escape_text(self._name)} among the {len(rows):,} with the most exchanges, and about"
                f" {others[0]:,} others are not told apart: add a filter, such as {_FILTERS[kind]}"
            )
        if not found:
            near = did_you_mean(self._name, [row[key] for row in rows if row[key]])
            raise self.make_not_found_failure(f"no {kind} {escape_text(self._name)} in what was read{near}")
        return found

    def _format_text(self, rows: Sequence[Row], settings: Settings) -> str:
        if self._name is not None:
            return "".join(f"{line}\n" for row in rows for line in _draw_portrait_page(row, settings))
        columns = [
            Column(
                column.title,
                [column.cell(row) for row in rows],
                drop=column.drop or None,
                right=column.right,
                paint=column.paint,
                cut=0 if column.right else _NAME_LEAST,
            )
            for column in self._portrayed.columns
            if not column.says or any(row.get(column.says) for row in rows)
        ]
        paint = palette(settings.color)
        lines = [*draw_table(columns, settings.width, paint, dense=True)]
        if self._portrayed.fold is Transactions and (commands := list_commands_that_end_transactions(rows)):
            lines += ["", *commands]
        if rows and "others" in rows[-1]:
            noun = self._portrayed.kind
            note = explain_row_of_others(count_of(rows[-1]["others"], noun), noun)
            lines += ["", *(f"{paint.dim}{line}{paint.off}" for line in wrap_note(note, settings.width))]
        return "".join(f"{line}\n" for line in lines)


# Partitions that a page lists.
_PARTITIONS_LISTED: Final = 200
_TIMES: Final = ("p50", "p99", "max")
_MARGIN: Final = 19
# The lines of a page in their order: title, and text; a line without text is left out.
_LINES: Final[tuple[tuple[str, Cell], ...]] = (
    ("software", lambda row: format_value_on_one_line(row.get("client_software"))),
    ("looks like", lambda row: format_library(row["library"]) if row.get("library") else ""),
    ("because of", lambda row: row["library"]["why"] if row.get("library") else ""),
    ("users", lambda row: format_value_on_one_line(row.get("users"))),
    ("addresses", lambda row: format_value_on_one_line(row.get("addresses"))),
    ("via", lambda row: format_value_on_one_line(row.get("via_addresses"))),
    ("brokers", lambda row: format_value_on_one_line(row.get("brokers"))),
    ("connections", lambda row: f"{row['connections']:,}" if row.get("connections") else ""),
    ("node", lambda row: "" if row.get("node_id") is None else f"{row['node_id']}, advertised as {row['advertised']}"),
    ("rack", lambda row: row.get("rack") or ""),
    ("controller", lambda row: "yes" if row.get("controller") else ""),
    ("looks like", lambda row: row.get("release") or ""),
    *GROUP_LINES,
    *TRANSACTION_LINES,
    ("clients", lambda row: format_value_on_one_line(row.get("clients"))),
    ("first, last", lambda row: f"{row['first']}, {row['last']}" if row["first"] else "not in the capture"),
    ("exchanges", lambda row: f"{row['count']:,}"),
    ("errors", lambda row: _format_error_codes_and_counts(row)),
    ("unanswered", lambda row: f"{row['unanswered']:,}" if row["unanswered"] else ""),
    (
        "latency",
        lambda row: "" if row["p50"] is None else ", ".join(f"{key} {format_latency(row[key])}" for key in _TIMES),
    ),
    ("bytes", _format_bytes_sent_and_received),
    ("writes", lambda row: format_value_on_one_line(row.get("writes"))),
    ("reads", lambda row: format_value_on_one_line(row.get("reads"))),
    ("administers", lambda row: format_value_on_one_line(row.get("administers"))),
    ("asks", lambda row: format_value_on_one_line(row.get("asks"))),
    ("groups", lambda row: format_value_on_one_line(row.get("groups"))),
    ("transactional ids", lambda row: format_value_on_one_line(row.get("transactional_ids"))),
    ("topic id", lambda row: row.get("topic_id") or ""),
    ("written", lambda row: _describe_written_records(row["written"]) if row.get("written") else ""),
    ("lag of commits", lambda row: ", ".join(f"{group} {lag:,}" for group, lag in (row.get("lag") or {}).items())),
    ("schemas", format_topic_schemas),
    (
        "apis",
        lambda row: ", ".join(f"{name} {format_value_on_one_line(versions)}" for name, versions in row["apis"].items()),
    ),
)


def _describe_written_records(written: Row) -> str:
    """What was written to a topic: `412 records, 38.1kB, in batches ×12; 18.2 records/s, 1.7kB/s; …; zstd ×12`."""
    records = count_of(written["records"], "record")
    parts = [f"{records}, {format_size(written['bytes'])}, in batches ×{written['batches']:,}"]
    if written["records_per_s"] is not None:
        parts.append(f"{written['records_per_s']:,.1f} records/s, {format_size(round(written['bytes_per_s']))}/s")
    mean = f"{written['records_per_batch']:,.1f} records, {format_size(round(written['bytes_per_batch']))}"
    parts.append(f"of {mean} each, the largest {format_size(written['bytes_max'])}")
    parts.append(", ".join(f"{codec} ×{count:,}" for codec, count in written["codecs"].items()))
    return "; ".join(parts)


def _draw_partitions(row: Row, settings: Settings) -> list[str]:
    """The lines of the table of a topic's partitions."""
    rows = row["partitions"][:_PARTITIONS_LISTED]

    def make_number_column(title: str, key: str, drop: int | None = None) -> Column:
        cells = [_NOTHING if each[key] is None else f"{each[key]:,}" for each in rows]
        return Column(title, cells, drop=drop, right=True)

    columns = [
        Column("partition", [str(each["partition"]) for each in rows], right=True),
        Column("leader", [_NOTHING if each["leader"] is None else str(each["leader"]) for each in rows], right=True),
        make_number_column("end", "high_watermark"),
        make_number_column("records written", "records"),
        make_number_column("batches", "batches", 1),
        Column("bytes", [format_size(each["bytes"]) for each in rows], drop=2, right=True),
    ]
    lines = draw_table(columns, settings.width, palette(settings.color), dense=True)
    more = len(row["partitions"]) - len(rows)
    return [f"  {line}" for line in lines] + ([f"  and {more:,} more: -o ndjson has all"] if more else [])


def _format_error_codes_and_counts(row: Row) -> str:
    codes: dict[str, Any] = row["error_codes"]
    return f"{row['errors']:,}: " + ", ".join(f"{name} ×{count:,}" for name, count in codes.items()) if codes else ""


def _draw_portrait_page(row: Row, settings: Settings) -> list[str]:
    """The lines of a row's page: all that is known of one client, group, topic or broker."""
    names = (row[key] for key in ("topic", "broker", "group", "transactional_id", "client_id") if row.get(key))
    head = escape_text(next(names, None) or format_value_on_one_line(row.get("addresses")))
    lines = [head]
    for title, cell in _LINES:
        text = escape_text(cell(row))
        if text:
            lines.append(f"  {title:<{_MARGIN}}{text}")
    if "topic" in row and row["partitions"]:
        lines += _draw_partitions(row, settings)
    if "generation" in row:
        lines += draw_group_details(row, settings)
    if "holds" in row:
        lines += draw_transaction_details(row, settings)
    return [*lines, ""]
