"""A strange size, or strange bytes, in; what they are in another protocol out, in words for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from struct import Struct
from typing import Final

from decoders.apis import NAMES, api
from decoders.frames.header_checks import FITS, HEAD, YES, request_verdict
from decoders.frames.live_framing import add_size_field
from decoders.limits import FRAME_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocols import TLS
from decoders.protocols.detect_sasl import find_token
from decoders.protocols.signatures import (
    CERTAIN,
    LIKELY,
    MARKS,
    Finding,
    Signature,
    text_of,
)
from decoders.tls.explain_first_record import remedy_of_tls
from decoders.tls.handshake import VERSIONS
from decoders.wire.readable_text import in_bytes

__all__ = [
    "STARTS",
    "USUAL_MAX",
    "Finding",
    "Start",
    "explain_bytes",
    "explain_line",
    "explain_number",
    "explain_size",
    "number_of",
]

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


class Start(NamedTuple):
    """What four bytes begin: the name of its mark, and what exactly it is."""

    name: str
    detail: str


# First four bytes → what they begin; TLS records and other text are found by their form.
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
        return [Finding("Kafka", f"a size of {in_bytes(number)}, which is possible for a message", "")]
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
        yield Finding(start.name, start.detail, _REMEDIES[start.name])
    elif all(32 <= byte < 127 for byte in data):
        yield Finding("text", f'"{text_of(data)}"', "somebody sent text where a size was expected")
    elif data[0] not in _RECORDS or record not in VERSIONS:
        yield from _explain_as_kafka(data)


def _explain_as_kafka(data: bytes) -> Iterator[Finding]:
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
    sizes = [_to_int(text) for text in _SIZED.findall(line)]
    for number in sizes or map(_to_int, _NUMBER.findall(line)):
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
    return _explain_key(int(keys[1])) if keys is not None else []


def _explain_key(key: int) -> list[Finding]:
    """Findings about an API key that no API has: two bytes of something else."""
    if key in NAMES or not -(1 << 15) <= key < 1 << 16:
        return []
    data = (key & 0xFFFF).to_bytes(2, "big")
    text = f', the text "{text_of(data)}"' if all(32 <= byte < 127 for byte in data) else ""
    remedy = "the bytes after the size are no Kafka request: another protocol, or a wrong place in the stream"
    return [Finding("lost framing", f"no API has the key {key} (bytes {data.hex(' ')}{text})", remedy)]


def _to_int(text: str) -> int:
    digits = text.replace(",", "").replace("_", "")
    return int(digits, 16) if "x" in digits.lower() else int(digits)


def number_of(text: str) -> int | None:
    """The number that a text is, `369295617`, `-720899`, `0x16030100`, `1,195,725,856`; None where it is none."""
    return _to_int(text) if _NUMBER_ALONE.fullmatch(text.strip()) else None


# Strange bytes in; findings out, best first: what the bytes are, and what to do about it.
#
# Looked for in this order: marks of other protocols (the table of protocols/signatures.py), Kafka itself, SASL tokens,
# files and compressions, a size field of the wrong byte order, a Kafka frame that begins further on.


# How far from the start another frame is looked for.
SEARCH_MAX: Final = 1 << 16
# What a head must look like to be worth a verdict: a size below 128 MiB, an API key and a version below 256.
_HEAD: Final = re.compile(rb"(?=[\0-\x07].{3}\0[\0-\x7f]\0[\0-\x1f])", re.DOTALL)
# What every request begins with behind its size, also the one without a client id.
_START: Final = Struct(">hhi")
_SASL_REMEDY: Final = "a SASL token is sent only inside SaslAuthenticate, or bare after SaslHandshake 0"

# First bytes of files and compressions; none of them opens a connection.
FILES: Final[tuple[tuple[bytes, str, str], ...]] = (
    (bytes.fromhex("d4c3b2a1"), "pcap capture", "give it to kw sniff"),
    (bytes.fromhex("a1b2c3d4"), "pcap capture", "give it to kw sniff"),
    (bytes.fromhex("4d3cb2a1"), "pcap capture", "give it to kw sniff"),
    (bytes.fromhex("a1b23c4d"), "pcap capture", "give it to kw sniff"),
    (bytes.fromhex("0a0d0d0a"), "pcapng capture", "give it to kw sniff"),
    (bytes.fromhex("1f8b"), "gzip data", "unpack it first; Kafka compresses inside record batches only"),
    (bytes.fromhex("28b52ffd"), "zstd data", "unpack it first; Kafka compresses inside record batches only"),
    (bytes.fromhex("04224d18"), "lz4 frame", "unpack it first; Kafka compresses inside record batches only"),
    (b"\x82SNAPPY\0", "snappy in Java's framing", "unpack it first; Kafka compresses inside record batches only"),
    (bytes.fromhex("aced0005"), "serialized Java objects", "this is Java RMI or JMX: check host and port"),
    (b"JRMI", "Java RMI", "this is a JMX port: check host and port"),
    (b"-----BEGIN ", "PEM file", ""),
    (bytes.fromhex("feedfeed"), "Java key store", ""),
    (b"\x7fELF", "program for Linux", ""),
    (b"PK\3\4", "zip or jar file", ""),
    (b"Obj\1", "Avro file", ""),
    (b"%PDF", "PDF file", ""),
)


def explain_bytes(data: bytes) -> list[Finding]:
    """Findings about the first bytes of a connection, a message or a file, best first; empty where nothing is known."""
    if not data:
        return []
    found = [_describe_mark(mark, data) for mark in CERTAIN if mark.known(data)]
    verdict = request_verdict(data, 0)
    likely = [_describe_mark(mark, data) for mark in LIKELY if mark.known(data)]
    kafka = list(_find_request(data, verdict))
    found += likely + kafka if verdict == HEAD else kafka + likely
    found += _find_token(data)
    found += [Finding(name, "", remedy) for magic, name, remedy in FILES if data.startswith(magic)]
    found += _find_batches(data)
    if not any(each.what.startswith("Kafka") for each in found):
        found += _find_misplaced_frame(data)
    if not found:
        found += _find_text(data)
    return list(dict.fromkeys(found))


def _describe_mark(mark: Signature, data: bytes) -> Finding:
    remedy = remedy_of_tls(data) if mark.name == TLS else ""
    return Finding(mark.name, mark.describe(data), remedy or mark.remedy)


def _describe_request(data: bytes, at: int) -> str:
    key, version, correlation_id = _START.unpack_from(data, at + 4)
    return f"{api(key).name} {version}, correlation id {correlation_id}"


def _find_request(data: bytes, verdict: int) -> Iterator[Finding]:
    """A request from the first byte on, with its size field or without."""
    if verdict == YES:
        yield Finding("Kafka request", _describe_request(data, 0), "")
    elif verdict == FITS or (verdict == HEAD and _has_known_version(data)):
        yield Finding("Kafka request", f"{_describe_request(data, 0)}, not whole", "")
    elif len(data) <= FRAME_MAX:
        framed = add_size_field(data)
        if request_verdict(framed, 0) == YES:
            yield Finding("Kafka request", f"{_describe_request(framed, 0)}, without its size field", "")


def _has_known_version(data: bytes) -> bool:
    """Whether the version in a head is a known one: of unknown versions only the head can be judged."""
    key, version, _ = _START.unpack_from(data, 4)
    return version in api(key).versions and data[:2] == b"\0\0"


def _find_token(data: bytes) -> Iterator[Finding]:
    size = int.from_bytes(data[:4], "big")
    for start in (4, 0) if len(data) > 4 and size == len(data) - 4 else (0,):
        found = find_token(data[start:])
        if found is not None:
            framed = "" if start else ", without a size field"
            yield Finding("SASL token", f"{found.mechanism}: {found.detail}{framed}", _SASL_REMEDY)
            return


def _find_batches(data: bytes) -> Iterator[Finding]:
    """Record batches without a message around them: a segment of a log, or a records field."""
    if len(data) < 61 or data[16] > 2:
        return
    from decoders.records.read import read_batches

    batches = read_batches(data[: 1 << 22], records=False)
    first = batches[0]
    if first.error is None and first.crc == "ok":
        count = f"{first.record_count} records" if first.record_count is not None else "one message"
        yield Finding(
            "Kafka records",
            f"a batch of magic {first.magic} with {count}, base offset {first.base_offset}",
            "a segment of a log or a records field, no message",
        )


def _find_misplaced_frame(data: bytes) -> Iterator[Finding]:
    """A size of the wrong byte order; a frame that begins further on."""
    yield from _find_little_endian(data)
    for found in _HEAD.finditer(data[:SEARCH_MAX]):
        at = found.start()
        if at and request_verdict(data, at) == YES:
            yield Finding(
                "Kafka request further on",
                f"{_describe_request(data, at)} begins at byte {at}",
                f"the framing was lost: the {in_bytes(at)} before it are the end of another message",
            )
            return


def _find_little_endian(data: bytes) -> Iterator[Finding]:
    if len(data) < 8:
        return
    size = int.from_bytes(data[:4], "little")
    if int.from_bytes(data[:4], "big") <= FRAME_MAX or not 8 <= size <= FRAME_MAX:
        return
    turned = size.to_bytes(4, "big") + data[4:]
    little_key, little_version = int.from_bytes(data[4:6], "little"), int.from_bytes(data[6:8], "little")
    if size == len(data) - 4 or request_verdict(turned, 0) in (FITS, YES):
        header = "little-endian" if little_key in NAMES and little_version in api(little_key).versions else "size"
        also = ", and so is the header" if header == "little-endian" and data[4:5] != b"\0" else ""
        yield Finding(
            "wrong byte order",
            f"the size {size} is written little-endian{also}",
            "Kafka writes all numbers big-endian (network byte order)",
        )


def _find_text(data: bytes) -> Iterator[Finding]:
    head = data[:64]
    if len(head) >= 4 and all(32 <= byte < 127 or byte in b"\t\r\n" for byte in head):
        kind = "JSON text" if head.lstrip()[:1] in (b"{", b"[") else "XML or HTML" if head[:1] == b"<" else "text"
        yield Finding(kind, f'"{text_of(head, 40)}"', "")
