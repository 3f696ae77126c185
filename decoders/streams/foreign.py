"""The first bytes of a connection in, the name of the protocol out when it is a well-known one that is not Kafka.

Certain marks end the search at once; the others only give a name to a connection that proved not to be Kafka, because
by themselves they could be a Kafka frame (PostgreSQL's start-up packet looks like Metadata 0).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

TLS: Final = "TLS"
_TLS: Final = re.compile(rb"[\x14-\x17]\x03[\x00-\x04][\x00-\x48]", re.DOTALL)
_HTTP1: Final = re.compile(rb"(GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|TRACE|CONNECT) [^ ]* HTTP/1|HTTP/1\.[01] ")
_REDIS: Final = re.compile(rb"[*$:+-][^\r\n]{1,64}\r\n|PING\r\n")
_MONGODB_OPCODES: Final = frozenset({1, 2001, 2002, 2004, 2005, 2006, 2007, 2010, 2011, 2012, 2013})
_POSTGRESQL_CODES: Final = frozenset({196608, 80877102, 80877103, 80877104})


def _mongodb(data: bytes) -> bool:
    size, code = int.from_bytes(data[:4], "little"), int.from_bytes(data[12:16], "little")
    return len(data) >= 16 and 16 <= size <= 48 << 20 and code in _MONGODB_OPCODES


def _postgresql(data: bytes) -> bool:
    size, code = int.from_bytes(data[:4], "big"), int.from_bytes(data[4:8], "big")
    return 8 <= size <= 10000 and code in _POSTGRESQL_CODES


def _zookeeper(data: bytes) -> bool:
    connect = data[:4] in (b"\0\0\0\x2c", b"\0\0\0\x2d") and data[4:8] == bytes(4)
    return connect or data[:4] in (b"ruok", b"stat", b"mntr")


# No Kafka connection begins with these: as the size of a frame they would be far beyond every limit.
CERTAIN: Final[tuple[tuple[str, Callable[[bytes], object]], ...]] = (
    (TLS, _TLS.match),
    ("HTTP/2", lambda data: data.startswith(b"PRI * HTTP/2.0\r\n")),
    ("HTTP/1", _HTTP1.match),
    ("SSH", lambda data: data.startswith(b"SSH-")),
    ("AMQP", lambda data: data.startswith((b"AMQP\0", b"AMQP\3"))),
    ("Redis", _REDIS.match),
)
LIKELY: Final[tuple[tuple[str, Callable[[bytes], object]], ...]] = (
    ("MongoDB", _mongodb),
    ("PostgreSQL", _postgresql),
    ("ZooKeeper", _zookeeper),
)


def certain(data: bytes) -> str:
    """The protocol that these first bytes of a direction prove, or nothing."""
    return next((name for name, known in CERTAIN if known(data)), "")


def likely(data: bytes) -> str:
    """The protocol that these first bytes of a direction, no Kafka for all that was tried, most likely are."""
    return certain(data) or next((name for name, known in LIKELY if known(data)), "")
