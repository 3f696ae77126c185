"""A number out of a log, or the whole line, in; what the four bytes are that were read as a size or an id out.

"Invalid receive (size = 369295617)" is 0x16030101: a TLS handshake that somebody read as the size of a frame.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from decoders.apis import NAMES, api
from decoders.streams.foreign import MARKS, TLS, Finding
from decoders.streams.greetings import text_of
from decoders.streams.tls import VERSIONS

_RECORDS: Final = {0x14: "change of cipher", 0x15: "alert", 0x16: "handshake", 0x17: "encrypted data"}
# What a frame of Kafka's own may well have: such a size is no riddle.
USUAL_MAX: Final = 1 << 20
_SIZED: Final = re.compile(
    r"(?:size|length|bytes|correlation ?id)\D{0,12}?(-?\d{4,}|-?0x[0-9a-f]{5,8})\b", re.IGNORECASE
)
_NUMBER: Final = re.compile(r"(?<![\w.:-])(-?\d{5,10}|0x[0-9a-f]{8})(?![\w:-])", re.IGNORECASE)


class Start(NamedTuple):
    """Four bytes that begin something: the name of its mark, and what exactly it is."""

    name: str
    detail: str


# First four bytes → what they begin; TLS records and text that is nothing of this are found by their form.
STARTS: Final[dict[bytes, Start]] = {
    b"GET ": Start("HTTP/1", "a GET request"),
    b"POST": Start("HTTP/1", "a POST request"),
    b"PUT ": Start("HTTP/1", "a PUT request"),
    b"HEAD": Start("HTTP/1", "a HEAD request"),
    b"DELE": Start("HTTP/1", "a DELETE request"),
    b"OPTI": Start("HTTP/1", "an OPTIONS request"),
    b"PATC": Start("HTTP/1", "a PATCH request"),
    b"TRAC": Start("HTTP/1", "a TRACE request"),
    b"CONN": Start("HTTP/1", "a CONNECT request"),
    b"HTTP": Start("HTTP/1", "an answer"),
    b"PRI ": Start("HTTP/2", "client's preface"),
    b"SSH-": Start("SSH", "banner"),
    b"AMQP": Start("AMQP", "protocol header"),
    b"PROX": Start("PROXY protocol", "version 1"),
    b"\r\n\r\n": Start("PROXY protocol", "version 2"),
    b"220 ": Start("mail or FTP server", "greeting"),
    b"220-": Start("mail or FTP server", "greeting"),
    b"*1\r\n": Start("Redis", "a command"),
    b"*2\r\n": Start("Redis", "a command"),
    b"*3\r\n": Start("Redis", "a command"),
    b"-ERR": Start("Redis", "an error"),
    b"PING": Start("Redis", "PING"),
    b"INFO": Start("NATS", "server's greeting"),
    b"ruok": Start("ZooKeeper", "word ruok"),
    b"stat": Start("ZooKeeper", "word stat"),
    b"mntr": Start("ZooKeeper", "word mntr"),
    b"srvr": Start("ZooKeeper", "word srvr"),
    b"\0\3\0\0": Start("PostgreSQL", "protocol version 3.0 of a start-up packet"),
    b"\4\xd2\x16\x2f": Start("PostgreSQL", "request for TLS"),
}
_REMEDIES: Final = {mark.name: mark.remedy for mark in reversed(MARKS)}
_STATED: Final = {
    -1: "a null length",
    104857600: "what socket.request.max.bytes is by default",
    2147483647: "the largest size there is",
}


def explain_number(number: int) -> list[Finding]:
    """What a number that was read as a size, or as an id, is; best first, empty where it is nothing known."""
    if not -(1 << 31) <= number < 1 << 32:
        return []
    data = (number & 0xFFFFFFFF).to_bytes(4, "big")
    return list(dict.fromkeys(_found(number, data)))


def _found(number: int, data: bytes) -> Iterator[Finding]:
    if number in _STATED:
        yield Finding("Kafka", _STATED[number], "")
        return
    record = int.from_bytes(data[1:3], "big")
    if data[0] in _RECORDS and record in VERSIONS:
        detail = f"a {_RECORDS[data[0]]}, {VERSIONS[record]} record" if data[0] != 0x15 else "an alert"
        yield Finding(TLS, detail.replace("a encrypted", "encrypted"), _REMEDIES[TLS])
    elif data[0] & 0x80 and data[2:] == b"\1\3":
        yield Finding(TLS, "a hello in the form of SSL 2", _REMEDIES[TLS])
    elif data[:2] in (b"\xff\xfb", b"\xff\xfd", b"\xff\xf4"):
        yield Finding("Telnet", "its control bytes", _REMEDIES["Telnet"])
    start = STARTS.get(data)
    if start is not None:
        yield Finding(start.name, start.detail, _REMEDIES[start.name])
    elif all(32 <= byte < 127 for byte in data):
        yield Finding("text", f'"{text_of(data)}"', "somebody sent text where a size was expected")
    elif data[0] not in _RECORDS or record not in VERSIONS:
        yield from _of_kafka(data)


def _of_kafka(data: bytes) -> Iterator[Finding]:
    """A size of the wrong byte order, a request's head read as a size, an ordinary size."""
    turned = int.from_bytes(data, "little")
    if data[0] and 8 <= turned <= USUAL_MAX:
        yield Finding(
            "wrong byte order",
            f"a size of {turned} written little-endian",
            "Kafka writes all numbers big-endian (network byte order)",
        )
    key, version = data[0] << 8 | data[1], data[2] << 8 | data[3]
    if key and key in NAMES and version in api(key).versions:
        yield Finding(
            "lost framing",
            f"the head of a {api(key).name} {version} request read as a size",
            "the four bytes of the size field before it are missing",
        )


def explain_line(line: str) -> list[Finding]:
    """What the numbers in a line of a log are: of those called a size where there are such, else of all large ones."""
    numbers = _SIZED.findall(line) or _NUMBER.findall(line)
    for text in numbers:
        found = explain_number(_value(text))
        if found:
            return found
    return []


def _value(text: str) -> int:
    return int(text, 16) if "x" in text.lower() else int(text)


def number_of(text: str) -> int | None:
    """The number that a text is, `369295617` or `-720899`; None where it is none."""
    return int(text) if re.fullmatch(r"-?\d{1,10}", text) else None
