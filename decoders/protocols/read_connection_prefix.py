"""The first bytes of both directions of a connection in; out comes what stands there before the connection's own bytes.

The problem. A load balancer names its client before the stream (PROXY protocol), and a client asks a forward proxy for
the way before it speaks (SOCKS, HTTP CONNECT). Behind such a *prefix* come Kafka or TLS as if it were not there.

The idea. A prefix is a row of heads, each read by its own reader from both directions at a time:

```
client  PROXY head │ CONNECT head │              request …
server             │              │ answer 200 │           response …
```

What always holds: a prefix is read whole or not at all. Where a head is refused, or nothing comes behind it, the bytes
stay where they are, and the connection is what its first bytes say.

Sources: HAProxy's proxy-protocol.txt; SOCKS 4 and 4a by the papers of their authors, SOCKS 5 is RFC 1928 and 1929; RFC
9110, section 9.3.6.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from decoders.errors import Malformed, Truncated
from decoders.limits import PREFIX_MAX
from decoders.named_tuple import NamedTuple
from decoders.tcp.connection_prefix import ConnectionPrefix

__all__ = [
    "PROXY_1",
    "PROXY_2",
    "PROXY_SIGNATURE",
    "PrefixHead",
    "least_size_of_proxy_head",
    "list_prefix_heads",
    "make_prefix_of_heads",
    "may_begin_prefix",
    "read_connection_prefix",
    "read_proxy_head",
]

PROXY_1: Final = "PROXY 1"
PROXY_2: Final = "PROXY 2"
PROXY_SIGNATURE: Final = b"\r\n\r\n\0\r\nQUIT\n"
_PROXY_WORD: Final = b"PROXY "
# The longest head of version 1, with its line end.
_PROXY_LINE_MAX: Final = 107
_PROXY_LINE_LEAST: Final = len(b"PROXY UNKNOWN\r\n")
_PROXY_FIXED: Final = 16
_CONNECT: Final = b"CONNECT "
_CONNECT_LINE: Final = re.compile(rb"CONNECT ([\x21-\x7e]{1,300}) HTTP/1\.[01]\r?\n")
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)(?: [^\r\n]*)?\r?\n")
_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_CONTENT_LENGTH: Final = re.compile(rb"\ncontent-length:[ \t]*(\d{1,9})[ \t]*\r?(?=\n)", re.IGNORECASE)
_CHUNKED: Final = re.compile(rb"\ntransfer-encoding:[^\n]*chunked", re.IGNORECASE)
# A proxy that wants a password says so, and is asked again on the same connection.
_PASSWORD_WANTED: Final = 407
_HTTP_HEAD_MAX: Final = 16 << 10
# Heads one behind the other: two load balancers, or one before a forward proxy.
_HEADS_MAX: Final = 4
_SOCKS_5: Final = 5
_CONNECT_COMMAND: Final = 1
_GRANTED: Final = 90
_NO_PASSWORD, _PASSWORD = 0, 2
_ADDRESS_SIZES: Final = {1: 4, 4: 16}
_NAME_TYPE: Final = 3
_SOCKS_NAME_MAX: Final = 255


class PrefixHead(NamedTuple):
    """One head: its protocol, host:port of the client and of the target that it names (empty where it names none).

    `size` is its size, `answer_size` that of the server's answers to it.
    """

    protocol: str
    client: str
    target: str
    size: int
    answer_size: int


def may_begin_prefix(data: bytes, *, opened: bool) -> bool:
    """Whether these first bytes of a connection may begin a prefix.

    Of a connection that was not seen from its beginning (`opened`) SOCKS is not believed: its marks are too short.
    """
    if data[:1] in (b"\x04", b"\x05"):
        return opened
    marks = (_PROXY_WORD, PROXY_SIGNATURE, _CONNECT)
    return any(data.startswith(mark) or mark.startswith(data) for mark in marks)


def read_connection_prefix(
    asked: bytes, answered: bytes, *, opened: bool = True, sender_first: bool = True, time_ns: int = 0
) -> ConnectionPrefix:
    """The prefix at the beginning of a connection, from what its first speaker and the other side have sent so far.

    Raises Truncated as long as more bytes may tell, also while nothing has come behind the prefix, and Malformed where
    there is none.
    """
    heads = list_prefix_heads(asked, answered, opened=opened)
    prefix = make_prefix_of_heads(heads, sender_first=sender_first, time_ns=time_ns)
    if prefix.sizes == (len(asked), len(answered)):
        raise Truncated("nothing behind the prefix", offset=len(asked))
    return prefix


def make_prefix_of_heads(heads: Sequence[PrefixHead], *, sender_first: bool = True, time_ns: int) -> ConnectionPrefix:
    """The prefix of which these are the heads; the last one that names a client, or a target, says who it is."""
    return ConnectionPrefix(
        protocol=" > ".join(head.protocol for head in heads),
        client=next((head.client for head in reversed(heads) if head.client), ""),
        target=next((head.target for head in reversed(heads) if head.target), ""),
        sender_first=sender_first,
        sizes=(sum(head.size for head in heads), sum(head.answer_size for head in heads)),
        time_ns=time_ns,
    )


def list_prefix_heads(asked: bytes, answered: bytes, *, opened: bool = True) -> list[PrefixHead]:
    """The heads at the beginning of a connection. Raises as `read_connection_prefix` does."""
    found: list[PrefixHead] = []
    at = answer_at = 0
    while len(found) < _HEADS_MAX:
        rest = asked[at:]
        if found and (not rest or not may_begin_prefix(rest, opened=True)):
            break
        try:
            head = _read_prefix_head(rest, answered[answer_at:], opened=opened or bool(found))
        except Malformed:
            if found:
                break
            raise
        found.append(head)
        at, answer_at = at + head.size, answer_at + head.answer_size
    return found


def _read_prefix_head(asked: bytes, answered: bytes, *, opened: bool) -> PrefixHead:
    """The head at the beginning of what one side sends. Raises as `read_connection_prefix` does."""
    if not asked:
        raise Truncated("nothing yet")
    if not may_begin_prefix(asked, opened=opened):
        raise Malformed("no head of a prefix")
    if max(len(asked), len(answered)) > PREFIX_MAX:
        raise Malformed(f"no end of a prefix in {PREFIX_MAX} bytes")
    return _READERS[asked[:1]](asked, answered)


# PROXY protocol


def read_proxy_head(data: bytes) -> PrefixHead:
    """The PROXY head at the beginning of what a sender sends. Raises as `read_connection_prefix` does."""
    if not data:
        raise Truncated("nothing yet")
    read = {b"P": _read_proxy_1, b"\r": _read_proxy_2}.get(data[:1])
    if read is None:
        raise Malformed("no PROXY head")
    return read(data, b"")


def least_size_of_proxy_head(data: bytes) -> int:
    """How many bytes the PROXY head has at the least that begins with `data` and is not whole with it.

    So it can be taken from a stream without a byte of what comes behind it.
    """
    if data.startswith(b"\r"):
        return _PROXY_FIXED + (int.from_bytes(data[14:16], "big") if len(data) >= _PROXY_FIXED else 0)
    return max(_PROXY_LINE_LEAST, len(data) + (1 if data.endswith(b"\r") else 2))


def _read_proxy_1(data: bytes, _answered: bytes) -> PrefixHead:
    end = data.find(b"\r\n", 0, _PROXY_LINE_MAX)
    if not (data.startswith(_PROXY_WORD) or _PROXY_WORD.startswith(data)):
        raise Malformed("no PROXY head")
    if end < 0:
        if len(data) >= _PROXY_LINE_MAX:
            raise Malformed("a PROXY head without a line end", offset=_PROXY_LINE_MAX)
        raise Truncated("a PROXY head without its line end", offset=len(data))
    words = data[:end].split(b" ")
    if words[1:2] == [b"UNKNOWN"]:
        return PrefixHead(PROXY_1, "", "", end + 2, 0)
    if len(words) != 6 or words[1] not in (b"TCP4", b"TCP6"):
        raise Malformed("a PROXY head of another form", offset=len(_PROXY_WORD))
    _, family, source, target, source_port, target_port = words
    client = _format_text_endpoint(family, source, source_port)
    return PrefixHead(PROXY_1, client, _format_text_endpoint(family, target, target_port), end + 2, 0)


def _format_text_endpoint(family: bytes, address: bytes, port: bytes) -> str:
    from ipaddress import IPv4Address, IPv6Address  # only where there is a prefix: it costs start-up time

    kind = IPv4Address if family == b"TCP4" else IPv6Address
    try:
        packed = kind(address.decode("ascii")).packed
    except ValueError:
        raise Malformed("a PROXY head with something else for an address") from None
    if not (port.isdigit() and len(port) <= 5 and int(port) <= 0xFFFF):
        raise Malformed("a PROXY head with something else for a port")
    return _format_packed_endpoint(packed, int(port))


def _format_packed_endpoint(packed: bytes, port: int) -> str:
    from ipaddress import ip_address

    text = str(ip_address(packed))
    return f"[{text}]:{port}" if ":" in text else f"{text}:{port}"


def _read_proxy_2(data: bytes, _answered: bytes) -> PrefixHead:
    if not (data.startswith(PROXY_SIGNATURE) or PROXY_SIGNATURE.startswith(data)):
        raise Malformed("no PROXY head")
    if len(data) < _PROXY_FIXED:
        raise Truncated("the fixed part of a PROXY head", offset=len(data))
    version, command = data[12] >> 4, data[12] & 15
    family, size = data[13] >> 4, int.from_bytes(data[14:16], "big")
    if version != 2 or command > 1 or family > 3 or data[13] & 15 > 2:
        raise Malformed("a PROXY head of another version or family", offset=12)
    end = _PROXY_FIXED + size
    width = {1: 4, 2: 16}.get(family, 0)
    if size < 2 * width + (4 if width else 0):
        raise Malformed("a PROXY head that is too short for its addresses", offset=14)
    if len(data) < end:
        raise Truncated("the addresses of a PROXY head", offset=len(data))
    if not width or not command:  # LOCAL: the balancer speaks for itself; the addresses are to be ignored
        return PrefixHead(PROXY_2, "", "", end, 0)
    at = _PROXY_FIXED
    addresses = data[at : at + width], data[at + width : at + 2 * width]
    ports = data[at + 2 * width : at + 2 * width + 2], data[at + 2 * width + 2 : at + 2 * width + 4]
    client, target = (
        _format_packed_endpoint(address, int.from_bytes(port, "big"))
        for address, port in zip(addresses, ports, strict=True)
    )
    return PrefixHead(PROXY_2, client, target, end, 0)


# SOCKS


def _byte_at(data: bytes, at: int) -> int:
    if at >= len(data):
        raise Truncated("a head of SOCKS", offset=len(data))
    return data[at]


def _bytes_at(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise Truncated("a head of SOCKS", offset=len(data))
    return data[at : at + size]


def _text_at(data: bytes, at: int) -> bytes:
    """The text that ends with a zero."""
    end = data.find(b"\0", at, at + _SOCKS_NAME_MAX + 1)
    if end < 0:
        if len(data) > at + _SOCKS_NAME_MAX:
            raise Malformed("a head of SOCKS with a name without end", offset=at)
        raise Truncated("a head of SOCKS", offset=len(data))
    return data[at:end]


def _read_socks_4(asked: bytes, answered: bytes) -> PrefixHead:
    if _byte_at(asked, 1) != _CONNECT_COMMAND:
        raise Malformed("no request for a connection", offset=1)
    port = int.from_bytes(_bytes_at(asked, 2, 2), "big")
    packed = _bytes_at(asked, 4, 4)
    at = 8 + len(_text_at(asked, 8)) + 1
    protocol, target = "SOCKS 4", _format_packed_endpoint(packed, port)
    if packed[:3] == bytes(3) and packed[3]:
        name = _text_at(asked, at)
        protocol, target = "SOCKS 4a", f"{_read_host_name(name)}:{port}"
        at += len(name) + 1
    if answered[:1] not in (b"", b"\0"):
        raise Malformed("no answer of SOCKS 4")
    if _bytes_at(answered, 0, 8)[1] != _GRANTED:
        raise Malformed("SOCKS 4: refused", offset=1)
    return PrefixHead(protocol, "", target, at, 8)


def _read_socks_5(asked: bytes, answered: bytes) -> PrefixHead:
    count = _byte_at(asked, 1)
    if not count:
        raise Malformed("SOCKS 5 without a method", offset=1)
    methods = _bytes_at(asked, 2, count)
    at, answer_at = 2 + count, 2
    if answered[:1] not in (b"", b"\5"):
        raise Malformed("no answer of SOCKS 5")
    method = _byte_at(answered, 1)
    if method not in methods or method not in (_NO_PASSWORD, _PASSWORD):
        raise Malformed("SOCKS 5 by another method", offset=1)
    if method == _PASSWORD:
        if _byte_at(asked, at) != 1:
            raise Malformed("no password of SOCKS 5", offset=at)
        at += 2 + _byte_at(asked, at + 1)
        at += 1 + _byte_at(asked, at)
        if _bytes_at(answered, answer_at, 2)[1]:
            raise Malformed("SOCKS 5: wrong password", offset=answer_at)
        answer_at += 2
    if _bytes_at(asked, at, 3) != bytes((_SOCKS_5, _CONNECT_COMMAND, 0)):
        raise Malformed("no request for a connection", offset=at)
    target, at = _read_socks_address(asked, at + 3)
    if _bytes_at(answered, answer_at, 3) != bytes((_SOCKS_5, 0, 0)):
        raise Malformed("SOCKS 5: refused", offset=answer_at)
    _, answer_at = _read_socks_address(answered, answer_at + 3)
    return PrefixHead("SOCKS 5", "", target, at, answer_at)


def _read_socks_address(data: bytes, at: int) -> tuple[str, int]:
    """The host:port at `at`, where its type is, and the offset behind it."""
    kind = _byte_at(data, at)
    if kind == _NAME_TYPE:
        size = _byte_at(data, at + 1)
        host = _bytes_at(data, at + 2, size)
        port = int.from_bytes(_bytes_at(data, at + 2 + size, 2), "big")
        return f"{_read_host_name(host)}:{port}", at + 4 + size
    if kind not in _ADDRESS_SIZES:
        raise Malformed("another type of address", offset=at)
    size = _ADDRESS_SIZES[kind]
    packed = _bytes_at(data, at + 1, size)
    port = int.from_bytes(_bytes_at(data, at + 1 + size, 2), "big")
    return _format_packed_endpoint(packed, port), at + 3 + size


def _read_host_name(data: bytes) -> str:
    name = data.decode("ascii", "replace")
    if not name.isprintable() or " " in name:
        raise Malformed("no name of a host")
    return name


# HTTP CONNECT


def _read_http_connect(asked: bytes, answered: bytes) -> PrefixHead:
    at = answer_at = 0
    while True:
        size = _http_head_size(asked, at)
        line = _CONNECT_LINE.match(asked, at)
        if line is None:
            raise Malformed("no CONNECT", offset=at)
        at += size
        answer_size = _http_head_size(answered, answer_at)
        status_line = _STATUS_LINE.match(answered, answer_at)
        if status_line is None:
            raise Malformed("no answer of HTTP", offset=answer_at)
        status, head = int(status_line[1]), answered[answer_at : answer_at + answer_size]
        answer_at += answer_size
        if 200 <= status < 300:  # its content is what the tunnel carries (RFC 9110, 9.3.6)
            return PrefixHead("CONNECT", "", line[1].decode("ascii"), at, answer_at)
        if status != _PASSWORD_WANTED:
            raise Malformed(f"refused with {status}", offset=answer_at)
        answer_at = _skip_http_content(answered, answer_at, head)


def _http_head_size(data: bytes, at: int) -> int:
    """The size of the head of an HTTP message at `at`, with the empty line at its end."""
    end = _HEAD_END.search(data, at, at + _HTTP_HEAD_MAX)
    if end is None:
        if len(data) - at >= _HTTP_HEAD_MAX:
            raise Malformed("a head of HTTP without end", offset=at)
        raise Truncated("a head of HTTP", offset=len(data))
    return end.end() - at


def _skip_http_content(data: bytes, at: int, head: bytes) -> int:
    """The offset behind the content of an answer, of which the client asks again on the same connection."""
    if _CHUNKED.search(head):
        end = data.find(b"0\r\n\r\n", at)  # a page of text: no chunk of it holds this but the last
        if end < 0:
            raise Truncated("the content of an answer", offset=len(data))
        return end + 5
    length = _CONTENT_LENGTH.search(head)
    at += int(length[1]) if length else 0
    if at > len(data):
        raise Truncated("the content of an answer", offset=len(data))
    return at


_READERS: Final[dict[bytes, Callable[[bytes, bytes], PrefixHead]]] = {
    b"P": _read_proxy_1,
    b"\r": _read_proxy_2,
    b"\x04": _read_socks_4,
    b"\x05": _read_socks_5,
    b"C": _read_http_connect,
}
