"""The child's side of a session: reads the steps, calls the function of each, writes one JSON line a step."""

from __future__ import annotations

import base64
import json
import ssl
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["Found", "different", "encoded", "main", "python_settings", "record", "sessions", "transactions", "values"]

# A setting's name in librdkafka → its name in clients written in Python.
_PYTHON_WORDS = {
    "client.id": "client_id",
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
}
_PYTHON_NUMBERS = {
    f"{words}.ms": f"{words.replace('.', '_')}_ms"
    for words in ("request.timeout", "retry.backoff", "session.timeout", "heartbeat.interval")
}


def main(
    functions: Mapping[str, Callable[..., Any]], argv: list[str], works: Iterable[Mapping[str, Any]] | None = None
) -> int:
    """Play the steps. `argv` is [sessions, answers.ndjson, …]; a function gets (bootstrap, properties, **arguments)."""
    with open(argv[1], "w", encoding="utf-8") as answers:
        for work in works or sessions(argv[0]):
            for name, arguments in work["steps"]:
                if name == "sleep":
                    time.sleep(arguments["seconds"])
                    result: Any = None
                else:
                    result = functions[name](work["bootstrap"], dict(work["properties"]), **arguments)
                answers.write(json.dumps({"step": name, "result": result}) + "\n")
                answers.flush()
    sys.stdout.flush()
    return 0


def sessions(path: str) -> Iterator[Mapping[str, Any]]:
    """Sessions to play, a line of JSON each, from a file or from a pipe into which they are written one by one."""
    with open(path, encoding="utf-8") as file:
        for line in iter(file.readline, ""):
            yield json.loads(line)


def python_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """The properties that aiokafka and kafka-python know, under their names."""
    settings: dict[str, Any] = {_PYTHON_WORDS[key]: value for key, value in properties.items() if key in _PYTHON_WORDS}
    settings |= {_PYTHON_NUMBERS[key]: int(value) for key, value in properties.items() if key in _PYTHON_NUMBERS}
    if "ssl.ca.location" in properties:
        settings["ssl_context"] = _context(properties)
    return settings


def _context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """An SSL context from librdkafka's properties for TLS; `ssl.keylog` names the file that gets the key log."""
    context = ssl.create_default_context(cafile=properties["ssl.ca.location"])
    if "ssl.certificate.location" in properties:
        context.load_cert_chain(properties["ssl.certificate.location"], properties["ssl.key.location"])
    if "ssl.keylog" in properties:
        context.keylog_filename = properties["ssl.keylog"]
    return context


def record(
    topic: str, partition: int, offset: int, timestamp: int, key: Any, value: Any, headers: list[tuple[str, Any]]
) -> dict[str, Any]:
    """A record that a consumer read, in the shape that the oracle compares."""
    return {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "timestamp": timestamp,
        "key": encoded(key),
        "value": encoded(value),
        "headers": [[name, encoded(data)] for name, data in headers],
    }


def different(found: Iterable[Mapping[str, Any]]) -> int:
    """The number of different records; a record that was read again counts once."""
    return len(set(map(_place, found)))


def _place(record: Mapping[str, Any]) -> tuple[str, int, int]:
    return record["topic"], record["partition"], record["offset"]


class Found:
    """Records that a consumer has read: `count` different ones are wanted, within `polls` polls of half a second."""

    def __init__(self, count: int, polls: int, *, keep: bool = True) -> None:
        self._count = count
        self._until = time.monotonic() + polls * 0.5
        self._keep = keep
        self._records: list[dict[str, Any]] = []
        self._read = 0
        self._places: set[tuple[str, int, int]] = set()

    def wants_more(self) -> bool:
        """Whether records are missing (one that was read again counts once) and time is left."""
        return len(self._places) < self._count and time.monotonic() < self._until

    def add(self, records: Iterable[dict[str, Any]]) -> None:
        for each in records:
            self._read += 1
            self._places.add(_place(each))
            if self._keep:
                self._records.append(each)

    def answer(self) -> list[dict[str, Any]] | int:
        """The records, or their number if they are not kept."""
        return self._records if self._keep else self._read


def transactions(
    ends: Sequence[str],
    play: Callable[[int, str], None],
    abort: Callable[[], None],
    failures: tuple[type[BaseException], ...],
) -> list[str]:
    """`play` one transaction per word of `ends` (`commit`, `abort`); gives the outcome of each.

    An outcome is the word itself, or `failed: ERROR` if `play` raised one of `failures` and `abort` ended the
    transaction, or `lost: ERROR` if `abort` failed too, after which no more transactions are begun.
    """
    outcomes: list[str] = []
    for number, end in enumerate(ends):
        try:
            play(number, end)
        except failures as error:
            try:
                abort()
            except failures:
                return [*outcomes, f"lost: {error}"]
            outcomes.append(f"failed: {error}")
        else:
            outcomes.append(end)
    return outcomes


def encoded(data: bytes | None) -> str | None:
    """Bytes as base64 text; None stays None."""
    return None if data is None else base64.b64encode(bytes(data)).decode()


def values(count: int, size: int, first: int = 0) -> list[tuple[bytes, bytes]]:
    """`count` keys and JSON values of about `size` bytes, always the same for the same arguments."""
    made = []
    for number in range(first, first + count):
        text = json.dumps({"order": number, "amount": (number * 7919) % 100000 / 100, "currency": "EUR"})
        padding = "x" * max(0, size - len(text) - 13)
        made.append((b"customer-%d" % (number % 17), (text[:-1] + f', "note": "{padding}"}}').encode()))
    return made
