"""A strange size or id in; what its bytes are in another protocol out, in words for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from decoders.apis import NAMES, api
from decoders.protocol_facts.api_keys import CONFLUENT_KEYS
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
# The first byte of a GSSAPI token.
_TOKEN: Final = 0x60
# Beyond this no broker takes a message: socket.request.max.bytes, unless it was set.
SIZE_MAX: Final = 104_857_600
_DIGITS: Final = r"-?0x[0-9a-f]{5,8}|-\d[\d,_]*|\d[\d,_]{3,}"
_SIZED: Final = re.compile(
    r"(?:size|length|bytes|receive[ds]?|(?<!th)read|packet|frame)"
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
_KEYED: Final = re.compile(r"api[ _]?keys?(?: is| id)?[\s:=(\[`]+(-?\d{1,5})\b", re.IGNORECASE)
_VERSIONED: Final = re.compile(r"api[ _]?version[\s:=]+(-?\d{1,5})\b", re.IGNORECASE)
_UNKNOWN_KEY: Final = re.compile(r"(?:unexpected|unknown|unsupported|invalid|unrecognized) api ?_?key", re.IGNORECASE)
_UNEXPECTED: Final = re.compile(r"unexpected request during authentication: (-?\d{1,5})\b", re.IGNORECASE)
_CORRELATION: Final = re.compile(r"correlation ?id(?: for response)?[\s:=(]{0,4}(-?\d{1,10})\b", re.IGNORECASE)
# Words of a length inside a message, or of a list that is too long for what is left.
_INSIDE: Final = re.compile(
    r"array of size|string of length|bytes of size|error reading|remaining bytes|bytes (?:available|remaining)|"
    r"arraycnt|array length|client_id size|string length|collection of size",
    re.IGNORECASE,
)
# Where a library logs something else than the size field: the number, what is added to it, why.
_SHIFTED: Final = (
    (re.compile(r"adjusted frame length exceeds \d+: (-?\d{1,11})\b", re.IGNORECASE), -4, "netty adds 4"),
    (re.compile(r"adjusted frame length \((-?\d{1,11})\) is less", re.IGNORECASE), -4, "netty adds 4"),
    (
        re.compile(r"invalid message size (-?\d{1,11})\b", re.IGNORECASE),
        4,
        "librdkafka takes 4 away, the correlation id",
    ),
)


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


def explain_number_read_as_size(number: int, *, named: bool = False) -> list[Finding]:
    """Findings about a number that was read as a size and whose bytes are nothing known; empty beyond 32 bits.

    Unless it was `named` a size, the number may be an API key as well: that of a Kerberos token is told.
    """
    if 0 <= number <= SIZE_MAX:
        size = Finding("Kafka", f"a size of {format_bytes(number)}, which is possible for a message", "")
        is_token = not named and number >> 8 == _TOKEN
        return [size, *([] if not is_token else _explain_as_api_key(number))]
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


def _explain_as_api_key(number: int) -> list[Finding]:
    return [
        each._replace(detail=f"if {number} was read as an API key: {each.detail}")
        for each in _explain_api_key(number, None)
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
        return
    for shift in (4, -4):
        beside = STARTS.get(((number + shift) & 0xFFFFFFFF).to_bytes(4, "big"))
        if beside is not None and (number & 0xFFFFFFFF) > SIZE_MAX:
            mark, detail = beside
            sign = "+" if shift > 0 else "-"
            less = "less" if shift > 0 else "more"
            said = f"{detail}; likely: {number} {sign} 4 begins so, and some libraries log a size with 4 {less}"
            yield Finding(mark.name, said, mark.remedy)
    if all(32 <= byte < 127 for byte in data):
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


def list_findings_about_log_line(line: str, *, alone: bool = False) -> list[Finding]:
    """Findings about a line of a log: its numbers as the library means them that wrote it, else what its words say.

    A size whose bytes are nothing known is told where the line complains of it, or is the only line (`alone`).
    """
    for meant in (_explain_shifted_size, _explain_array_or_string_length, _explain_correlation_id):
        found = meant(line)
        if found:
            return found
    complains = alone or _COMPLAINT.search(line) is not None
    sizes = [_parse_integer(text) for text in _SIZED.findall(line)]
    words = explain_by_known_log_lines(line)
    for number in sizes:
        found = [each for each in explain_number(number) if complains or each.what in _REMEDIES]
        if found and not (words and number in _STATED):
            return found
    found = _explain_key_in_line(line)
    if not found and words and words[0].what == "memory":
        found = _explain_other_numbers(line)
    found = found or words
    if found:
        return found
    if complains:
        strange = next((number for number in sizes if not 0 <= number <= SIZE_MAX), None)
        if strange is not None:
            return explain_number_read_as_size(strange, named=True)
    if alone and sizes:
        return explain_number_read_as_size(sizes[0], named=True)
    return [] if sizes else _explain_other_numbers(line)


def explain_by_known_log_lines(line: str) -> list[Finding]:
    """The finding of the first row of LOG_LINES whose words stand in the line; empty without one."""
    from decoders.protocol_facts.errors.known_log_lines import LOG_LINES

    for row, pattern in zip(LOG_LINES, _compile_log_lines(), strict=True):
        match = pattern.search(line)
        if match is not None:
            groups = {
                name: printable_text((text or "").encode("utf-8", "replace"), 60)
                for name, text in match.groupdict().items()
            }
            known = {"host": "HOST", "port": "PORT"} | {name: text for name, text in groups.items() if text}
            blank = dict.fromkeys(groups, "") | known
            return [Finding(row.what, *(text.format_map(blank) for text in (row.detail, row.remedy, row.command)))]
    return []


@cache
def _compile_log_lines() -> tuple[re.Pattern[str], ...]:
    from decoders.protocol_facts.errors.known_log_lines import LOG_LINES

    return tuple(re.compile(row.pattern, re.IGNORECASE) for row in LOG_LINES)


def _explain_shifted_size(line: str) -> list[Finding]:
    """A size that the library logs with four bytes more or less: netty adds the field itself, old librdkafka takes the
    correlation id away.
    """
    for pattern, shift, why in _SHIFTED:
        match = pattern.search(line)
        if match is None:
            continue
        size = int(match[1]) + shift
        sign = "-" if shift < 0 else "+"
        said = f"; {why}: the size field was {match[1]} {sign} {abs(shift)} = {size}"
        known = explain_number(size) or explain_number_read_as_size(size, named=True)
        return [each._replace(detail=each.detail + said) for each in known[:1]]
    return []


def _explain_array_or_string_length(line: str) -> list[Finding]:
    """A length of an array or a string inside a message: it is no size of a frame, whatever its bytes are."""
    return explain_by_known_log_lines(line) if _INSIDE.search(line) else []


def _explain_correlation_id(line: str) -> list[Finding]:
    """A correlation id, which is no size: bytes of another protocol, a number that no client has, or of another."""
    match = _CORRELATION.search(line)
    if match is None or not explain_by_known_log_lines(line):
        return []
    number = int(match[1])
    for each in explain_number(number):
        if each.what in _REMEDIES:
            return [each._replace(detail=f"{each.detail}; likely: its bytes were read as a correlation id")]
    if number < 0:
        detail = f"the correlation id {number} is negative, and clients count from 0: other bytes stood in its place"
        return [Finding("lost framing", detail, "bytes before it were lost, added or left unread; or it is no Kafka")]
    return explain_by_known_log_lines(line)


def _explain_other_numbers(line: str) -> list[Finding]:
    """Findings about numbers that nothing calls a size: only what begins another protocol, and that is likely."""
    for number in map(_parse_integer, _NUMBER.findall(line)):
        for each in explain_number(number):
            if each.what in _REMEDIES and "likely" not in each.detail:
                return [each._replace(detail=f"{each.detail}; likely: if {number} was read as a size")]
    return []


def _explain_key_in_line(line: str) -> list[Finding]:
    """Findings about an API key in a line: one that no API has, or one that the writer does not know."""
    asked = _UNEXPECTED.search(line)
    if asked is not None and int(asked[1]) in NAMES:
        name = api(int(asked[1])).name
        detail = f"the client sent {name} (API key {asked[1]}) to a listener that wants a login first"
        return [Finding("login", detail, "set security.protocol to SASL_PLAINTEXT or SASL_SSL, with a mechanism")]
    keys = _KEYED.search(line)
    if keys is None:
        return []
    key, version = int(keys[1]), _VERSIONED.search(line)
    if key in NAMES and _UNKNOWN_KEY.search(line):
        detail = f"key {key} is {api(key).name}: the program that says so is older than this API, or does not serve it"
        return [Finding("API", detail, "upgrade that program, or the client sends it less", f"kw apis {api(key).name}")]
    return _explain_api_key(key, None if version is None else int(version[1]))


def _explain_api_key(key: int, version: int | None) -> list[Finding]:
    """Findings about an API key that no API has: two bytes of something else."""
    if key in NAMES or not -(1 << 15) <= key < 1 << 16:
        return []
    data = (key & 0xFFFF).to_bytes(2, "big")
    shown = data.hex(" ")
    if key in CONFLUENT_KEYS:
        detail = (
            f"API keys of {CONFLUENT_KEYS.start} and more are Confluent's own; brokers of Confluent Platform and Cloud"
        )
        remedy = "the program that says so does not know them: it has to pass them on, or leave them out of ApiVersions"
        return [Finding("Confluent", f"{detail} announce {key} in ApiVersions", remedy)]
    if data[0] == _TOKEN:
        detail = f"likely a Kerberos token (GSSAPI): the bytes {shown} begin one, where a request was expected"
        return [
            Finding("SASL token", detail, "the client sent its token without SaslHandshake: let it send that first")
        ]
    if data[0] in _RECORDS and data[1] == 3:
        detail = f"likely {_RECORDS[data[0]]}: the bytes {shown} begin a record of TLS, where an API key was expected"
        return [Finding(TLS, detail, _REMEDIES[TLS])]
    if data[1] == 1 and version in (None, 0, 1):
        detail = f"likely a hello: its bytes 5 and 6 are the end of the record's length and 01 (here {shown})"
        return [Finding(TLS, detail, _REMEDIES[TLS])]
    text = f', the text "{printable_text(data)}"' if all(32 <= byte < 127 for byte in data) else ""
    remedy = "the bytes after the size are no Kafka request: another protocol, or a wrong place in the stream"
    return [Finding("lost framing", f"no API has the key {key} (bytes {shown}{text})", remedy)]


def _parse_integer(text: str) -> int:
    digits = text.replace(",", "").replace("_", "")
    return int(digits, 16) if "x" in digits.lower() else int(digits)


def parse_number(text: str) -> int | None:
    """The number that a text is, `369295617`, `-720899`, `0x16030100`, `1,195,725,856`; None where it is none."""
    return _parse_integer(text) if _NUMBER_ALONE.fullmatch(text.strip()) else None
