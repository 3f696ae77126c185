"""A strange size or id in; what its bytes are in another protocol out, in words for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from decoders.apis import NAMES, api
from decoders.protocols import TLS
from decoders.protocols.recognise_protocols import (
    MARKS,
    Finding,
    printable_text,
)
from decoders.tls.read_handshake import VERSIONS
from decoders.wire.format_and_escape_text import format_bytes

_RECORDS: Final = {0x14: "change of cipher", 0x15: "alert", 0x16: "handshake", 0x17: "encrypted data"}
# Sizes up to this are usual for Kafka's own frames, and need no explanation.
USUAL_MAX: Final = 1 << 20
# Beyond this no broker takes a message: socket.request.max.bytes, unless it was set.
SIZE_MAX: Final = 104_857_600
_DIGITS: Final = r"-?0x[0-9a-f]{5,8}|-\d[\d,_]*|\d[\d,_]{3,}"
_SIZED: Final = re.compile(
    r"(?:size|length|bytes|receive[ds]?|(?<!th)read|packet|frame|correlation ?id(?: for response)?)"
    rf"\D{{0,12}}?({_DIGITS})\b",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"(?<![\w.:-])(-?\d{5,10}|0x[0-9a-f]{8}|-?\d{1,3}(?:,\d{3}){2,3})(?![\w:-])", re.IGNORECASE)
_NUMBER_ALONE: Final = re.compile(r"-?(?:0x[0-9a-f]{1,8}|\d{1,10}|\d{1,3}(?:[,_]\d{3}){1,3})", re.IGNORECASE)
# Words of log lines about a size that cannot be one; other lines may have large numbers as well.
_COMPLAINT: Final = re.compile(
    r"invalid|unreasonable|too (?:large|big|small|long)|larger|exceed|corrupt|negative|unexpected|does not match|"
    r"when expecting|illegal",
    re.IGNORECASE,
)
_KEYED: Final = re.compile(r"api[ _]?key[\s:=]+(-?\d{1,5})\b", re.IGNORECASE)


# First four bytes → the protocol and what exactly they begin; TLS records and other text are found by their form.
STARTS: Final = {four: (mark, detail) for mark in MARKS for four, detail in mark.starts.items()}
_REMEDIES: Final = {mark.name: mark.remedy for mark in reversed(MARKS)}
_STATED: Final = {
    -1: "a null length",
    SIZE_MAX: "the default of socket.request.max.bytes",
    100_000_000: "the default of librdkafka's receive.message.max.bytes",
    1 << 30: "the default of log.segment.bytes",
    2147483647: "the largest possible size",
}


def explain_number(number: int) -> list[Finding]:
    """Findings about a number that was read as a size or an id, best first; empty where its bytes are nothing known."""
    if not -(1 << 31) <= number < 1 << 32:
        return []
    data = (number & 0xFFFFFFFF).to_bytes(4, "big")
    return list(dict.fromkeys(_explain_four_bytes(int.from_bytes(data, "big", signed=True), data)))


def explain_size(number: int) -> list[Finding]:
    """Findings about a number that was read as a size and whose bytes are nothing known; empty beyond 32 bits."""
    if 0 <= number <= SIZE_MAX:
        return [Finding("Kafka", f"a size of {format_bytes(number)}, which is possible for a message", "")]
    if not -(1 << 31) <= number < 1 << 32:
        return []
    data = (number & 0xFFFFFFFF).to_bytes(4, "big").hex(" ")
    return [
        Finding(
            "lost framing",
            f"the bytes {data} are no possible size, and no known protocol begins with them",
            "the reader is at a wrong place in the stream: bytes before it were lost, added or left unread",
        )
    ]


def _explain_four_bytes(number: int, data: bytes) -> Iterator[Finding]:
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
        mark, detail = start
        yield Finding(mark.name, detail, mark.remedy)
    elif all(32 <= byte < 127 for byte in data):
        yield Finding("text", f'"{printable_text(data)}"', "somebody sent text where a size was expected")
    elif data[0] not in _RECORDS or record not in VERSIONS:
        yield from _explain_as_size_or_key(data)


def _explain_as_size_or_key(data: bytes) -> Iterator[Finding]:
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


def explain_line(line: str, *, alone: bool = False) -> list[Finding]:
    """Findings about the numbers in a line of a log: those called a size if there are any, else all large ones.

    A size whose bytes are nothing known is told where the line complains of it, or is the only line (`alone`).
    """
    sizes = [_parse_integer(text) for text in _SIZED.findall(line)]
    for number in sizes or map(_parse_integer, _NUMBER.findall(line)):
        found = explain_number(number)
        if found:
            return found
    if alone or _COMPLAINT.search(line):
        strange = next((number for number in sizes if not 0 <= number <= SIZE_MAX), None)
        if strange is not None:
            return explain_size(strange)
    if alone and sizes:
        return explain_size(sizes[0])
    keys = _KEYED.search(line)
    return _explain_api_key(int(keys[1])) if keys is not None else []


def _explain_api_key(key: int) -> list[Finding]:
    """Findings about an API key that no API has: two bytes of something else."""
    if key in NAMES or not -(1 << 15) <= key < 1 << 16:
        return []
    data = (key & 0xFFFF).to_bytes(2, "big")
    text = f', the text "{printable_text(data)}"' if all(32 <= byte < 127 for byte in data) else ""
    remedy = "the bytes after the size are no Kafka request: another protocol, or a wrong place in the stream"
    return [Finding("lost framing", f"no API has the key {key} (bytes {data.hex(' ')}{text})", remedy)]


def _parse_integer(text: str) -> int:
    digits = text.replace(",", "").replace("_", "")
    return int(digits, 16) if "x" in digits.lower() else int(digits)


def parse_number(text: str) -> int | None:
    """The number that a text is, `369295617`, `-720899`, `0x16030100`, `1,195,725,856`; None where it is none."""
    return _parse_integer(text) if _NUMBER_ALONE.fullmatch(text.strip()) else None
