"""The amounts from which on something is a finding: names, defaults, and the reasons for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from decoders.named_tuple import NamedTuple

__all__ = ["THRESHOLDS", "Threshold", "Thresholds"]


class Threshold(NamedTuple):
    """One threshold: the default, its unit, what it means and why it is so."""

    default: float
    unit: str
    text: str


THRESHOLDS: Final[dict[str, Threshold]] = {
    "errors.few": Threshold(
        3, "answers", "fewer of an error that did not go on are one severity less: a command typed wrong is no outage"
    ),
    "rebalance.generations": Threshold(
        6, "generations", "a group with fewer is not looked at: members come and go at every deployment"
    ),
    "rebalance.per-member": Threshold(
        3, "generations", "each member may cause so many (it comes, the leader sees new partitions, it leaves)"
    ),
    "loop.least": Threshold(
        10, "answers", "as many logins or versions that are refused are no mistyped command but a loop"
    ),
    "isr.changes": Threshold(
        8,
        "changes",
        "a restart of a broker takes a replica out and in: three replicas make six when all restart in turn",
    ),
    "fetch.waits": Threshold(20, "fetches", "fewer are a reader at the end of a topic now and then"),
    "loop.fetches": Threshold(200, "fetches", "fewer are a reader that starts, or turns a partition or two"),
    "loop.rate": Threshold(50, "fetches/s", "a waiting fetch takes fetch.max.wait.ms, 500 ms by default"),
    "busiest.share": Threshold(0.9, "of the exchanges", "one client of many makes no more in a sound cluster"),
    "busiest.rate": Threshold(100, "exchanges/s", "less does not weigh"),
    "busiest.clients": Threshold(3, "clients", "with fewer, one makes most of the exchanges anyhow"),
    "poll.silence": Threshold(5, "s", "a consumer that closes has fetched a moment before"),
    "poll.away": Threshold(1, "s", "a program that changes its subscription joins again at once"),
    "unread.least": Threshold(10, "s", "a consumer asks for all of its partitions within a moment"),
    "revocation.least": Threshold(10, "s", "a consumer that polls gives up its partitions within a moment"),
    "starts.least": Threshold(3, "times", "a program is started again, and once more, without being stuck"),
    "broker.restart": Threshold(60, "s", "a planned restart takes no longer"),
    "silence.least": Threshold(
        10, "s", "pauses of garbage collectors are shorter, and after 9 s a controller fences a broker"
    ),
    "pending.least": Threshold(10, "s", "what does not wait for records or members is answered within a moment"),
    "gathering.least": Threshold(30, "s", "members of a group that rebalances need a moment to join again"),
    "sessions.opened": Threshold(20, "sessions", "a client opens one for each broker and connection"),
    "sessions.rate": Threshold(0.5, "sessions/s", "fewer are connections that end"),
    "sessions.lost": Threshold(10, "answers", "a broker that starts again has forgotten them once"),
    "metadata.rate": Threshold(
        2, "requests/s", "clients ask every 5 minutes, and once for each new topic or moved leader"
    ),
    "metadata.least": Threshold(50, "requests", "fewer are a start, not a storm"),
    "connections.rate": Threshold(0.5, "connections/s", "a client keeps its connections for hours"),
    "connections.least": Threshold(30, "connections", "fewer are tools and starts"),
    "connections.exchanges": Threshold(
        5, "exchanges", "a connection with more pays for its set-up; a command-line tool has three to five"
    ),
    "unanswered.least": Threshold(3, "requests", "one or two are a client that was stopped"),
    "size.least": Threshold(2, "requests", "one may be a broker that stopped while it read"),
    "advertised.asked": Threshold(5, "requests", "fewer are a tool that lists topics"),
    "advertised.rate": Threshold(0.5, "requests/s", "a monitor that asks for metadata alone asks less often"),
    "throttle.total": Threshold(1000, "ms", "less is not felt"),
    "heartbeat.share": Threshold(
        0.67, "of the session", "clients send three heartbeats in a session time-out: two of them are missing then"
    ),
    "heartbeat.session": Threshold(
        45, "s", "the default of group.consumer.session.timeout.ms, and of clients whose JoinGroup was not captured"
    ),
    "heartbeat.least": Threshold(3, "heartbeats", "fewer say nothing of how often they come"),
    "follower.records": Threshold(1000, "records", "fewer are caught up with the next fetch or two"),
    "follower.fetches": Threshold(5, "fetches", "fewer are a follower that catches up at once"),
    "leaders.each": Threshold(
        6,
        "moves",
        "a restart of all brokers in turn moves a leader away and back, in ZooKeeper's time in twice the steps",
    ),
    "leaders.least": Threshold(8, "moves", "fewer are the restarts of one broker"),
    "again.offsets": Threshold(1000, "offsets", "fewer are the beginning of a batch that was asked for in the middle"),
    "again.share": Threshold(0.2, "of the offsets", "less is a seek or a rebalance now and then"),
    "array.elements": Threshold(1_000_000, "elements", "fewer are a client with a fault, and no memory of a broker"),
    "scram.iterations": Threshold(1_000_000, "iterations", "fewer are worked off in half a second"),
    "delivery.timeout": Threshold(120, "s", "the default of delivery.timeout.ms"),
    "again.batches": Threshold(2, "batches", "one is an answer that got lost"),
    "in-flight.least": Threshold(200, "requests", "fewer have no meaningful mean"),
    "in-flight.most": Threshold(5, "requests", "brokers keep the order of five with idempotence, and no more"),
    "in-flight.alone": Threshold(0.9, "requests", "a mean below this is a producer that has nothing to send"),
    "idle.least": Threshold(20, "s", "a reset after less silence is a program that ended"),
    "idle.cuts": Threshold(2, "connections", "one is a machine that went away"),
    "window.shut": Threshold(1, "s", "less is a reader that is slower than the network for a moment"),
    "lag.records": Threshold(10_000, "records", "a lag below this is one fetch or two"),
    "lag.growth": Threshold(1.5, "times", "lag at the end against the beginning: below it is the usual up and down"),
    "lag.span": Threshold(10, "s", "over less time no trend can be told"),
    "slow.factor": Threshold(3, "times", "median latency of a broker against its peers: less is uneven load"),
    "slow.least": Threshold(20, "ms", "a difference below this is not felt"),
    "slow.exchanges": Threshold(
        50, "exchanges", "fewer have no meaningful median; so many are of clients that asked its peers as well"
    ),
    "slow.slice": Threshold(
        5, "exchanges", "a slice of time (9 s or more) in which fewer were answered is not compared"
    ),
    "slow.slices": Threshold(4, "slices", "what lasts for less than half a minute is a pause, not a slow broker"),
    "slow.share": Threshold(0.75, "of the slices", "a broker that is slow now and then only has busy moments"),
    "clock.ahead": Threshold(60, "s", "clocks that are kept in step differ by milliseconds"),
    "clock.apart": Threshold(5, "s", "what an answer takes, and the step of clocks that are kept in step, is less"),
    "huge.size": Threshold(32 * 1024 * 1024, "bytes", "socket.request.max.bytes is 100 MiB, and frames are held whole"),
    "batch.least": Threshold(500, "batches", "fewer do not weigh"),
    "batch.rate": Threshold(50, "batches/s", "at a lower rate small batches cost nothing"),
    "batch.records": Threshold(2, "records", "a mean below this is a batch a record: linger.ms is 0"),
    "plain.size": Threshold(16 * 1024 * 1024, "bytes", "uncompressed records below this do not weigh"),
    "skew.share": Threshold(0.5, "of the bytes", "one partition with more of a topic with four or more"),
    "skew.size": Threshold(16 * 1024 * 1024, "bytes", "a topic with less is too small to judge"),
    "retransmitted.share": Threshold(0.02, "of the exchanges", "a sound network sends less than one in thousand again"),
    "retransmitted.least": Threshold(20, "exchanges", "fewer are chance"),
    "aborts.share": Threshold(0.2, "of the transactions", "applications abort on failures, not as a habit"),
    "aborts.least": Threshold(5, "transactions", "fewer are a rebalance"),
    "transaction.held": Threshold(10, "s", "readers wait for less at each transaction that is not committed yet"),
    "transaction.open": Threshold(60, "s", "the default of transaction.timeout.ms, after which the coordinator aborts"),
}


class Thresholds:
    """Thresholds by name: the values given, and the defaults of all others."""

    def __init__(self, given: Mapping[str, float] | None = None) -> None:
        self._values = {name: row.default for name, row in THRESHOLDS.items()} | dict(given or {})

    def __getitem__(self, name: str) -> float:
        return self._values[name]
