"""A folder of tables in, its exchanges and skipped runs out, as if they came from the captures.

A row is turned into the exchange record that it was made of, and the record is read as a line of NDJSON is
(messages/exchange_from_json.py). Tables of a run without `--bodies` have no bodies: of these only the errors and the
names of topics are known, which have columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import orjson

from decoders.errors import DecodeError
from decoders.exchanges.body_reader import SIDES
from decoders.exchanges.exchange_attribute_table import SCALARS
from decoders.limits import CONNECTIONS_MAX, GROUPS_MAX
from decoders.messages.exchange_from_json import FromRecords, RecordedExchange
from decoders.messages.read_ndjson import TOLD_MAX
from decoders.schema.body_json_form import cell_to_json
from decoders.wire.format_and_escape_text import format_rfc3339
from kwcli.output.short_texts import count_of
from kwcli.pipeline.report.read_tables import Tables
from kwcli.pipeline.tables.arrow_schemas import SCHEMAS
from kwcli.pipeline.tables.connection_columns import ENDED_COLUMNS, read_connection_end
from kwcli.pipeline.tables.exchange_attribute_columns import NOTED, join_columns_into_attribute
from kwcli.pipeline.tables.exchange_columns import BODY_CUT
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Ended, Settled

__all__ = ["ConnectionKey", "StoredExchanges", "StoredRowReader", "number_connections", "read_connection_ends"]

# Point, client, broker, time of the first packet.
ConnectionKey = tuple[str, str, str, int]
_IDENTITY: Final = ("point", "client", "broker", "connection_began_ns")
# Rows that are turned into exchanges together.
AT_ONCE: Final = 256
# Columns that are not read: other columns, or the bodies, say the same.
_UNREAD: Final = frozenset(
    {
        *("time", "client_ip", "client_port", "broker_ip", "broker_port", "error_topics", "topics", "groups"),
        *("batches", "records", "record_bytes", "throttle_time_ms", "max_wait_ms", "min_bytes", "waited_ns"),
        *("fetch_session_id", "fetch_session_epoch", "fetch_session_incremental"),
    }
)
_FURTHER_FILES: Final = ("request_end_file", "response_file", "response_end_file")
EXCHANGE_COLUMNS: Final = tuple(name for name in SCHEMAS["exchanges"].names if name not in _UNREAD)
SKIPPED_COLUMNS: Final = tuple(name for name in SCHEMAS["skipped"].names if name not in _UNREAD)
# Keys of a record that are columns also where `further_keys` has others.
_OF_COLUMNS: Final = ("client_software", "user", "mechanism", "via_address")
# Columns whose exact values are set on the exchange: a record has times in milliseconds.
_TIMES: Final = ("request_end_ns", "response_ns", "response_end_ns", "place")


class StoredRowReader:
    """Turns rows of the tables `exchanges` and `skipped` into the exchanges and skipped runs that they were made of.

    `bodiless` counts the exchanges whose bodies are not in the table. `numbers` are the known numbers of connections
    that were read in parts: as in a table that one process made, in the order of their first packets.
    """

    def __init__(self, numbers: Mapping[ConnectionKey, int] | None = None) -> None:
        self.bodiless = 0
        self._records = FromRecords()
        self._numbers = dict(numbers or {})
        self._met = count(len(self._numbers) + 1)

    def read(self, row: dict[str, Any]) -> Settled:
        """The exchange or skipped run of a row. Raises DecodeError where kw has not written the row."""
        if row["kind"] == "skipped":
            return self._records.read(
                {**row, "time": format_rfc3339(row["time_ns"]), "connection": self._number_connection(row)}
            )
        exchange = self._records.read(self._build_record(row))
        assert isinstance(exchange, RecordedExchange)
        exchange.connection_info.began_ns = row["connection_began_ns"]
        for name in _TIMES:
            setattr(exchange, name, row[name])
        return exchange

    def _number_connection(self, row: dict[str, Any]) -> int:
        """The number of a row's connection; one that was read in parts, and is not known, gets the next free number."""
        if row["connection"] is not None:
            return int(row["connection"])
        key = (row["point"], row["client"], row["broker"], row["connection_began_ns"])
        if key not in self._numbers:
            if len(self._numbers) >= CONNECTIONS_MAX:
                self._numbers.clear()
            self._numbers[key] = next(self._met)
        return self._numbers[key]

    def _build_record(self, row: dict[str, Any]) -> dict[str, Any]:
        """The exchange record of a row, its keys in their order: columns, bodies, further keys."""
        record: dict[str, Any] = {name: row.get(name) for name in SCALARS}
        record |= {"time": format_rfc3339(row["time_ns"]), "connection": self._number_connection(row)}
        record["client_id"] = cell_to_json(row["client_id"])
        record["errors"] = [
            {"path": path, "code": code, "name": name, **({"expected": True} if expected else {})}
            for path, code, name, expected in zip(
                row["error_paths"], row["error_codes"], row["error_names"], row["error_expected"], strict=True
            )
        ]
        record |= self._parse_bodies(row)
        record["packets"] = {
            side: None if row[f"{side}_packet"] is None else [row[f"{side}_packet"], row[f"{side}_packet_end"]]
            for side in SIDES
        }
        further = _read_rare_record_keys(row) if row["further_keys"] is None else orjson.loads(row["further_keys"])
        names = {
            identity: cell_to_json(name)
            for identity, name in zip(row["topic_ids"], row["topic_names"], strict=True)
            if name is not None
        }
        columns = {
            "fetch_session": further.pop("fetch_session", None),
            **{key: join_columns_into_attribute(key, row) for key in _OF_COLUMNS},
            "topic_names": names or None,
            **{key: row[key] for key in _FURTHER_FILES},
        }
        return record | {name: value for name, value in columns.items() if value is not None} | further

    def _parse_bodies(self, row: dict[str, Any]) -> dict[str, Any]:
        """The bodies of a row, by side; None where the table has none."""
        found: dict[str, Any] = {}
        lacking = False
        for side in SIDES:
            text = row[f"{side}_body"]
            found[side] = None if text is None or text == BODY_CUT else orjson.loads(text)
            # A body that cannot be decoded at all is not in the record either.
            expected = row[f"{side}_size"] is not None and row["undecoded_side"] not in (side, "both")
            lacking |= expected and found[side] is None
        self.bodiless += lacking and row["api_key"] is not None
        return found


def _read_rare_record_keys(row: dict[str, Any]) -> dict[str, Any]:
    """The layout, what was not decoded, and notes of a row's record, as far as columns have them."""
    found: dict[str, Any] = {"layout": join_columns_into_attribute("layout", row)}
    if row["undecoded_side"] is not None:
        why = {name: row[f"undecoded_{name}"] for name in ("reason", "offset", "path")}
        sides = SIDES if row["undecoded_side"] == "both" else (row["undecoded_side"],)
        found["undecoded"] = {side: {**why, "raw": ""} for side in sides}
    found |= {key: join_columns_into_attribute(key, row) for key in NOTED}
    return {key: value for key, value in found.items() if value is not None}


def number_connections(tables: Tables) -> dict[ConnectionKey, int]:
    """Numbers for the connections that have none in the tables, since their captures were read in parts.

    Each capture point has numbers of its own, in the order of first packets. Empty where there are many connections.
    """
    if "connections" not in tables or tables.rows["connections"] > GROUPS_MAX:
        return {}
    found: list[tuple[int, ConnectionKey]] = []
    for batch in tables.read_rows_of_captures("connections", ("connection", *_IDENTITY), AT_ONCE):
        for row in batch.to_pylist():
            if row["connection"] is None:
                point, client, broker, began_ns = (row[name] for name in _IDENTITY)
                found.append((began_ns, (point, client, broker, began_ns)))
    met: Counter[str] = Counter()
    numbers = {}
    for _, key in sorted(found):
        met[key[0]] += 1
        numbers[key] = met[key[0]]
    return numbers


def read_connection_ends(tables: Tables, numbers: Mapping[ConnectionKey, int]) -> Iterator[Ended]:
    """The ends of the connections in tables; none where the table is not there."""
    if "connections" not in tables:
        return
    for batch in tables.read_rows_of_captures("connections", ("connection", *_IDENTITY, *_ALSO_ENDED), AT_ONCE):
        for row in batch.to_pylist():
            key = (row["point"], row["client"], row["broker"], row["connection_began_ns"])
            yield read_connection_end(row, row["connection"] or numbers.get(key, 0))


_ALSO_ENDED: Final = tuple(name for name in ENDED_COLUMNS if name not in _IDENTITY)


class StoredExchanges:
    """The exchanges and skipped runs in the tables of one folder. Failure says what is wrong with it.

    `rows` is how many there are, `size` the bytes of their files, `problems` what is wrong with single rows; `faults`
    what was wrong with the captures themselves, when the tables were made.
    """

    def __init__(self, place: str) -> None:
        self._tables = Tables(place)
        if "exchanges" not in self._tables:
            raise Failure(f"{place}: no table of exchanges; kw pipeline run --tables exchanges,… makes one")
        self._names = [name for name in ("exchanges", "skipped") if name in self._tables]
        self._numbers = number_connections(self._tables)
        self._reader = StoredRowReader(self._numbers)
        self._broken = 0
        self.place = place
        self.rows = sum(self._tables.rows[name] for name in self._names)
        self.size = sum(self._tables.sizes[name] for name in self._names)
        self.faults: list[str] = list(self._tables.facts.get("faults", ()))
        self.problems: list[str] = []
        self.span: tuple[int, int] | None = None
        first, last = (self._tables.facts.get(name) for name in ("first_ns", "last_ns"))
        if first and last:
            self.span = (first, last)

    def read(self) -> Iterator[tuple[str, list[Settled]]]:
        """Lists of exchanges and of skipped runs, table by table, each with the name of its capture ("" for runs)."""
        for table in self._names:
            columns = EXCHANGE_COLUMNS if table == "exchanges" else SKIPPED_COLUMNS
            number = 0
            for batch in self._tables.read_rows_of_captures(table, columns, AT_ONCE):
                rows = batch.to_pylist()
                for file, its in groupby(rows, itemgetter("source_file")) if table == "exchanges" else [("", rows)]:
                    found: list[Settled] = []
                    for row in its:
                        number += 1
                        try:
                            found.append(self._reader.read(row))
                        except (DecodeError, orjson.JSONDecodeError) as problem:
                            self._count_and_keep_problem(f"{self.place}/{table}: row {number:,}: {problem}")
                    yield file, found
        if self._broken > len(self.problems):
            self.problems.append(f"{self.place}: {self._broken - len(self.problems):,} more rows are no exchanges")

    def read_connection_ends(self) -> Iterator[Ended]:
        """The ends of the connections, where the tables have them."""
        return read_connection_ends(self._tables, self._numbers)

    def _count_and_keep_problem(self, text: str) -> None:
        self._broken += 1
        if len(self.problems) < TOLD_MAX:
            self.problems.append(text)

    @property
    def lacking(self) -> str | None:
        """What the tables do not have of the exchanges that were read, in a sentence."""
        if not self._reader.bodiless:
            return None
        what = count_of(self._reader.bodiless, "exchange")
        return f"{self.place}: {what} without bodies, so what these said is not known (kw pipeline run --bodies)"
