"""The columns of csv, table and text: their words, titles and widths, declared once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import format_latency, format_size


class ColumnWord(NamedTuple):
    """How a column looks: its title above lines of text, its least width in a table, whether its values are numbers,
    and the short form of a value in text.
    """

    title: str = ""
    width: int = 0
    right: bool = False
    short: Callable[[Any], str] | None = None


def _cut_time_of_day(time: str) -> str:
    """`03:04:05.123` from a time as records have it."""
    return time.partition("T")[2][:12]


# The word of a column → how it looks. Any other path of the record is a column as well.
COLUMNS: Final[dict[str, ColumnWord]] = {
    "time": ColumnWord("time", 27, short=_cut_time_of_day),
    "latency_ms": ColumnWord("took", 10, right=True, short=format_latency),
    "duration_ms": ColumnWord("duration", 11, right=True, short=format_latency),
    "client_id": ColumnWord("client", 12),
    "software": ColumnWord("software", 10),
    "client": ColumnWord("address", 21),
    "user": ColumnWord("user", 8),
    "mechanism": ColumnWord("mechanism", 9),
    "broker": ColumnWord("broker", 21),
    "node": ColumnWord("node", 4, right=True),
    "connection": ColumnWord("conn", 10, right=True),
    "correlation_id": ColumnWord("corr", 14, right=True),
    "request_size": ColumnWord("sent", 12, right=True, short=format_size),
    "response_size": ColumnWord("got", 13, right=True, short=format_size),
    "api": ColumnWord("api", 18),
    "api_key": ColumnWord("key", 7, right=True),
    "api_version": ColumnWord("version", 7, right=True),
    "status": ColumnWord("status", 10),
    "error": ColumnWord("error", 8),
    "topic": ColumnWord("topic", 8),
    "group": ColumnWord("group", 8),
    "file": ColumnWord("file", 8),
    "point": ColumnWord("point", 8),
    "client_name": ColumnWord("client name", 12),
    "broker_name": ColumnWord("broker name", 12),
    "network_ms": ColumnWord("network", 9, right=True, short=format_latency),
    "summary": ColumnWord("request", 40),
}
# Other words for columns: the titles of text, and the plural where a cell may hold several values.
WORDS: Final = {
    "took": "latency_ms",
    "latency": "latency_ms",
    "duration": "duration_ms",
    "address": "client",
    "conn": "connection",
    "corr": "correlation_id",
    "sent": "request_size",
    "got": "response_size",
    "version": "api_version",
    "errors": "error",
    "topics": "topic",
    "groups": "group",
    "facts": "summary",
}
# Columns of lines of text, before the facts.
TEXT: Final = (
    *("time", "latency_ms", "client_id", "software", "client", "broker", "connection", "correlation_id"),
    *("request_size", "response_size"),
)
# Columns of csv after the scalars of the record.
CSV_MORE: Final = ("topics", "group", "error", "node", "file")
# Columns of tables; where the terminal is too narrow, columns are left out from the end of this list.
TABLE: Final = (
    *("time", "latency_ms", "client_id", "api", "version", "status", "error", "topics", "group", "node"),
    *("client", "broker", "connection", "correlation_id", "request_size", "response_size", "file"),
)
# Names of columns in other programs → words of this table.
FOREIGN: Final = {
    "frame.time": "time",
    "frame.time_epoch": "time",
    "frame.number": "packets.request",
    "ip.src": "client",
    "ip.dst": "broker",
    "tcp.stream": "connection",
    "kafka.topic_name": "topic",
    "kafka.error": "error",
    "kafka.consumer_group": "group",
    "kafka.partition_id": "partition",
}
# Columns that are no path of the record: kw derives them.
OWN: Final = ("node", "summary")
