"""Error codes that are the protocol as designed: what a client is told so on its usual way, and what it does then.

One row for each API and code, with the place that says so. A code belongs here when the client's next step is the one
that the protocol has for it, nothing failed, and nothing is tried again in the hope that it goes better. A code that
says "later" or "elsewhere" (a leader that moved, a coordinator that loads) does not belong here.
"""

from __future__ import annotations

from typing import Final

from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.keys import (
    API_VERSIONS,
    CONSUMER_GROUP_DESCRIBE,
    ELECT_LEADERS,
    FETCH,
    HEARTBEAT,
    JOIN_GROUP,
    PRODUCE,
    PUSH_TELEMETRY,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
    SYNC_GROUP,
)

__all__ = ["EXPECTED", "EXPECTED_CODES", "ExpectedError"]


class ExpectedError(NamedTuple):
    """One row: API key, error code, where it is designed so, what it is for."""

    api_key: int
    code: int
    source: str
    text: str


_SESSION_GONE: Final = "the broker forgot the fetch session, as it may at any time: the client sends a full fetch"
_SESSION_EPOCH: Final = "the fetch session went on without the client: it sends a full fetch"
_SHARE_GONE: Final = "the broker forgot the share session, as it may at any time: the client opens another"
_SHARE_EPOCH: Final = "the share session went on without the client: it opens another"
_REJOIN: Final = "how a member learns that its group rebalances: it joins again"

EXPECTED: Final = (
    ExpectedError(API_VERSIONS, 35, "KIP-511", "the client is newer than the broker, and asks again as the broker can"),
    ExpectedError(JOIN_GROUP, 79, "KIP-394", "a new member gets its id first, and joins with it"),
    ExpectedError(HEARTBEAT, 27, "group membership protocol, KIP-62", _REJOIN),
    ExpectedError(SYNC_GROUP, 27, "group membership protocol, KIP-62", _REJOIN),
    ExpectedError(FETCH, 70, "KIP-227", _SESSION_GONE),
    ExpectedError(FETCH, 71, "KIP-227", _SESSION_EPOCH),
    ExpectedError(FETCH, 109, "KIP-405", "a follower is told that this part of the log is in the remote tier"),
    ExpectedError(SHARE_FETCH, 122, "KIP-932", _SHARE_GONE),
    ExpectedError(SHARE_FETCH, 123, "KIP-932", _SHARE_EPOCH),
    ExpectedError(SHARE_ACKNOWLEDGE, 122, "KIP-932", _SHARE_GONE),
    ExpectedError(SHARE_ACKNOWLEDGE, 123, "KIP-932", _SHARE_EPOCH),
    ExpectedError(PRODUCE, 46, "KIP-98", "the broker has this batch already: the client takes it for written"),
    ExpectedError(ELECT_LEADERS, 84, "KIP-460", "the leader is the one that the election would give"),
    ExpectedError(PUSH_TELEMETRY, 117, "KIP-714", "the subscription changed: the client asks for the new one"),
    ExpectedError(CONSUMER_GROUP_DESCRIBE, 69, "KIP-848", "no group of the new protocol: the client asks the old way"),
)

# API key → the error codes that its answers carry by design.
EXPECTED_CODES: Final[dict[int, frozenset[int]]] = {
    key: frozenset(row.code for row in EXPECTED if row.api_key == key) for key in {row.api_key for row in EXPECTED}
}
