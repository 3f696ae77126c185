"""FaultDecider of real clients and the promises that they keep: one row a fault, one row for a family that differs.

The plays of a family for each fault: `produce` writes as an idempotent producer, `transact` commits and aborts
transactions, `consume` reads a topic as a member of a group. The promise is in PROMISES, unless DIFFERENCES has a row.
"""

from __future__ import annotations

from importlib import resources
from typing import Final, Literal, NamedTuple

__all__ = ["DIFFERENCES", "FAMILIES", "FAULTS", "LATE", "PROMISES", "Difference", "Fault", "Promise", "promise"]

Play = Literal["produce", "transact", "consume"]

FAMILIES: Final = (
    *("java-2.1.1", "java-2.8.2", "java-3.9.2", "java-4.4.0"),
    *("librdkafka", "python", "aiokafka", "go", "node"),
)


class Fault(NamedTuple):
    """A fault. `quick`: clients have short time-outs, without which the row takes half a minute; `secured`: they log
    in; `stays`: the consumer stays in its group for some seconds; `preset`: not every one of `rules` has to hit.
    """

    rules: tuple[str, ...]
    plays: tuple[Play, ...] = ("produce", "transact", "consume")
    quick: bool = False
    secured: bool = False
    stays: bool = False
    preset: bool = False


def _preset(name: str) -> tuple[str, ...]:
    """The rules of a preset file that ships."""
    text = resources.files("kwcli.proxy.deciding.faults").joinpath("presets", f"{name}.faults").read_text()
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


# All APIs that carry or end work, but not those with which a connection begins.
_BUSY: Final = "when api in (Produce, Fetch, AddPartitionsToTxn, EndTxn, JoinGroup, SyncGroup, Heartbeat, OffsetCommit)"

FAULTS: Final[dict[str, Fault]] = {
    "the leader is another": Fault(("error NOT_LEADER_OR_FOLLOWER, every 4, when api in (Produce, Fetch)",)),
    "the coordinator is another": Fault(
        ("error NOT_COORDINATOR, every 3, when api in (AddPartitionsToTxn, EndTxn, Heartbeat, OffsetCommit)",),
        ("transact", "consume"),
    ),
    "the coordinator is not there": Fault(
        ("error COORDINATOR_NOT_AVAILABLE, first 2, when api == FindCoordinator",), ("transact", "consume")
    ),
    "the coordinator is loading": Fault(
        ("error COORDINATOR_LOAD_IN_PROGRESS, first 2, when api in (InitProducerId, JoinGroup)",),
    ),
    "the group begins anew": Fault(
        ("error REBALANCE_IN_PROGRESS, first 2, when api in (SyncGroup, Heartbeat)",), ("consume",)
    ),
    "the offset is not available": Fault(("error OFFSET_NOT_AVAILABLE, first 2, when api == Fetch",), ("consume",)),
    "written, answered with an error": Fault(
        ("error REQUEST_TIMED_OUT after, every 4, when api == Produce",), ("produce", "transact")
    ),
    "lost answer": Fault(("lose answer, first 1, when api == Produce",), ("produce",), quick=True),
    "lost answer, then closed": Fault(
        ("lose answer then close, every 4, when api in (Produce, EndTxn, OffsetCommit)",)
    ),
    "late requests": Fault(("delay 20ms±15ms",)),
    "late answers": Fault(("delay 200ms±100ms answer, every 5",)),
    "throttled": Fault(("throttle 100ms mute, every 4, when api in (Produce, Fetch, JoinGroup, OffsetCommit)",)),
    "closed": Fault((f"close, every 5, {_BUSY}",)),
    "reset": Fault((f"reset, every 5, {_BUSY}",)),
    "cut": Fault((f"cut 9, every 5, {_BUSY}",)),
    "in pieces": Fault(("slice 7",)),
    "slow": Fault(("slow 20kB",)),
    "black hole": Fault(("blackhole, first 1, when api == Produce",), ("produce",), quick=True),
    "refused": Fault(("refuse, first 2",)),
    # A fault that makes clients ask for metadata again.
    "stale metadata": Fault(
        ("error NOT_LEADER_OR_FOLLOWER, first 2, when api in (Produce, Fetch)", "stale metadata, first 3")
    ),
    "no leader": Fault(("leader -1, first 2",)),
    "no such topic": Fault(("no such topic, first 2, when api == Metadata",)),
    "Produce answered twice": Fault(("duplicate answer, first 1, when api == Produce",), ("produce",)),
    "Fetch answered twice": Fault(("duplicate answer, first 1, when api == Fetch",), ("consume",)),
    "corrupt records": Fault(("corrupt records, first 1",), ("consume",)),
    "truncated records": Fault(("truncate records, first 1",), ("consume",)),
    "empty fetch": Fault(("empty fetch, first 2",), ("consume",)),
    "another field": Fault(("rewrite response.throttle_time_ms=30, every 3, when api in (Produce, Fetch)",)),
    "offsets elsewhere": Fault(("error NOT_COORDINATOR, first 1, when api == OffsetFetch",), ("consume",)),
    "rolling-restart": Fault(_preset("rolling-restart"), preset=True),
    "leader-election": Fault(_preset("leader-election"), preset=True),
    "slow-broker": Fault(_preset("slow-broker"), preset=True),
    "lost-acks": Fault((*_preset("lost-acks"), "lose answer then close, first 1, when api == EndTxn"), preset=True),
    "rebalance-storm": Fault(_preset("rebalance-storm"), ("consume",), stays=True, preset=True),
    "auth-expiry": Fault(_preset("auth-expiry"), secured=True, preset=True),
    "flaky-network": Fault(_preset("flaky-network"), preset=True),
}

Kept = Literal["exactly once", "at least once", "all end as asked", "whole", "reads all"]
Promise = Kept | Literal["reads nothing", "may read less", "gives up", "may give up"]
# The topic's records afterwards: each once and in order; all transactions ended as the client was told; the records
# that a group has read.
PROMISES: Final[dict[Play, Kept]] = {
    "produce": "exactly once",
    "transact": "all end as asked",
    "consume": "reads all",
}


class Difference(NamedTuple):
    """A family (by the beginning of its name) that promises less, and why; `says`: the pattern of its error message."""

    fault: str
    family: str
    play: Play
    promise: Promise
    why: str
    says: str = ""


_CHECKED: Final = "records are checked: reading raises, and goes on behind the record where the program seeks"
_BEGINS: Final = "it tries the addresses that it is given once, and what asks for a coordinator at the start once"
_WAITS: Final = "a transaction whose connection ends may never end, and then no other begins"
_LOGS_IN: Final = "a login that is cut off counts as refused, and is not tried again"
_BROKEN: Final = "an answer too many breaks the protocol, and reading raises where it comes during a poll"
_MISTAKEN: Final = (
    "an answer too many that comes while the next request is in flight is taken for the answer of that request, which"
    " then waits for delivery.timeout.ms, 120 s"
)
_FEW: Final = "an answer with an error is asked for again five times"
_ASKS_ONCE: Final = "what asks for Metadata before a producer's id is not tried again"
_SAME: Final = "a request that timed out is sent again on the same connection, five times"
_NEVER_READS: Final = (
    "offsets that were asked of another node than the coordinator are not asked for again (its issue 5586)"
)
# The faults that close connections.
_ENDING: Final = (
    *("closed", "reset", "cut", "lost answer, then closed", "lost-acks", "flaky-network", "rolling-restart", "refused"),
    "auth-expiry",
)
LATE: Final = "was not done in time"

_THROTTLED: Final = "what a transaction sends to a node that throttles waits for request.timeout.ms, 30 s, each time"

DIFFERENCES: Final = (
    Difference("offsets elsewhere", "librdkafka", "consume", "reads nothing", _NEVER_READS),
    Difference("rolling-restart", "librdkafka", "consume", "may read less", _NEVER_READS),
    Difference("throttled", "java-2.1", "transact", "may give up", _THROTTLED, LATE),
    Difference("another field", "java-2.1", "transact", "may give up", _THROTTLED, LATE),
    Difference("corrupt records", "java", "consume", "gives up", _CHECKED, "orrupt"),
    Difference("corrupt records", "python", "consume", "gives up", _CHECKED, "CorruptRecordError"),
    Difference("corrupt records", "aiokafka", "consume", "gives up", _CHECKED, "CorruptRecordException"),
    Difference("refused", "aiokafka", "produce", "gives up", _BEGINS, "Unable to bootstrap"),
    Difference("refused", "aiokafka", "transact", "gives up", _BEGINS, "Unable to bootstrap"),
    Difference("rolling-restart", "aiokafka", "produce", "may give up", _BEGINS, "KafkaConnectionError"),
    Difference("rolling-restart", "aiokafka", "transact", "may give up", _BEGINS, "KafkaConnectionError"),
    Difference("rolling-restart", "aiokafka", "consume", "may give up", _BEGINS, "KafkaConnectionError"),
    Difference("auth-expiry", "aiokafka", "produce", "may give up", _BEGINS, "KafkaConnectionError"),
    Difference("auth-expiry", "aiokafka", "transact", "may give up", _BEGINS, "KafkaConnectionError"),
    Difference("auth-expiry", "aiokafka", "consume", "may give up", _BEGINS, "KafkaConnectionError"),
    Difference("no such topic", "node", "transact", "may give up", _ASKS_ONCE, "UNKNOWN_TOPIC_OR_PARTITION"),
    Difference("Fetch answered twice", "java", "consume", "may give up", _BROKEN, "CorrelationId|IllegalState"),
    Difference("Produce answered twice", "java", "produce", "may give up", _MISTAKEN, LATE),
    Difference("no such topic", "node", "produce", "gives up", _ASKS_ONCE, "UNKNOWN_TOPIC_OR_PARTITION"),
    Difference("black hole", "node", "produce", "gives up", _SAME, "timed out"),
    Difference("lost answer", "node", "produce", "gives up", _SAME, "timed out"),
    Difference("leader-election", "node", "transact", "may give up", _FEW, "not the leader for that topic-partition"),
    Difference("leader-election", "node", "produce", "may give up", _FEW, "NOT_LEADER_FOR_PARTITION"),
    Difference("cut", "node", "consume", "may give up", _WAITS, LATE),
    Difference("auth-expiry", "node", "produce", "may give up", _LOGS_IN, "SASL PLAIN authentication failed"),
    Difference("auth-expiry", "node", "consume", "may give up", _LOGS_IN, "SASL PLAIN authentication failed"),
    *(
        Difference(fault, "node", "transact", "may give up", _WAITS, f"{LATE}|Transaction state|Closed connection")
        for fault in _ENDING
    ),
)


def promise(fault: str, family: str, play: Play) -> Difference:
    """The promise of a family under a fault."""
    for row in DIFFERENCES:
        if (row.fault, row.play) == (fault, play) and family.startswith(row.family):
            return row
    return Difference(fault, family, play, PROMISES[play], "")
