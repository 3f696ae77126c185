"""The log's plan and the data path's messages in, bytes on the socket pair to the log's process out; and back again.

A message is its kind, a connection's number, a time in ns since 1970, the size of its content, and the content.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from struct import Struct
from typing import Final, Literal

from decoders.named_tuple import NamedTuple
from kwcli.output.output_settings import Settings

__all__ = [
    "CLIENT",
    "COUNTS",
    "DEFECT",
    "HEAD",
    "LIMITS",
    "SERVER",
    "SIZE",
    "TIMES",
    "LogPlan",
    "Message",
    "MessageKind",
    "Parser",
    "Record",
    "Via",
]

# The exit code of the log's process after a defect (EX_SOFTWARE of sysexits.h): then another process is started.
DEFECT: Final = 70
Record = Literal["client", "both"]
# Which program the log is about.
Via = Literal["proxy", "mock"]


class LogPlan(NamedTuple):
    """What the log is to do. `filter` is an expression of the filter language; sizes in bytes, times in seconds."""

    settings: Settings
    filter: str = ""
    rows: bool = True  # print exchanges
    write: str | None = None
    record: Record = "client"
    rotate_size: int | None = None
    rotate_interval: float | None = None
    debug: bool = False
    report: bool = False  # report errors in answers to the data path
    report_records: bool = False  # report whole exchanges too, for the control interface
    events: bool = False  # print rows for connections and messages, too
    via: Via = "proxy"
    decodes: bool = False  # decode keys and values of records, with these files of schemas
    schemas: Sequence[str] = ()
    # Of a process that was started again: which start it is, and how many connections the log was told of before.
    restarted: int = 0
    connections: int = 0

    def to_json(self) -> bytes:
        """The plan as JSON, for `of_json`."""
        return json.dumps({**self._asdict(), "settings": self.settings._asdict()}).encode()

    @classmethod
    def from_json(cls, data: bytes) -> LogPlan:
        """The plan that `to_json` wrote."""
        fields = json.loads(data)
        return cls(**{**fields, "settings": Settings(**fields["settings"])})


# Messages


# Who sent a chunk.
CLIENT: Final = 0
SERVER: Final = 1


class MessageKind:
    """The kinds of messages. A kind plus a side is the kind for that side: CHUNK + SERVER.

    Plain numbers, since every message asks for some of them, and a member of an Enum takes much longer to look up.
    """

    CHUNK: Final = 0  # bytes from the client, as it sent them
    CHUNK_SERVER: Final = 1  # bytes to the client, as it gets them
    RAW: Final = 2  # bytes to the broker, as it gets them
    RAW_SERVER: Final = 3  # bytes from the broker, as it sent them
    GAP: Final = 4  # SIZE: how many bytes from the client were left out
    GAP_SERVER: Final = 5
    RAW_GAP: Final = 6
    RAW_GAP_SERVER: Final = 7
    # JSON: [sender, listener, upstream]; then whether an earlier process was told already; then a PROXY head in hex.
    OPENED: Final = 8
    UPSTREAM: Final = 9  # TIMES: correlation id, when the request had left, when the answer began to come
    CLOSED: Final = 10  # how it was closed, and after a newline why
    DROPPED: Final = 11  # COUNTS: bytes, exchanges, connections left out so far
    PLAN: Final = 12  # JSON: what to do
    DIALLED: Final = 13  # JSON: [local, upstream], and the PROXY head that was sent, in hex
    DECISION: Final = 14  # JSON: {id, fault | refused}: what was decided about the exchange with this correlation id
    TLS: Final = 15  # JSON: [version, cipher] between client and proxy
    LISTENERS: Final = 17  # JSON: {bootstrap, listeners}
    EVENT: Final = 16  # a message for people, about this connection or (0) about none


HEAD: Final = Struct("<BIqI")
SIZE: Final = Struct("<q")
TIMES: Final = Struct("<iqq")
COUNTS: Final = Struct("<qqq")
# The largest message; a larger size is not from the data path.
LIMITS: Final = 1 << 30

# Kind, connection, time, content.
Message = tuple[int, int, int, bytes]


class Parser:
    """Cuts a stream of bytes into messages."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._have = 0
        self._need = HEAD.size

    def feed(self, data: bytes) -> list[Message]:
        """The messages that are whole with these bytes. Raises ValueError when the bytes are no messages."""
        self._parts.append(data)
        self._have += len(data)
        if self._have < self._need:
            return []
        data = b"".join(self._parts) if len(self._parts) > 1 else data
        out: list[Message] = []
        at, end, head = 0, len(data), HEAD.size
        unpack = HEAD.unpack_from
        self._need = head
        while end - at >= head:
            kind, connection, time_ns, size = unpack(data, at)
            if size > LIMITS or kind > MessageKind.LISTENERS:
                raise ValueError("not a message of the data path")
            after = at + head + size
            if after > end:
                self._need = head + size
                break
            out.append((kind, connection, time_ns, data[at + head : after]))
            at = after
        self._parts = [data[at:]] if at < end else []
        self._have = end - at
        return out
