"""What stands before Kafka on a connection in, the same bytes with other addresses, names and passwords out.

Every head keeps its form and its size, so that kw reads it again; ports, codes and sizes stay. Values whose meaning is
not known (TLVs, header lines, pages of a proxy) become filler.
"""

from __future__ import annotations

import re
from typing import Final

import google_crc32c

from decoders.protocols.read_connection_prefix import PROXY_1, PROXY_2, PrefixHead, list_prefix_heads
from decoders.scrubbing.replace_names import FILLER, NameReplacer

__all__ = ["scrub_prefix"]

_FIXED: Final = 16
_CHECKSUM_TLV, _AUTHORITY_TLV, _SSL_TLV = 3, 2, 0x20
# Of the TLV about TLS: version, cipher, algorithms of signature and key.
_TLS_FACTS: Final = frozenset((0x21, 0x23, 0x24, 0x25))
_WIDTHS: Final = {1: 4, 2: 16, 3: 108}
# Header lines that say where an answer of HTTP ends.
_FRAMING: Final = re.compile(rb"(content-length|transfer-encoding):", re.IGNORECASE)
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,8})([^\r\n]*)\r\n")


def scrub_prefix(names: NameReplacer, asked: bytes, answered: bytes) -> tuple[bytes, bytes]:
    """The bytes that take the place of a prefix: those of the side that sent it, and those of the other side.

    Raises DecodeError where they are no whole prefix.
    """
    asked_parts, answered_parts = [], []
    at = answer_at = 0
    for head in list_prefix_heads(asked, answered):
        its = asked[at : at + head.size], answered[answer_at : answer_at + head.answer_size]
        made, answer = _scrub_prefix_head(names, head, *its)
        asked_parts.append(made)
        answered_parts.append(answer)
        at, answer_at = at + head.size, answer_at + head.answer_size
    return b"".join(asked_parts), b"".join(answered_parts)


def _scrub_prefix_head(names: NameReplacer, head: PrefixHead, asked: bytes, answered: bytes) -> tuple[bytes, bytes]:
    if head.protocol == PROXY_1:
        return _scrub_proxy_1(names, asked), answered
    if head.protocol == PROXY_2:
        return _scrub_proxy_2(names, asked), answered
    if head.protocol == "CONNECT":
        return _scrub_http(names, asked), _scrub_http(names, answered)
    if head.protocol.startswith("SOCKS 4"):
        return _scrub_socks_4(names, asked), answered[:4] + _scrub_address(names, answered[4:])
    return _scrub_socks_5(names, asked, answered)


def _scrub_address(names: NameReplacer, packed: bytes) -> bytes:
    """The pseudonym of an address of 4 or 16 bytes; all others become zeros."""
    if "hosts" in names.keep:
        return packed
    return names.pseudonyms.address_pseudonym(packed) if any(packed) else packed


# PROXY protocol


def _scrub_proxy_1(names: NameReplacer, line: bytes) -> bytes:
    words = line[:-2].split(b" ")
    if len(words) != 6 or words[1] == b"UNKNOWN":
        known = b" ".join(words[:2])
        return known + re.sub(rb"[^ ]", FILLER, line[len(known) : -2]) + line[-2:]
    words[2:4] = (names.replace_bytes("hosts", word) for word in words[2:4])
    return b" ".join(words) + line[-2:]


def _scrub_proxy_2(names: NameReplacer, head: bytes) -> bytes:
    out = bytearray(head)
    width = _WIDTHS.get(head[13] >> 4, 0)
    tlvs = _FIXED + 2 * width + (4 if width in (4, 16) else 0)
    for at in (_FIXED, _FIXED + width):
        out[at : at + width] = _scrub_address(names, head[at : at + width])[: len(head) - at]
    _scrub_tlvs(names, out, min(tlvs, len(head)), len(head))
    return bytes(out)


def _scrub_tlvs(names: NameReplacer, out: bytearray, at: int, end: int) -> None:
    """Replace the values of TLVs in place; bytes that are no whole TLV become filler."""
    checksum_at = -1
    while at < end:
        kind, start = out[at], at + 3
        size = int.from_bytes(out[at + 1 : start], "big") if start <= end else end
        if start + size > end:
            out[at:end] = FILLER * (end - at)
            break
        at = start + size
        if kind == _CHECKSUM_TLV and size == 4:
            checksum_at = start
            out[start:at] = bytes(4)
        elif kind == _AUTHORITY_TLV:
            out[start:at] = names.replace_bytes("hosts", bytes(out[start:at]))
        elif kind == _SSL_TLV and size > 5:
            _scrub_tlvs(names, out, start + 5, at)
        elif kind not in _TLS_FACTS:
            out[start:at] = FILLER * size
    if checksum_at >= 0:
        checksum: int = google_crc32c.value(bytes(out))
        out[checksum_at : checksum_at + 4] = checksum.to_bytes(4, "big")


# SOCKS


def _scrub_socks_4(names: NameReplacer, asked: bytes) -> bytes:
    named = asked[4:7] == bytes(3) and asked[7] != 0
    user, _, host = asked[8:-1].partition(b"\0")
    address = asked[4:8] if named else _scrub_address(names, asked[4:8])
    made = asked[:4] + address + names.replace_bytes("users", user) + b"\0"
    return made + (names.replace_bytes("hosts", host) + b"\0" if named else b"")


def _scrub_socks_5(names: NameReplacer, asked: bytes, answered: bytes) -> tuple[bytes, bytes]:
    out = bytearray(asked)
    at = 2 + asked[1]
    if answered[1] == 2:  # user and password
        user = at + 2, at + 2 + asked[at + 1]
        out[slice(*user)] = names.replace_bytes("users", asked[slice(*user)])
        at = user[1] + 1 + asked[user[1]]
        out[user[1] + 1 : at] = names.overwrite_secret(asked[user[1] + 1 : at])
    answer_at = 2 if answered[1] == 0 else 4
    return _scrub_socks_address(names, bytes(out), at + 3), _scrub_socks_address(names, answered, answer_at + 3)


def _scrub_socks_address(names: NameReplacer, data: bytes, at: int) -> bytes:
    """Bytes with the address at `at`, which is their end, replaced; the port stays."""
    if data[at] == 3:
        return data[: at + 2] + names.replace_bytes("hosts", data[at + 2 : -2]) + data[-2:]
    return data[: at + 1] + _scrub_address(names, data[at + 1 : -2]) + data[-2:]


# HTTP


def _scrub_http(names: NameReplacer, data: bytes) -> bytes:
    """Messages of HTTP, one behind the other: methods, codes, and what says where they end stay."""
    out, at = b"", 0
    while at < len(data):
        head = re.compile(rb"\r?\n\r?\n").search(data, at)
        end = head.end() if head is not None else len(data)
        lines = data[at:end].splitlines(keepends=True)
        out += _scrub_http_first_line(names, lines[0])
        out += b"".join(map(_scrub_http_header_line, lines[1:]))
        at = end
        if b"chunked" in data[at - len(b"".join(lines)) : at].lower():
            made, at = _scrub_http_chunks(data, at)
            out += made
        while at < len(data) and not data.startswith((b"CONNECT ", b"HTTP/1."), at):  # the content of an answer
            out += FILLER
            at += 1
    return out


def _scrub_http_first_line(names: NameReplacer, line: bytes) -> bytes:
    if line.startswith(b"CONNECT "):
        method, target, rest = line.split(b" ", 2)
        return b" ".join((method, names.replace_bytes("hosts", target), rest))
    return line[:12] + re.sub(rb"[^ \r\n]", FILLER, line[12:])


def _scrub_http_header_line(line: bytes) -> bytes:
    if _FRAMING.match(line):
        return line
    name, colon, value = line.partition(b":")
    return name + colon + re.sub(rb"[^ \r\n]", FILLER, value)


def _scrub_http_chunks(data: bytes, at: int) -> tuple[bytes, int]:
    """The chunks of an answer with other content, and the offset behind them."""
    out = b""
    while (line := _CHUNK.match(data, at)) is not None:
        size = int(line[1], 16)
        if not size:
            return out + data[at : line.end()] + data[line.end() : line.end() + 2], line.end() + 2
        out += line[1] + FILLER * len(line[2]) + b"\r\n" + FILLER * size + b"\r\n"
        at = line.end() + size + 2
    return out, at
