"""Ends of connections in, record batches of the table `connections` out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kwcli.pipeline.tables.rows import as_text, split_address
from kwcli.pipeline.tables.schemas import ENDED, TYPES

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Ended


# Columns → attributes of the same meaning.
_PLAIN: Final[dict[str, str]] = {
    "time_ns": "time_ns",
    "last_ns": "last_ns",
    "kafka": "kafka",
    "reason": "reason",
    "detail": "detail",
    "opened": "opened",
    "closed": "how",
    "client_packets": "client_packets",
    "server_packets": "server_packets",
    "client_bytes": "client_bytes",
    "server_bytes": "server_bytes",
    "client_gaps": "client_gaps",
    "server_gaps": "server_gaps",
    "client_missing": "client_missing",
    "server_missing": "server_missing",
    "client_retransmissions": "client_again",
    "server_retransmissions": "server_again",
    "exchanges": "exchanges",
}


class ConnectionColumns:
    """Collects the connections of one capture point."""

    def __init__(self, point: str) -> None:
        self.point = point
        self._columns: dict[str, list[Any]] = {name: [] for name in ENDED.names}

    def __len__(self) -> int:
        return len(self._columns["time_ns"])

    def add(self, ended: Ended) -> None:
        """Take in a connection."""
        columns, ends = self._columns, ended.ends
        for name, attribute in _PLAIN.items():
            columns[name].append(getattr(ended, attribute) if name not in _TEXTS else getattr(ended, attribute) or None)
        for side, address in (("client", ends.client), ("broker", ends.broker)):
            ip, port = split_address(address)
            columns[side].append(address)
            columns[f"{side}_ip"].append(ip)
            columns[f"{side}_port"].append(port)
        software = ended.client_software
        columns["client_id"].append(_shown(ended.client_id))
        columns["client_software_name"].append(_shown(software["name"] if software else None))
        columns["client_software_version"].append(_shown(software["version"] if software else None))
        columns["user"].append(_shown(ended.user))
        columns["mechanism"].append(_shown(ended.mechanism))
        columns["connection"].append(ends.number or None)
        columns["connection_began_ns"].append(ends.began_ns)

    def batch(self) -> pa.RecordBatch:
        """The connections since the last batch."""
        columns, count = self._columns, len(self)
        self._columns = {name: [] for name in ENDED.names}
        columns["point"] = [self.point] * count
        made = {name: pa.array(columns[name], ENDED.field(name).type) for name in ENDED.names if name != "time"}
        made["time"] = pc.divide(made["time_ns"], 1000).cast(TYPES["timestamp"])
        return pa.RecordBatch.from_arrays([made[name] for name in ENDED.names], schema=ENDED)


# Where the engine's empty word is the table's null.
_TEXTS: Final = frozenset({"reason", "detail"})


def _shown(text: str | None) -> str | None:
    return None if text is None else as_text(text)
