"""First bytes of a connection in, the protocol that they belong to out, where it is not Kafka."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from decoders.named_tuple import NamedTuple
from decoders.protocols import TLS
from decoders.wire.format_and_escape_text import replace_unprintable

# Descriptions of first bytes

# A description has nothing that may be a secret (paths without their query, commands without their arguments), and
# nothing that a terminal could take for a command.


LINE_MAX: Final = 80
_MONGODB: Final = {1: "OP_REPLY", 2004: "OP_QUERY", 2012: "OP_COMPRESSED", 2013: "OP_MSG"}
_POSTGRESQL: Final = {
    196608: "start-up packet, protocol 3.0",
    196610: "start-up packet, protocol 3.2",
    80877102: "cancel request",
    80877103: "request for TLS",
    80877104: "request for GSSAPI",
}
_SOCKS_5, _NO_METHOD = 5, 0xFF
_SOCKS_4_ANSWERS: Final = {90: "granted", 91: "refused", 92: "no identd", 93: "another user"}
_SOCKS_5_ANSWERS: Final = {
    0: "granted",
    1: "failure",
    2: "not allowed",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "TTL expired",
    7: "command not supported",
    8: "address type not supported",
    _NO_METHOD: "no method",
}
_ADDRESSES: Final = {0x11: "TCP over IPv4", 0x21: "TCP over IPv6"}


def printable_text(data: bytes, size_max: int = LINE_MAX) -> str:
    """Bytes as printable text of limited length."""
    return replace_unprintable(data, size_max)


def read_first_line(data: bytes) -> bytes:
    """The bytes up to the first line end."""
    return data.partition(b"\n")[0].rstrip(b"\r")


def describe_tls(data: bytes) -> str:
    """A description of the first record of TLS."""
    from decoders.tls.explain_first_record import describe_first_tls_record  # most captures have no TLS

    return describe_first_tls_record(data)


def describe_first_line(data: bytes) -> str:
    """The first line of a protocol of lines."""
    return printable_text(read_first_line(data))


def describe_http1(data: bytes) -> str:
    """An HTTP/1 request without its query, `GET /metrics`, or a response, `answer 400 Bad Request`."""
    line = read_first_line(data)
    if line.startswith(b"HTTP/"):
        return f"answer {printable_text(line[9:])}"
    method, _, rest = line.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0]
    return f"{printable_text(method)} {printable_text(path)}"


def describe_ssh(data: bytes) -> str:
    """The SSH banner, without `SSH-`."""
    return printable_text(read_first_line(data)[4:])


def describe_amqp(data: bytes) -> str:
    """The version in the AMQP protocol header."""
    return "version " + ".".join(map(str, data[5:8])) if len(data) >= 8 else ""


def describe_proxy(data: bytes) -> str:
    """The version of the PROXY protocol, and for whom the proxy speaks."""
    if data.startswith(b"PROXY "):
        return f"version 1, {printable_text(read_first_line(data)[6:])}"
    return f"version 2, {_ADDRESSES.get(data[13], 'another family')}" if len(data) > 13 else "version 2"


def describe_socks(data: bytes) -> str:
    """The version in what a client of a SOCKS proxy says first, or the proxy's answer."""
    if data[0] in (0, _SOCKS_5) and len(data) >= 2 and not _is_socks_hello(data):
        codes = _SOCKS_4_ANSWERS if data[0] == 0 else _SOCKS_5_ANSWERS
        code = data[1] if data[0] == 0 or data[1] == _NO_METHOD or len(data) < 4 else data[3]
        return f"answer {codes.get(code, f'code {code}')}"
    return f"version {data[0]}"


def describe_mqtt(data: bytes) -> str:
    """The version in an MQTT CONNECT packet."""
    versions = {3: "3.1", 4: "3.1.1", 5: "5.0"}
    size = int.from_bytes(data[2:4], "big")
    return "CONNECT" + (f" {versions[data[4 + size]]}" if len(data) > 4 + size and data[4 + size] in versions else "")


def describe_mysql(data: bytes) -> str:
    """The server's version in a MySQL greeting."""
    return f"server's greeting, {printable_text(data[5:].partition(bytes(1))[0], 40)}"


def describe_redis(data: bytes) -> str:
    """The Redis command, without its arguments; or the first line of the answer."""
    if data.startswith(b"*"):
        lines = data.split(b"\r\n", 3)
        word = lines[2] if len(lines) > 3 and lines[1].startswith(b"$") else b""
        return f"command {printable_text(word, 20)}" if word.isalpha() else ""
    if data.startswith((b"-", b"+")):
        return f"answer {printable_text(read_first_line(data))}"
    return ""


def describe_mongodb(data: bytes) -> str:
    """The kind of a MongoDB message."""
    return _MONGODB.get(int.from_bytes(data[12:16], "little"), "")


def describe_postgresql(data: bytes) -> str:
    """The kind of a PostgreSQL start-up packet, or the server's error."""
    if data[:1] == b"E":
        parts = {part[:1]: part[1:] for part in data[5:].split(b"\0") if part}
        return f"error {printable_text(parts.get(b'M', b''))}".rstrip()
    return _POSTGRESQL.get(int.from_bytes(data[4:8], "big"), "")


def describe_zookeeper(data: bytes) -> str:
    """A ZooKeeper connect request or response, or one of the words that administrators send."""
    if data[:1] != b"\0":
        return f"word {printable_text(data[:4])}" if data[:4].islower() else printable_text(read_first_line(data))
    return "connect request" if data[3] in (0x2C, 0x2D) else "connect response"


# Signatures of other protocols

# Certain marks end the search at once; the others only give a name to a connection that proved not to be Kafka, because
# by themselves they could be a Kafka frame (PostgreSQL's start-up packet looks like Metadata 0).
# frames/explain_strange_bytes.py reads the same table, for a description of the bytes and a remedy.


_TLS: Final = re.compile(rb"[\x14-\x17]\x03[\x00-\x04][\x00-\x48]|[\x80-\x8f].\x01\x03[\x00-\x03]", re.DOTALL)
_HTTP1: Final = re.compile(rb"(GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|TRACE|CONNECT) [^ ]* HTTP/1|HTTP/1\.[01] ")
_REDIS: Final = re.compile(rb"[*$:+-][^\r\n]{1,64}\r\n|PING\r\n")
_MONGODB_OPCODES: Final = frozenset({1, 2001, 2002, 2004, 2005, 2006, 2007, 2010, 2011, 2012, 2013})
_POSTGRESQL_CODES: Final = frozenset({196608, 196610, 80877102, 80877103, 80877104})
_FOUR_LETTERS: Final = (b"ruok", b"imok", b"stat", b"mntr", b"srvr", b"cons", b"envi", b"conf", b"Zookeeper version:")
_PROXY_2: Final = bytes.fromhex("0d0a0d0a000d0a515549540a")
_TELNET: Final = (b"\xff\xfb", b"\xff\xfc", b"\xff\xfd", b"\xff\xfe")


class ProtocolSignature(NamedTuple):
    """One protocol: `known` says whether bytes begin with its mark, `describe` describes them (may be empty).

    `certain`: no Kafka connection begins with the mark; as the size of a frame it would be far beyond every limit.
    `starts`: the first four bytes, where somebody read them as a size or an id, and what exactly they begin.
    """

    name: str
    certain: bool
    known: Callable[[bytes], object]
    describe: Callable[[bytes], str]
    remedy: str
    starts: Mapping[bytes, str] = MappingProxyType({})


class Finding(NamedTuple):
    """A name for bytes, a number or a line (`TLS`), a description, a remedy, a command of kw (each may be empty)."""

    what: str
    detail: str
    remedy: str
    command: str = ""

    @property
    def text(self) -> str:
        """The finding in one line: `TLS: ClientHello for kafka1.example`."""
        return f"{self.what}: {self.detail}" if self.detail else self.what


def _is_mongodb(data: bytes) -> bool:
    size, code = int.from_bytes(data[:4], "little"), int.from_bytes(data[12:16], "little")
    return len(data) >= 16 and 16 <= size <= 48 << 20 and code in _MONGODB_OPCODES


def _is_postgresql(data: bytes) -> bool:
    size, code = int.from_bytes(data[:4], "big"), int.from_bytes(data[4:8], "big")
    return 8 <= size <= 10000 and code in _POSTGRESQL_CODES


def _is_postgresql_error(data: bytes) -> bool:
    return data[:3] == b"E\0\0" and data[5:6] == b"S" and data[6:11] in (b"FATAL", b"ERROR", b"PANIC")


def _is_zookeeper(data: bytes) -> bool:
    connect = data[:4] in (b"\0\0\0\x2c", b"\0\0\0\x2d") and data[4:8] == bytes(4)
    connect = connect and (len(data) < 32 or data[28:32] == b"\0\0\0\x10")  # the size of a password
    answer = data[:4] in (b"\0\0\0\x24", b"\0\0\0\x25") and data[4:8] == bytes(4) and data[20:24] == b"\0\0\0\x10"
    return connect or answer or data.startswith(_FOUR_LETTERS)


def _is_mysql(data: bytes) -> bool:
    return len(data) > 8 and data[3:5] == b"\0\x0a" and data[2] == 0 and data[0] > 8 and data[5:6].isdigit()


def _is_http2_settings(data: bytes) -> bool:
    return (
        len(data) >= 9 and data[:2] == b"\0\0" and data[2] % 6 == 0 and data[3:9] in (b"\4\0\0\0\0\0", b"\4\1\0\0\0\0")
    )


def _is_socks_hello(data: bytes) -> bool:
    """What a client of a SOCKS proxy says first: of version 5 its methods, of version 4 a request to connect."""
    if data[:1] == b"\5" and len(data) >= 3:
        return 1 <= data[1] <= 8 and len(data) >= 2 + data[1] and max(data[2 : 2 + data[1]]) <= 9
    return data[:2] == b"\4\1" and len(data) >= 9 and b"\0" in data[8:]


def _is_socks(data: bytes) -> bool:
    """What a client of a SOCKS proxy says first, or the proxy's answers up to a refusal."""
    if _is_socks_hello(data):
        return True
    five = data[:1] == b"\5" and data[1:2] in (b"\0", b"\2", b"\xff") and (len(data) < 3 or data[2] in (1, 5))
    return (five and len(data) >= 2) or (len(data) == 8 and data[0] == 0 and data[1] in _SOCKS_4_ANSWERS)


def _is_cassandra(data: bytes) -> bool:
    return len(data) >= 9 and data[0] in (3, 4, 5) and data[1:4] == bytes(3) and data[4] in (1, 5)


def _describe_nothing(_data: bytes) -> str:
    return ""


_OTHER_PORT: Final = "this is no Kafka port: check host and port"
_WEB: Final = "this is a web server's or client's traffic: check host and port (Kafka's own is often 9092)"
_SPEAKS_TLS: Final = "set security.protocol to SSL or SASL_SSL, or use a port without TLS"

MARKS: Final[tuple[ProtocolSignature, ...]] = (
    ProtocolSignature(TLS, True, _TLS.match, describe_tls, _SPEAKS_TLS),
    ProtocolSignature(
        "HTTP/2",
        True,
        lambda data: data.startswith(b"PRI * HTTP/2.0\r\n"),
        lambda _: "client's preface",
        _WEB,
        starts={
            b"PRI ": "client's preface",
        },
    ),
    ProtocolSignature(
        "HTTP/1",
        True,
        _HTTP1.match,
        describe_http1,
        _WEB,
        starts={
            b"GET ": "a GET request",
            b"POST": "a POST request",
            b"PUT ": "a PUT request",
            b"HEAD": "a HEAD request",
            b"DELE": "a DELETE request",
            b"OPTI": "an OPTIONS request",
            b"PATC": "a PATCH request",
            b"TRAC": "a TRACE request",
            b"CONN": "a CONNECT request",
            b"HTTP": "an answer",
        },
    ),
    ProtocolSignature(
        "SSH",
        True,
        lambda data: data.startswith(b"SSH-"),
        describe_ssh,
        _OTHER_PORT,
        starts={
            b"SSH-": "banner",
        },
    ),
    ProtocolSignature(
        "AMQP",
        True,
        lambda data: data.startswith((b"AMQP\0", b"AMQP\2", b"AMQP\3")),
        describe_amqp,
        _OTHER_PORT,
        starts={
            b"AMQP": "protocol header",
        },
    ),
    ProtocolSignature(
        "PROXY protocol",
        True,
        lambda data: data.startswith((b"PROXY ", _PROXY_2)),
        describe_proxy,
        "a load balancer puts this before the stream: turn it off, Kafka does not understand it",
        starts={
            b"PROX": "version 1",
            b"\r\n\r\n": "version 2",
        },
    ),
    ProtocolSignature(
        "MQTT",
        True,
        lambda data: data[:1] == b"\x10" and data[2:8] in (b"\0\4MQTT", b"\0\6MQIs"),
        describe_mqtt,
        _OTHER_PORT,
    ),
    ProtocolSignature(
        "Telnet", True, lambda data: data.startswith(_TELNET) and len(data) > 2, _describe_nothing, _OTHER_PORT
    ),
    ProtocolSignature(
        "NATS",
        True,
        lambda data: data.startswith((b"INFO {", b"CONNECT {")),
        _describe_nothing,
        _OTHER_PORT,
        starts={
            b"INFO": "server's greeting",
        },
    ),
    ProtocolSignature(
        "mail or FTP server",
        True,
        lambda data: data.startswith((b"220 ", b"220-", b"* OK ")),
        describe_first_line,
        _OTHER_PORT,
        starts={
            b"220 ": "greeting",
            b"220-": "greeting",
        },
    ),
    ProtocolSignature("MySQL", True, _is_mysql, describe_mysql, _OTHER_PORT),
    ProtocolSignature(
        "PostgreSQL",
        True,
        _is_postgresql_error,
        describe_postgresql,
        _OTHER_PORT,
        starts={
            b"\0\3\0\0": "protocol version 3.0 of a start-up packet",
            b"\4\xd2\x16\x2f": "request for TLS",
        },
    ),
    ProtocolSignature(
        "Redis",
        True,
        _REDIS.match,
        describe_redis,
        _OTHER_PORT,
        starts={
            b"*1\r\n": "a command",
            b"*2\r\n": "a command",
            b"*3\r\n": "a command",
            b"-ERR": "an error",
            b"PING": "PING",
        },
    ),
    ProtocolSignature("MongoDB", False, _is_mongodb, describe_mongodb, _OTHER_PORT),
    ProtocolSignature("PostgreSQL", False, _is_postgresql, describe_postgresql, _OTHER_PORT),
    ProtocolSignature(
        "ZooKeeper",
        False,
        _is_zookeeper,
        describe_zookeeper,
        "this is a ZooKeeper client or port (2181): Kafka clients go to the brokers themselves",
        starts={
            b"ruok": "word ruok",
            b"stat": "word stat",
            b"mntr": "word mntr",
            b"srvr": "word srvr",
        },
    ),
    ProtocolSignature("SOCKS", False, _is_socks, describe_socks, _OTHER_PORT),
    ProtocolSignature("HTTP/2", False, _is_http2_settings, lambda _: "server's settings", _WEB),
    ProtocolSignature("Cassandra", False, _is_cassandra, _describe_nothing, _OTHER_PORT),
)
CERTAIN: Final = tuple(mark for mark in MARKS if mark.certain)
LIKELY: Final = tuple(mark for mark in MARKS if not mark.certain)


def find_signature(first_bytes: bytes) -> ProtocolSignature | None:
    """The signature that the first bytes of a direction match, certain ones first; None where they match none."""
    for marks in (CERTAIN, LIKELY):
        for mark in marks:
            if mark.known(first_bytes):
                return mark
    return None


def find_proven_protocol(first_bytes: bytes) -> str:
    """The protocol that these first bytes of a direction prove; empty where they prove none, or begin with a zero."""
    for mark in CERTAIN:
        if mark.known(first_bytes):
            return mark.name
    return ""


def find_likely_protocol(first_bytes: bytes) -> str:
    """The most likely protocol of these first bytes of a direction that is not Kafka; empty where none is known."""
    mark = find_signature(first_bytes)
    return mark.name if mark else ""


def describe_likely_protocol(first_bytes: bytes) -> str:
    """The most likely protocol of first bytes, described: `TLS: ClientHello for kafka1.example, TLS 1.2, 1.3`."""
    mark = find_signature(first_bytes)
    if mark is None:
        return ""
    detail = mark.describe(first_bytes)
    return f"{mark.name}: {detail}" if detail else mark.name


def describe_proven_protocol(first_bytes: bytes) -> str:
    """The protocol that first bytes prove, described, else empty: in mid-stream likely marks are chance."""
    return describe_likely_protocol(first_bytes) if find_proven_protocol(first_bytes) else ""
