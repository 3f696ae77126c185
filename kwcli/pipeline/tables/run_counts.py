"""Record batches in, the counts of a run out: they are added, and travel as text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import orjson
import pyarrow as pa

from decoders.exchanges.body_reader import SIDES
from decoders.exchanges.chunks_to_exchanges import is_missing_direction_a_capture_fault
from decoders.exchanges.exchange import ClientIdentity
from decoders.exchanges.topic_arrays import BATCH_ARRAYS, partitions_in
from decoders.limits import CLIENTS_COUNTED_MAX
from decoders.messages.decode_record_values import format_id_of_missing_schema
from decoders.protocols import foreign_protocol_name
from kwcli.reading.sinks.closing_lines import LOSSY, count_gaps_by_reason

__all__ = ["RunCounts"]

# Counts whose keys are ports, which JSON has as texts.
_BY_PORT: Final = ("answers_only", "requests_only", "foreign")
# Columns that tell clients apart.
_WHO: Final = ["client_ip", "client_id", "client_software_name", "client_software_version"]
_READ: Final = ["kind", "source", "status", "error_expected", *_WHO, "api_key", "broker", "time_ns", "reason", "size"]
# In bodies that have decoded keys or values without a schema; in few others.
_MISSING: Final = '"missing_schema":true'


class RunCounts:
    """The counts of a run. `clients` are those that sent requests; `runs` has reason → skipped runs of bytes.

    `missing_schemas` has how many keys and values in bodies name each id whose schema was not found.
    """

    __slots__ = (
        "answers_only",
        "brokers",
        "clients",
        "connections",
        "errors",
        "exchanges",
        "expected",
        "first_ns",
        "foreign",
        "gaps",
        "last_ns",
        "logged",
        "missing_schemas",
        "requests_only",
        "run_bytes",
        "runs",
        "statuses",
    )

    def __init__(self) -> None:
        self.exchanges = 0
        self.logged = 0  # exchanges of request logs, which are in no other count
        self.statuses: Counter[str] = Counter()
        self.errors = 0  # exchanges that have one
        self.expected = 0  # exchanges that only have expected errors
        self.clients: set[ClientIdentity] = set()
        self.brokers: set[str] = set()
        self.connections = 0  # those that carry Kafka
        self.gaps = 0
        # As `Summary` has them.
        self.answers_only: Counter[int] = Counter()
        self.requests_only: Counter[int] = Counter()
        self.foreign: Counter[tuple[str, int]] = Counter()
        self.runs: Counter[str] = Counter()
        self.run_bytes: Counter[str] = Counter()
        self.missing_schemas: Counter[str] = Counter()
        self.first_ns = 0
        self.last_ns = 0

    @property
    def is_lossy(self) -> bool:
        """Whether traffic is missing, or could not be decoded."""
        return (
            self.gaps > 0
            or any(self.statuses[status] for status in LOSSY)
            or bool(count_gaps_by_reason(self.runs) or self.requests_only)
        )

    def count_rows(self, rows: pa.RecordBatch) -> None:
        """Count rows of schemas.ROWS: exchanges and skipped runs."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if rows.num_rows:
            both = pa.Table.from_batches([rows.select(_READ)])
            runs = pc.equal(both["kind"], "skipped")
            logged = pc.fill_null(pc.equal(both["source"], "log"), False)
            self.logged += pc.sum(logged).as_py()
            self._count_exchanges(both.filter(pc.invert(pc.or_(runs, logged))))
            self._count_skipped(both.filter(runs))
            for side in SIDES:
                self._count_missing_schemas(rows, f"{side}_body")

    def count_connections(self, rows: pa.RecordBatch) -> None:
        """Count rows of the table `connections`."""
        import pyarrow.compute as pc

        kafka = rows.filter(rows.column("kafka"))
        self.connections += kafka.num_rows
        self.gaps += sum(pc.sum(kafka.column(name)).as_py() or 0 for name in ("client_gaps", "server_gaps"))
        self._count_one_direction(kafka)
        others = rows.filter(pc.and_(pc.invert(rows.column("kafka")), pc.is_valid(rows.column("reason"))))
        for detail, port in zip(*(others.column(name).to_pylist() for name in ("detail", "broker_port")), strict=True):
            self.foreign[foreign_protocol_name(detail), port] += 1

    def _count_one_direction(self, kafka: pa.RecordBatch) -> None:
        """Count Kafka connections of which the capture has one direction only."""
        import pyarrow.compute as pc

        packets = [kafka.column(f"{side}_packets") for side in ("client", "server")]
        alone = kafka.filter(
            pc.or_(
                pc.or_(pc.equal(packets[0], 0), pc.equal(packets[1], 0)),
                pc.fill_null(pc.equal(kafka.column("reason"), "one_direction"), False),
            )
        )
        names = ("reason", "opened", "client_packets", "server_packets", "broker_port")
        for reason, opened, client, server, port in zip(
            *(alone.column(name).to_pylist() for name in names), strict=True
        ):
            if reason is not None or is_missing_direction_a_capture_fault(opened=opened, packets=client + server):
                (self.answers_only if server else self.requests_only)[port] += 1

    def _count_exchanges(self, rows: pa.Table) -> None:
        import pyarrow.compute as pc

        if not rows.num_rows:
            return
        self.exchanges += rows.num_rows
        for pair in pc.value_counts(rows["status"]).to_pylist():
            self.statuses[pair["values"]] += pair["counts"]
        self._count_errors(rows["error_expected"].combine_chunks())
        asked = rows.filter(pc.is_valid(rows["api_key"])).select(_WHO).group_by(_WHO).aggregate([])
        for ip, client_id, name, version in zip(*(asked[column].to_pylist() for column in _WHO), strict=True):
            if len(self.clients) <= CLIENTS_COUNTED_MAX:
                self.clients.add((ip, client_id or "", name, version))
        self.brokers.update(pc.unique(rows["broker"]).to_pylist())
        span = pc.min_max(rows["time_ns"]).as_py()
        self.first_ns = min(self.first_ns or span["min"], span["min"])
        self.last_ns = max(self.last_ns, span["max"])

    def _count_errors(self, expected: pa.Array) -> None:
        """Count exchanges with errors, and exchanges that only have expected errors."""
        import pyarrow.compute as pc

        having = pc.list_parent_indices(expected)
        failed = having.filter(pc.invert(pc.list_flatten(expected)))
        errors = pc.count_distinct(failed).as_py()
        self.errors += errors
        self.expected += pc.count_distinct(having).as_py() - errors

    def _count_skipped(self, rows: pa.Table) -> None:
        found = rows.select(["reason", "size"]).group_by("reason").aggregate([("size", "sum"), ("size", "count")])
        for row in found.to_pylist():
            self.runs[row["reason"]] += row["size_count"]
            self.run_bytes[row["reason"]] += row["size_sum"]

    def _count_missing_schemas(self, rows: pa.RecordBatch, column: str) -> None:
        import pyarrow.compute as pc

        bodies = rows.column(column)
        if bodies.null_count == len(bodies):
            return
        found = rows.select(["api_key", column]).filter(pc.match_substring(bodies, _MISSING))
        for api_key, text in zip(*(found.column(name).to_pylist() for name in found.schema.names), strict=True):
            self.missing_schemas.update(_list_missing_schemas(api_key, text))

    def merge(self, other: RunCounts) -> None:
        """Add the counts of `other`."""
        names = ("statuses", "runs", "run_bytes", "answers_only", "requests_only", "foreign", "missing_schemas")
        for name in names:
            getattr(self, name).update(getattr(other, name))
        self.exchanges += other.exchanges
        self.logged += other.logged
        self.errors += other.errors
        self.expected += other.expected
        self.connections += other.connections
        self.gaps += other.gaps
        self.clients |= set(islice(other.clients, max(CLIENTS_COUNTED_MAX + 1 - len(self.clients), 0)))
        self.brokers |= other.brokers
        self.first_ns = min(filter(None, (self.first_ns, other.first_ns)), default=0)
        self.last_ns = max(self.last_ns, other.last_ns)

    def export(self) -> str:
        """All counts as text, for `resume`."""
        values: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        values |= {name: list(values[name].items()) for name in _BY_PORT}
        return json.dumps({**values, "clients": list(self.clients), "brokers": sorted(self.brokers)})

    @classmethod
    def resume(cls, text: str) -> RunCounts:
        """The counts of a text that `export` made."""
        tally = cls()
        for name, value in json.loads(text).items():
            if name in _BY_PORT:
                its = {tuple(key) if isinstance(key, list) else key: count for key, count in value}
                setattr(tally, name, Counter(its))
                continue
            kind = type(getattr(tally, name))
            setattr(tally, name, kind(map(tuple, value)) if name == "clients" else kind(value))
        return tally


def _list_missing_schemas(api_key: int | None, text: str) -> Iterator[str]:
    """What keys and values of the records in a body name whose schemas are missing."""
    array = BATCH_ARRAYS.get(-1 if api_key is None else api_key)
    if array is None:
        return
    for _, partition in partitions_in(orjson.loads(text), array):
        for batch in partition.get(array.records) or ():
            for record in batch.get("records") or ():
                for field in ("key_decoded", "value_decoded"):
                    decoded = record.get(field)
                    if decoded is not None and decoded.get("missing_schema"):
                        yield format_id_of_missing_schema(decoded["schema_id"], decoded["name"])
