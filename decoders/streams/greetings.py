"""The first bytes of other protocols in, what they are in a few words out: a request line, a banner, a greeting.

Nothing that may be a secret is told (paths without their query, commands without their arguments), and nothing that a
terminal could take for a command.
"""

from __future__ import annotations

from typing import Final

LINE_MAX: Final = 80
_MONGODB: Final = {1: "OP_REPLY", 2004: "OP_QUERY", 2012: "OP_COMPRESSED", 2013: "OP_MSG"}
_POSTGRESQL: Final = {
    196608: "start-up packet, protocol 3.0",
    196610: "start-up packet, protocol 3.2",
    80877102: "cancel request",
    80877103: "request for TLS",
    80877104: "request for GSSAPI",
}
_ADDRESSES: Final = {0x11: "TCP over IPv4", 0x21: "TCP over IPv6"}


def text_of(data: bytes, most: int = LINE_MAX) -> str:
    """Bytes as printable text of limited length."""
    text = data[:most].decode("utf-8", "replace")
    return "".join(each if each.isprintable() else "�" for each in text)


def first_line(data: bytes) -> bytes:
    """The bytes up to the first line end."""
    return data.partition(b"\n")[0].rstrip(b"\r")


def tell_text(data: bytes) -> str:
    """A protocol of lines: the first one."""
    return text_of(first_line(data))


def tell_http1(data: bytes) -> str:
    """`GET /metrics`, without query; `HTTP/1.1 400 Bad Request`."""
    line = first_line(data)
    if line.startswith(b"HTTP/"):
        return f"answer {text_of(line[9:])}"
    method, _, rest = line.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0]
    return f"{text_of(method)} {text_of(path)}"


def tell_ssh(data: bytes) -> str:
    """The banner."""
    return text_of(first_line(data)[4:])


def tell_amqp(data: bytes) -> str:
    """The version of the protocol header."""
    return "version " + ".".join(map(str, data[5:8])) if len(data) >= 8 else ""


def tell_proxy(data: bytes) -> str:
    """The version, and for whom the proxy speaks."""
    if data.startswith(b"PROXY "):
        return f"version 1, {text_of(first_line(data)[6:])}"
    return f"version 2, {_ADDRESSES.get(data[13], 'another family')}" if len(data) > 13 else "version 2"


def tell_mqtt(data: bytes) -> str:
    """The version of a CONNECT packet."""
    versions = {3: "3.1", 4: "3.1.1", 5: "5.0"}
    size = int.from_bytes(data[2:4], "big")
    return "CONNECT" + (f" {versions[data[4 + size]]}" if len(data) > 4 + size and data[4 + size] in versions else "")


def tell_mysql(data: bytes) -> str:
    """The server's version in its greeting."""
    return f"server's greeting, {text_of(data[5:].partition(bytes(1))[0], 40)}"


def tell_redis(data: bytes) -> str:
    """The command, without its arguments; or the kind of answer."""
    if data.startswith(b"*"):
        lines = data.split(b"\r\n", 3)
        word = lines[2] if len(lines) > 3 and lines[1].startswith(b"$") else b""
        return f"command {text_of(word, 20)}" if word.isalpha() else ""
    if data.startswith((b"-", b"+")):
        return f"answer {text_of(first_line(data))}"
    return ""


def tell_mongodb(data: bytes) -> str:
    """The kind of message."""
    return _MONGODB.get(int.from_bytes(data[12:16], "little"), "")


def tell_postgresql(data: bytes) -> str:
    """Which start-up packet, or the server's error."""
    if data[:1] == b"E":
        parts = {part[:1]: part[1:] for part in data[5:].split(b"\0") if part}
        return f"error {text_of(parts.get(b'M', b''))}".rstrip()
    return _POSTGRESQL.get(int.from_bytes(data[4:8], "big"), "")


def tell_zookeeper(data: bytes) -> str:
    """A connect request or response, or one of the words that administrators send."""
    if data[:1] != b"\0":
        return f"word {text_of(data[:4])}" if data[:4].islower() else text_of(first_line(data))
    return "connect request" if data[3] in (0x2C, 0x2D) else "connect response"
