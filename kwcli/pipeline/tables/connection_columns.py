"""Ends of connections in, record batches of the table `connections` out; and rows of that table in, the ends out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from decoders.exchanges.exchange import ENDED_KEYS, ConnectionInfo, Ended
from decoders.exchanges.topic_and_node_names import Topics
from decoders.schema.body_json_form import decode_text_of_cell, encode_text_for_cell
from kwcli.pipeline.tables.arrow_schemas import ENDED, TYPES
from kwcli.pipeline.tables.exchange_columns import split_address

if TYPE_CHECKING:
    from collections.abc import Mapping


# Attributes of `Ended` that are columns by another name, and those that are made of several columns, or texts.
_NAMED: Final = {"how": "closed", "client_again": "client_retransmissions", "server_again": "server_retransmissions"}
_MADE: Final = frozenset({"client_id", "client_software", "login"})
# Columns → attributes of `Ended` with the same meaning.
_PLAIN: Final = {_NAMED.get(name, name): name for name in ENDED_KEYS if name not in _MADE}


class ConnectionColumns:
    """Collects the connections of one capture point."""

    def __init__(self, point: str) -> None:
        self.point = point
        self._columns: dict[str, list[Any]] = {name: [] for name in ENDED.names}

    def __len__(self) -> int:
        return len(self._columns["time_ns"])

    def add_connection(self, ended: Ended) -> None:
        """Add a connection that ended."""
        columns, info = self._columns, ended.connection_info
        for name, attribute in _PLAIN.items():
            columns[name].append(getattr(ended, attribute) if name not in _TEXTS else getattr(ended, attribute) or None)
        for side, address in (("client", info.client), ("broker", info.broker)):
            ip, port = split_address(address)
            columns[side].append(address)
            columns[f"{side}_ip"].append(ip)
            columns[f"{side}_port"].append(port)
        software = ended.client_software
        columns["client_id"].append(encode_text_cell(ended.client_id))
        columns["client_software_name"].append(encode_text_cell(software["name"] if software else None))
        columns["client_software_version"].append(encode_text_cell(software["version"] if software else None))
        columns["user"].append(encode_text_cell(ended.user))
        columns["mechanism"].append(encode_text_cell(ended.mechanism))
        columns["via_address"].append(info.via_address)
        columns["connection"].append(info.number or None)
        columns["connection_began_ns"].append(info.began_ns)

    def take_batch(self) -> pa.RecordBatch:
        """The connections added since the last batch, as rows of the table."""
        columns, count = self._columns, len(self)
        self._columns = {name: [] for name in ENDED.names}
        columns["point"] = [self.point] * count
        made = {name: pa.array(columns[name], ENDED.field(name).type) for name in ENDED.names if name != "time"}
        made["time"] = pc.divide(made["time_ns"], 1000).cast(TYPES["timestamp"])
        return pa.RecordBatch.from_arrays([made[name] for name in ENDED.names], schema=ENDED)


def read_connection_end(row: Mapping[str, Any], number: int) -> Ended:
    """The end of a connection, made from its row; `number` is the number of the connection for people."""
    info = ConnectionInfo(number, row["client"], row["broker"], row["connection_began_ns"], Topics())
    info.via_address = row["via_address"]
    name, version = (_decode_text_cell(row[f"client_software_{part}"]) for part in ("name", "version"))
    user, mechanism = _decode_text_cell(row["user"]), _decode_text_cell(row["mechanism"])
    values: dict[str, Any] = {
        attribute: _NONE[column] if row[column] is None and column in _NONE else row[column]
        for column, attribute in _PLAIN.items()
    }
    values["client_id"] = _decode_text_cell(row["client_id"])
    values["client_software"] = None if name is None else {"name": name, "version": version or ""}
    nobody = user is None and mechanism is None
    values["login"] = None if nobody else {"user": user, "mechanism": mechanism}
    return Ended.make_resumed(info, [values[name] for name in ENDED_KEYS])


def encode_text_cell(text: str | None) -> str | None:
    """A column's value for a text, which may be no UTF-8; None for none."""
    return None if text is None else encode_text_for_cell(text)


def _decode_text_cell(cell: str | None) -> str | None:
    """The text from which `encode_text_cell` made a column's value."""
    return None if cell is None else decode_text_of_cell(cell)


# Columns that `read_connection_end` reads.
ENDED_COLUMNS: Final = (
    *("client", "broker", "connection_began_ns", "client_id", "client_software_name", "client_software_version"),
    *("user", "mechanism", "via_address", *_PLAIN),
)
# Columns in which the table has null for the engine's empty text.
_TEXTS: Final = frozenset({"reason", "detail"})
# Columns → the engine's value for a null; numbers are null in tables of earlier versions.
_NONE: Final[dict[str, Any]] = dict.fromkeys(_TEXTS, "") | dict.fromkeys(
    ("client_quiet_ns", "server_quiet_ns", "client_shut_ns", "server_shut_ns"), 0
)
