"""Strange bytes in; findings out, best first: what the bytes are, and what to do about it.

Looked for in this order: marks of other protocols (the table of protocols/recognise_protocols.py), Kafka itself, SASL
tokens, files and compressions, a size field of the wrong byte order, a Kafka frame that begins further on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from struct import Struct
from typing import Final

from decoders.apis import NAMES, api
from decoders.frames.frames_of_gapless_connections import with_size_field
from decoders.frames.read_and_judge_headers import FITS, HEAD, YES, judge_request
from decoders.limits import FRAME_MAX
from decoders.protocols import TLS
from decoders.protocols.recognise_protocols import (
    CERTAIN,
    LIKELY,
    Finding,
    ProtocolSignature,
    printable_text,
)
from decoders.protocols.recognise_sasl_tokens import find_sasl_token
from decoders.tls.explain_first_record import remedy_of_tls_alert
from decoders.wire.format_and_escape_text import format_bytes

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
    found = [_make_signature_finding(mark, data) for mark in CERTAIN if mark.known(data)]
    verdict = judge_request(data, 0)
    likely = [_make_signature_finding(mark, data) for mark in LIKELY if mark.known(data)]
    kafka = list(_find_request(data, verdict))
    found += likely + kafka if verdict == HEAD else kafka + likely
    found += _find_sasl_token(data)
    found += [Finding(name, "", remedy) for magic, name, remedy in FILES if data.startswith(magic)]
    found += _find_record_batches(data)
    if not any(each.what.startswith("Kafka") for each in found):
        found += _find_misplaced_frame(data)
    if not found:
        found += _find_plain_text(data)
    return list(dict.fromkeys(found))


def _make_signature_finding(mark: ProtocolSignature, data: bytes) -> Finding:
    remedy = remedy_of_tls_alert(data) if mark.name == TLS else ""
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
        framed = with_size_field(data)
        if judge_request(framed, 0) == YES:
            yield Finding("Kafka request", f"{_describe_request(framed, 0)}, without its size field", "")


def _has_known_version(data: bytes) -> bool:
    """Whether the version in a head is a known one: of unknown versions only the head can be judged."""
    key, version, _ = _START.unpack_from(data, 4)
    return version in api(key).versions and data[:2] == b"\0\0"


def _find_sasl_token(data: bytes) -> Iterator[Finding]:
    size = int.from_bytes(data[:4], "big")
    for start in (4, 0) if len(data) > 4 and size == len(data) - 4 else (0,):
        found = find_sasl_token(data[start:])
        if found is not None:
            framed = "" if start else ", without a size field"
            yield Finding("SASL token", f"{found.mechanism}: {found.detail}{framed}", _SASL_REMEDY)
            return


def _find_record_batches(data: bytes) -> Iterator[Finding]:
    """Record batches without a message around them: a segment of a log, or a records field."""
    if len(data) < 61 or data[16] > 2:
        return
    from decoders.records.read_batches import read_batches

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
    yield from find_little_endian_size(data)
    for found in _HEAD.finditer(data[:SEARCH_MAX]):
        at = found.start()
        if at and judge_request(data, at) == YES:
            yield Finding(
                "Kafka request further on",
                f"{_describe_request(data, at)} begins at byte {at}",
                f"the framing was lost: the {format_bytes(at)} before it are the end of another message",
            )
            return


def find_little_endian_size(data: bytes) -> Iterator[Finding]:
    """A size of the wrong byte order, which fits the bytes, or the header behind it, read so, does."""
    if len(data) < 8:
        return
    size = int.from_bytes(data[:4], "little")
    if int.from_bytes(data[:4], "big") <= FRAME_MAX or not 8 <= size <= FRAME_MAX:
        return
    turned = size.to_bytes(4, "big") + data[4:]
    little_key, little_version = int.from_bytes(data[4:6], "little"), int.from_bytes(data[6:8], "little")
    header_too = data[4:5] != b"\0" and little_key in NAMES and little_version in api(little_key).versions
    if size == len(data) - 4 or header_too or judge_request(turned, 0) in (FITS, YES):
        also = ", and so is the header" if header_too else ""
        yield Finding(
            "wrong byte order",
            f"the size {size} is written little-endian{also}",
            "Kafka writes all numbers big-endian (network byte order)",
        )


def _find_plain_text(data: bytes) -> Iterator[Finding]:
    head = data[:64]
    if len(head) >= 4 and all(32 <= byte < 127 or byte in b"\t\r\n" for byte in head):
        kind = "JSON text" if head.lstrip()[:1] in (b"{", b"[") else "XML or HTML" if head[:1] == b"<" else "text"
        yield Finding(kind, f'"{printable_text(head, 40)}"', "")
