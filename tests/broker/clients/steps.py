"""The child's side of a session: reads the steps, calls the function of each, writes one JSON line a step."""

from __future__ import annotations

import base64
import json
import ssl
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["encoded", "main", "python_settings", "record", "values"]

# librdkafka's word for a setting → that of clients written in Python.
_PYTHON_WORDS = {
    "client.id": "client_id",
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
}


def main(functions: Mapping[str, Callable[..., Any]], argv: list[str]) -> int:
    """`argv` is [session.json, answers.ndjson, …]; a function gets (bootstrap, properties, **arguments)."""
    with open(argv[0], encoding="utf-8") as file:
        work = json.load(file)
    with open(argv[1], "w", encoding="utf-8") as answers:
        for name, arguments in work["steps"]:
            arguments = dict(arguments)
            if name == "sleep":
                time.sleep(arguments["seconds"])
                result: Any = None
            else:
                result = functions[name](work["bootstrap"], dict(work["properties"]), **arguments)
            answers.write(json.dumps({"step": name, "result": result}) + "\n")
            answers.flush()
    sys.stdout.flush()
    return 0


def python_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """The settings that these clients know, in their words."""
    settings: dict[str, Any] = {_PYTHON_WORDS[key]: value for key, value in properties.items() if key in _PYTHON_WORDS}
    if "ssl.ca.location" in properties:
        settings["ssl_context"] = _context(properties)
    return settings


def _context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """What librdkafka's words for TLS say; `ssl.keylog` names the file that gets the key log."""
    context = ssl.create_default_context(cafile=properties["ssl.ca.location"])
    if "ssl.certificate.location" in properties:
        context.load_cert_chain(properties["ssl.certificate.location"], properties["ssl.key.location"])
    if "ssl.keylog" in properties:
        context.keylog_filename = properties["ssl.keylog"]
    return context


def record(
    topic: str, partition: int, offset: int, timestamp: int, key: Any, value: Any, headers: list[tuple[str, Any]]
) -> dict[str, Any]:
    """What a consumer read, in the shape that the oracle compares."""
    return {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "timestamp": timestamp,
        "key": encoded(key),
        "value": encoded(value),
        "headers": [[name, encoded(data)] for name, data in headers],
    }


def encoded(data: bytes | None) -> str | None:
    """Base64 text, None stays None."""
    return None if data is None else base64.b64encode(bytes(data)).decode()


def values(count: int, size: int, first: int = 0) -> list[tuple[bytes, bytes]]:
    """`count` keys and JSON values of about `size` bytes, always the same for the same arguments."""
    made = []
    for number in range(first, first + count):
        text = json.dumps({"order": number, "amount": (number * 7919) % 100000 / 100, "currency": "EUR"})
        padding = "x" * max(0, size - len(text) - 13)
        made.append((b"customer-%d" % (number % 17), (text[:-1] + f', "note": "{padding}"}}').encode()))
    return made
