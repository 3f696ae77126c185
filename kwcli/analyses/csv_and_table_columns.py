"""A row of an answer in, one cell a column out: the columns of -o csv and -o table, declared once for each kind of row.

Rows have lists and objects, as JSON shows them; a cell has one text or number. So a list of names is its names with
commas between them, and each other list or object has a form here, which keeps its names:

```
{"Fetch": [4, 11], "Metadata": [12]}        Fetch 4 11, Metadata 12
{"UNKNOWN_TOPIC_OR_PARTITION": 5}           UNKNOWN_TOPIC_OR_PARTITION:5
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from decoders.exchanges.find_client_library import format_library
from decoders.named_tuple import NamedTuple
from decoders.schema.body_json_form import encode_text_for_cell
from decoders.wire.format_and_escape_text import escape_text
from kwcli.output.csv import Cell, format_counts, format_csv_lines, join_values
from kwcli.output.short_texts import format_number_ranges, palette
from kwcli.output.table import Column, draw_table, format_markdown_table

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from kwcli.output.output_settings import Settings

__all__ = [
    "FLAT_COLUMNS",
    "FlatColumn",
    "flatten_row",
    "format_csv",
    "format_markdown",
    "format_record_reader",
    "format_source_record",
    "format_table",
]

# A value of a row, other than None, as the content of a cell.
Form = Callable[[Any], Cell]
# The least width that a column of text is cut to.
_CUT: Final = 20


def _format_software(software: Row) -> str:
    return " ".join(encode_text_for_cell(part) for part in (software["name"], software["version"]) if part)


def _format_versions(versions_by_api: Mapping[str, Iterable[int]]) -> str:
    return ", ".join(" ".join([name, *map(str, versions)]) for name, versions in versions_by_api.items())


def _format_audited_uses(uses: Iterable[Row]) -> str:
    versions: dict[str, list[int]] = {}
    for use in uses:
        versions.setdefault(use["api"], []).append(use["api_version"])
    return _format_versions(versions)


def _format_refused_uses(uses: Iterable[Row]) -> str:
    """Versions that the target does not serve, with those that it does: `Produce 0 2 (3-13), StopReplica 3 (gone)`."""
    versions: dict[tuple[str, str], list[int]] = {}
    for use in uses:
        serves = use["serves"]
        if serves is None or not serves[0] <= use["api_version"] <= serves[1]:
            told = "gone" if serves is None else "-".join(map(str, serves))
            versions.setdefault((use["api"], told), []).append(use["api_version"])
    return ", ".join(f"{api} {' '.join(map(str, its))} ({told})" for (api, told), its in versions.items())


def _format_offered_versions(apis: Iterable[Row]) -> str:
    """What a broker offers of each API that it lacks for its clients: `Fetch 0 3, Produce` (none)."""
    return _format_versions({row["api"]: row["offers"] or () for row in apis})


def _format_partitions_by_topic(partitions: Iterable[Row]) -> str:
    """Partitions by topic: `orders[0-2] payments[0]`."""
    numbers: dict[str, list[int]] = {}
    for row in partitions:
        numbers.setdefault(row["topic"], []).append(row["partition"])
    return " ".join(f"{encode_text_for_cell(topic)}[{format_number_ranges(its)}]" for topic, its in numbers.items())


def _format_generations(timeline: Iterable[Row]) -> str:
    """Generations, each with what caused it: `4 joined, 5 left`."""
    return ", ".join(f"{row['generation']} {row['cause']['what'] if row['cause'] else ''}".strip() for row in timeline)


def _format_share_ranges(ranges: Iterable[Row]) -> str:
    """Ranges of records of share groups, with their states: `orders-0@3-7 held, orders-1@9 archived`."""
    found = []
    for row in ranges:
        first, last = row["first_offset"], row["last_offset"]
        offsets = str(first) if first == last else f"{first}-{last}"
        found.append(f"{encode_text_for_cell(row['topic'])}-{row['partition']}@{offsets} {row['state']}")
    return ", ".join(found)


def _format_held_back_partitions(holds: Iterable[Row]) -> str:
    """Partitions that are held back, each with its last stable offset: `orders-0@42, payments-1@7`."""
    return ", ".join(
        f"{encode_text_for_cell(row['topic'])}-{row['partition']}@{row['last_stable_offset']}" for row in holds
    )


def _format_transaction_events(timeline: Iterable[Row]) -> str:
    """The APIs of a timeline in their order, those in a row once: `InitProducerId, Produce ×3, EndTxn`."""
    runs = [(api, len(list(its))) for api, its in groupby(timeline, key=lambda row: row["api"])]
    return ", ".join(api if count == 1 else f"{api} ×{count}" for api, count in runs)


def _format_error_counts_by_api(refused: Iterable[Row]) -> str:
    return ", ".join(f"{row['api']} {row['error']}:{row['count']}" for row in refused)


def _format_packets_of_evidence(evidence: Iterable[Row]) -> str:
    """The packets of exchanges by file, as --packet takes them: `a.pcap:17-21,53`; `connection 3` without packets."""
    found: dict[str, list[str]] = {}
    for row in evidence:
        if row["packets"] is None:
            found[f"connection {row['connection']}"] = []
        else:
            file = f"{row['file']}:" if row["file"] else ""
            found.setdefault(file, []).append("-".join(map(str, sorted({*row["packets"]}))))
    return ", ".join(where + ",".join(numbers) for where, numbers in found.items())


def format_record_reader(reader: Row) -> str:
    """A group, or clients without one, with how often they read a record: `billing ×2`; `billing ×1 committed`."""
    name = reader["group"] if reader["group"] is not None else " ".join(map(encode_text_for_cell, reader["clients"]))
    return f"{encode_text_for_cell(name)} ×{reader['reads']}" + (" committed" if reader["committed"] else "")


def format_source_record(source: Row) -> str:
    """From which record another one follows, and why: `orders/2@0 by order-id`."""
    topic = encode_text_for_cell(source["topic"])
    return f"{topic}/{source['partition']}@{source['offset']} by {' '.join(source['headers'])}"


class FlatColumn(NamedTuple):
    """One column: `form` makes its cell of the row's value under `key`.

    `drop`: where a terminal is too narrow for a table, the column with the greatest goes first; None: none goes.
    `rare`: only some rows have the key, and a table has the column only if one of its rows has it. `optional`: the same
    holds for CSV.
    """

    name: str
    key: str
    form: Form
    drop: int | None
    rare: bool
    optional: bool


def format_topic_schema(schema: Row) -> str:
    """A schema of a topic: `value avro #17 shop.Order 98 %`."""
    identity = None if schema["schema_id"] is None else f"#{schema['schema_id']}"
    words = [schema["part"], schema["format"] or "other", identity, schema["name"], f"{schema['share'] * 100:.3g} %"]
    return " ".join(filter(None, words))


def format_topic_schemas(row: Row, most: int | None = None) -> str:
    """The schemas of a topic with their shares, but for keys or values of which no form is known."""
    found = [each for each in row.get("schemas") or () if each["format"] is not None or each["share"] < 1]
    more = "" if most is None or len(found) <= most else f" +{len(found) - most:,}"
    return ", ".join(escape_text(format_topic_schema(each)) for each in found[:most]) + more


# Column → form, where it is no list of names and no scalar; for one kind alone, `kind.column`.
_FORMS: Final[dict[str, Form]] = {
    "client_software": _format_software,
    "library": format_library,
    "apis": _format_versions,
    "audit.apis": _format_audited_uses,
    "audit_broker.apis": _format_offered_versions,
    "audit.refused": _format_refused_uses,
    "audit.count": lambda uses: sum(use["count"] for use in uses),
    "audit.last": lambda uses: max((use["last"] for use in uses), default=None),
    "findings": lambda findings: join_values([each["id"] for each in findings]),
    "error_codes": format_counts,
    "lag": format_counts,
    "shared": format_counts,
    "locks": _format_share_ranges,
    "last_attempts": _format_share_ranges,
    "schemas": lambda schemas: join_values([format_topic_schema(each) for each in schemas]),
    "members": lambda members: join_values([each["member_id"] for each in members if each["present"]]),
    "timeline": _format_generations,
    "refused": _format_error_counts_by_api,
    "group.partitions": _format_partitions_by_topic,
    "transaction.partitions": _format_partitions_by_topic,
    "holds": _format_held_back_partitions,
    "transaction.timeline": _format_transaction_events,
    "topic.partitions": lambda partitions: join_values([each["partition"] for each in partitions]),
    "headers": lambda headers: join_values(
        [f"{encode_text_for_cell(each['key'])}={encode_text_for_cell(each['value'])}" for each in headers]
    ),
    "transaction": lambda transaction: join_values([transaction["id"], transaction["outcome"] or "open"]),
    "read_by": lambda readers: join_values([format_record_reader(each) for each in readers]),
    "downstream_of": format_source_record,
    "events": lambda events: join_values([f"{each['event']} {each['time']}" for each in events]),
    "evidence": _format_packets_of_evidence,
    "cause": lambda cause: join_values([cause["title"]]),
    "consequences": lambda consequences: join_values([each["title"] for each in consequences]),
}
# Column → the key of the row and the part of its object that it has.
_PARTS: Final[dict[str, tuple[str, str]]] = {
    "library_sure": ("library", "sure"),
    "library_why": ("library", "why"),
    # What the rows of an audit are judged by: the uses in `apis`.
    **{f"audit.{name}": ("apis", "") for name in ("refused", "count", "last")},
    "written": ("written", "records"),
    "written_batches": ("written", "batches"),
    "written_bytes": ("written", "bytes"),
    "written_codecs": ("written", "codecs"),
}
# Keys of rows that say how much an answer leaves out.
_OPTIONAL: Final = ("cut", "others", "partial")


def _make_formatter_of_part(name: str) -> Form:
    return lambda value: format_counts(value[name]) if isinstance(value[name], dict) else join_values(value[name])


def _make_columns_of_kind(kind: str, names: str, first: str, rare: str = "") -> tuple[FlatColumn, ...]:
    """The columns of a kind of rows, in order; `first`: what a narrow table shows, the most important one first."""
    order = [*first.split(), *(name for name in names.split() if name not in first.split())]
    columns = []
    for name in (*names.split(), *_OPTIONAL):
        key, part = _PARTS.get(f"{kind}.{name}") or _PARTS.get(name, (name, ""))
        form = (
            _make_formatter_of_part(part) if part else _FORMS.get(f"{kind}.{name}") or _FORMS.get(name) or join_values
        )
        drop = order.index(name) if name in order else len(order)
        optional = name in _OPTIONAL
        columns.append(FlatColumn(name, key, form, drop or None, optional or name in rare.split(), optional))
    return tuple(columns)


_NUMBERS: Final = "count errors error_codes unanswered undecoded request_bytes response_bytes p50 p99 max first last"
_FINDING: Final = "id severity title count first last"
_ADVICE: Final = "evidence command meaning remedy"
_ABOUT: Final = (
    "client_id clients topic topics partition partitions group transactional_id broker node_id address api api_version"
    " error went_on nearest_topic reasons users cause consequences"
)
_ABOUT_SECURITY: Final = (
    "broker brokers mechanism users user address secret api configs version cipher whose subject issuer expires by how"
    " acls owners clients"
)
# Kind of row → its columns.
FLAT_COLUMNS: Final[dict[str, tuple[FlatColumn, ...]]] = {
    kind: _make_columns_of_kind(kind, *words)
    for kind, words in {
        "client": (
            "client_id client_software library library_sure library_why addresses via_addresses connections brokers"
            f" apis writes reads administers groups transactional_ids users {_NUMBERS}",
            "client_id count errors p99 client_software writes reads groups",
            "via_addresses",
        ),
        "group": (
            "group type state protocol coordinator members generation rebalances timeline refused partitions commit_lag"
            f" position_lag refetched shared delivery_limit locks last_attempts clients asked_by apis {_NUMBERS}",
            "group state commit_lag rebalances position_lag type coordinator",
        ),
        "transaction": (
            "transactional_id producer_id producer_epoch state sure why began ended age_ms timeout_ms implicit"
            " client_id address client_software coordinator partitions groups holds command transactions commits"
            f" aborts timeline clients asked_by apis {_NUMBERS}",
            "transactional_id state age_ms producer_id holds client_id partitions",
        ),
        "topic": (
            "topic topic_id writes reads administers asks groups partitions written written_batches written_bytes"
            f" written_codecs lag schemas apis {_NUMBERS}",
            "topic count errors writes reads groups schemas",
            "schemas",
        ),
        "broker": (
            f"broker node_id rack advertised controller release clients apis {_NUMBERS}",
            "broker node_id count errors p99 controller release",
        ),
        "finding": (f"{_FINDING} {_ABOUT} {_ADVICE}", "severity title count id", _ABOUT),
        "security": (f"{_FINDING} {_ABOUT_SECURITY} {_ADVICE}", "severity title count id", _ABOUT_SECURITY),
        "trace": (
            "topic partition offset timestamp key value_size headers produced_by produced acknowledged tries"
            " transaction read_by downstream_of events not_in_capture",
            "topic partition offset produced produced_by read_by tries key",
        ),
        "duplicate": (
            "topic partition offset last_offset copy_offset records client_id producer_id sequence time copy_time"
            " apart_ms why evidence",
            "topic partition offset copy_offset records client_id why",
        ),
        "loss": (
            "topic partition offset last_offset records group produced_by produced passed_by passed why evidence",
            "topic partition offset last_offset group why passed_by",
        ),
        "misrouted": (
            "topic partition offset records rightful_topic rightful_partition client_id producer_id producer_epoch"
            " sequence time sure why evidence",
            "topic partition rightful_topic rightful_partition client_id offset records why",
        ),
        "audit": (
            "client_id client_software library library_sure library_why addresses verdict why needs apis refused count"
            " last",
            "client_id verdict why needs refused count last client_software",
        ),
        "audit_broker": ("broker verdict apis", "broker verdict"),
        "difference": (
            "change client_id broker api topic group error metric unit before after ratio delta p significant"
            " count_before count_after",
            "change client_id broker api before after ratio error topic group metric",
        ),
        "advisory": (
            "id verdict seen where client_id client_software library library_sure library_why addresses broker release"
            " topics count first last effect affected fixed since url why findings evidence command",
            "id verdict seen client_id broker client_software release topics fixed",
            "command",
        ),
    }.items()
}


def flatten_row(row: Row, columns: Iterable[FlatColumn]) -> list[Cell]:
    """The content of each cell of a row."""
    return [None if row.get(column.key) is None else column.form(row[column.key]) for column in columns]


def format_csv(kind: str, rows: Sequence[Row], settings: Settings) -> str:
    """CSV with a line for each row, and a header line first."""
    columns = [column for column in FLAT_COLUMNS[kind] if not column.optional or any(column.key in row for row in rows)]
    heading: list[Cell] = [column.name for column in columns]
    return format_csv_lines([heading, *(flatten_row(row, columns) for row in rows)], safe=settings.csv_safe)


def format_markdown(kind: str, rows: Sequence[Row], _settings: Settings) -> str:
    """A table of Markdown with the columns that any row has a value in; long cells are cut."""
    columns = [column for column in FLAT_COLUMNS[kind] if not column.rare or any(column.key in row for row in rows)]
    cells = [["" if cell is None else cell for cell in flatten_row(row, columns)] for row in rows]
    kept = [at for at in range(len(columns)) if not rows or any(line[at] != "" for line in cells)]
    lines = format_markdown_table(
        [columns[at].name for at in kept],
        [bool(rows) and all(not isinstance(line[at], str) or line[at] == "" for line in cells) for at in kept],
        ([str(line[at]) for at in kept] for line in cells),
    )
    return "".join(f"{line}\n" for line in lines)


def format_table(kind: str, rows: Sequence[Row], settings: Settings) -> str:
    """A table; where a terminal has no room, the least important columns are left out, then long texts are cut."""
    columns = [column for column in FLAT_COLUMNS[kind] if not column.rare or any(column.key in row for row in rows)]
    cells = list(zip(*(flatten_row(row, columns) for row in rows), strict=True)) or [()] * len(columns)
    drawn = [
        Column(
            column.name,
            ["–" if cell in (None, "") else escape_text(str(cell)) for cell in its],
            drop=column.drop,
            right=all(not isinstance(cell, str) for cell in its if cell is not None),
            cut=_CUT if any(isinstance(cell, str) for cell in its) else 0,
        )
        for column, its in zip(columns, cells, strict=True)
    ]
    return "".join(f"{line}\n" for line in draw_table(drawn, settings.width, palette(settings.color), dense=True))
