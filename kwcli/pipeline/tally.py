"""Batches of table rows in, what they hold as a whole out: the counts of the closing line, which add up in any order.

Every writer counts its own rows, on whatever machine it runs; `export` and `resume` carry the counts home.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from kwcli.summary import LOSSY, missing

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RunCounts"]

_READ: Final = ["kind", "status", "error_codes", "client_ip", "client_id", "broker", "time_ns", "reason", "size"]


class RunCounts:
    """Counts. `clients` are pairs of host and client id; `runs` reason → runs of bytes that are no exchange."""

    __slots__ = (
        "brokers",
        "clients",
        "connections",
        "errors",
        "exchanges",
        "first_ns",
        "gaps",
        "last_ns",
        "run_bytes",
        "runs",
        "statuses",
    )

    def __init__(self) -> None:
        self.exchanges = 0
        self.statuses: Counter[str] = Counter()
        self.errors = 0
        self.clients: set[tuple[str, str]] = set()
        self.brokers: set[str] = set()
        self.connections = 0  # that are Kafka
        self.gaps = 0
        self.runs: Counter[str] = Counter()
        self.run_bytes: Counter[str] = Counter()
        self.first_ns = 0
        self.last_ns = 0

    @property
    def lossy(self) -> bool:
        """Whether traffic is missing, or could not be decoded."""
        return self.gaps > 0 or any(self.statuses[status] for status in LOSSY) or bool(missing(self.runs))

    def add(self, rows: pa.RecordBatch) -> None:
        """Count rows of the travelling form (schemas.ROWS): exchanges and skipped runs."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if rows.num_rows:
            both = pa.Table.from_batches([rows.select(_READ)])
            runs = pc.equal(both["kind"], "skipped")
            self._exchanges(both.filter(pc.invert(runs)))
            self._skipped(both.filter(runs))

    def add_connections(self, rows: pa.RecordBatch) -> None:
        """Count rows of the table `connections`."""
        import pyarrow.compute as pc

        kafka = rows.filter(rows.column("kafka"))
        self.connections += kafka.num_rows
        self.gaps += sum(pc.sum(kafka.column(name)).as_py() or 0 for name in ("client_gaps", "server_gaps"))

    def _exchanges(self, rows: pa.Table) -> None:
        import pyarrow.compute as pc

        if not rows.num_rows:
            return
        self.exchanges += rows.num_rows
        for pair in pc.value_counts(rows["status"]).to_pylist():
            self.statuses[pair["values"]] += pair["counts"]
        self.errors += pc.sum(pc.greater(pc.list_value_length(rows["error_codes"]), 0)).as_py() or 0
        named = rows.select(["client_ip", "client_id"]).group_by(["client_ip", "client_id"]).aggregate([])
        for client_ip, client_id in zip(*(named[name].to_pylist() for name in ("client_ip", "client_id")), strict=True):
            if client_id is not None:
                self.clients.add((client_ip, client_id))
        self.brokers.update(pc.unique(rows["broker"]).to_pylist())
        span = pc.min_max(rows["time_ns"]).as_py()
        self.first_ns = min(self.first_ns or span["min"], span["min"])
        self.last_ns = max(self.last_ns, span["max"])

    def _skipped(self, rows: pa.Table) -> None:
        found = rows.select(["reason", "size"]).group_by("reason").aggregate([("size", "sum"), ("size", "count")])
        for row in found.to_pylist():
            self.runs[row["reason"]] += row["size_count"]
            self.run_bytes[row["reason"]] += row["size_sum"]

    def merge(self, other: RunCounts) -> None:
        """Add the counts of another one."""
        for name in ("statuses", "runs", "run_bytes"):
            getattr(self, name).update(getattr(other, name))
        self.exchanges += other.exchanges
        self.errors += other.errors
        self.connections += other.connections
        self.gaps += other.gaps
        self.clients |= other.clients
        self.brokers |= other.brokers
        self.first_ns = min(filter(None, (self.first_ns, other.first_ns)), default=0)
        self.last_ns = max(self.last_ns, other.last_ns)

    def export(self) -> str:
        """All of it as text."""
        values: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps({**values, "clients": sorted(self.clients), "brokers": sorted(self.brokers)})

    @classmethod
    def resume(cls, text: str) -> RunCounts:
        """What `export` gave."""
        tally = cls()
        for name, value in json.loads(text).items():
            kind = type(getattr(tally, name))
            setattr(tally, name, kind(map(tuple, value)) if name == "clients" else kind(value))
        return tally
