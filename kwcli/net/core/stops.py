"""Why a connection cannot go on, as a value: words that follow the broker's address, a remedy, an exit code.

A driver puts the address in front, and may find out more first (`Cause` says what is worth asking).
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from kwcli.exits import Exit

# Of whom closes without having said anything.
NO_BROKER: Final = (
    "is it a Kafka broker? One that has too many connections, or a proxy without a broker behind it, does so too"
)


class Cause(Enum):
    """What kind of end it is."""

    CLOSED = auto()  # the peer ended the connection while an answer was due
    FOREIGN = auto()  # what came is not Kafka
    TLS = auto()  # the two sides cannot agree on TLS
    NAME = auto()  # the peer's certificate is good, for others
    BROKEN = auto()  # Kafka, but against its rules
    SASL = auto()  # the peer will not authenticate this way
    REFUSED = auto()  # the peer knows the way, and refuses who comes


class Stop(Exception):
    """The end of a connection. `text` follows the address: `closed the connection after ApiVersions`."""

    def __init__(self, cause: Cause, text: str, *, remedy: str = "", code: Exit = Exit.UNREACHABLE) -> None:
        super().__init__(text)
        self.cause = cause
        self.text = text
        self.remedy = remedy
        self.code = code

    def line(self, address: str) -> str:
        """The one line for people."""
        return f"{address} {self.text}" + (f"; {self.remedy}" if self.remedy else "")


def closed(text: str, remedy: str = "", code: Exit = Exit.UNREACHABLE) -> Stop:
    """The peer ended the connection."""
    return Stop(Cause.CLOSED, text, remedy=remedy, code=code)


def broken(text: str, remedy: str = "") -> Stop:
    """The peer speaks Kafka, but not by the rules."""
    return Stop(Cause.BROKEN, text, remedy=remedy)
