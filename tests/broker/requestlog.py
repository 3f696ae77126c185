"""Reads a broker's request log (logger kafka.request.logger at DEBUG): one `Entry` a completed request."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

__all__ = ["Entry", "parse_line", "read_log", "read_logs"]

_MARK: Final = "Completed request:"
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A logged request. `client` and `broker` are host:port of the connection; bodies keep Kafka's camelCase names.

    `response` is "" if there was no answer (Produce with acks=0). `forwarded` marks the inner request of an Envelope;
    its connection is that of the Envelope.
    """

    time: datetime
    client: str
    broker: str
    api_key: int
    api: str
    api_version: int
    correlation_id: int
    client_id: str | None
    request: dict[str, Any]
    response: Any
    forwarded: bool
    line: dict[str, Any]


def parse_line(text: str) -> Entry | None:
    """The entry that a line of the log holds, None for other lines.

    After a broker was killed in the middle of a line, its successor's first entry is on the same line: that one counts.
    """
    at = text.rfind(_MARK)
    if at < 0:
        return None
    *_, time = _TIME.findall(text, 0, at)
    line = orjson.loads(text[at + len(_MARK) :])
    header = line["requestHeader"]
    broker, client = _ends(line["connection"])
    return Entry(
        time=datetime.fromisoformat(time).replace(tzinfo=UTC),
        client=client,
        broker=broker,
        api_key=header["requestApiKey"],
        api=header["requestApiKeyName"],
        api_version=header["requestApiVersion"],
        correlation_id=header["correlationId"],
        client_id=header.get("clientId"),
        request=line["request"],
        response=line["response"],
        forwarded=line.get("isForwarded", False),
        line=line,
    )


def read_log(file: Path) -> Iterator[Entry]:
    """All entries of one file, in its order (that of completion, not of the wire).

    A last line without its end is left out: a running broker may still be writing it.
    """
    if not file.exists():
        return
    with open(file, encoding="utf-8") as lines:
        for text in lines:
            entry = parse_line(text) if text.endswith("\n") else None
            if entry is not None:
                yield entry


def read_logs(files: Iterable[Path]) -> list[Entry]:
    """All entries of several nodes."""
    return [entry for file in files for entry in read_log(file)]


def _ends(connection: str) -> tuple[str, str]:
    """`127.0.0.1:19092-127.0.0.1:51234-0-7` (3.9 has one number less) → ("127.0.0.1:19092", "127.0.0.1:51234")."""
    broker, client, *_ = connection.split("-")
    return _bracketed(broker), _bracketed(client)


def _bracketed(place: str) -> str:
    host, _, port = place.rpartition(":")
    if ":" not in host:
        return place
    return f"[{_short(host)}]:{port}"


def _short(host: str) -> str:
    # Java prints all eight groups of an IPv6 address.
    return str(ipaddress.ip_address(host.strip("[]").partition("%")[0]))
