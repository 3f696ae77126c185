"""One request in, sent to each node that must answer it; its exchanges out."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from decoders.errors import without_frames
from decoders.exchanges.learned_names import NODE_LISTS
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.keys import PRODUCE
from decoders.protocol_facts.places import only, places, routed_by
from decoders.protocol_facts.routing import NODE_RESOURCES, route
from decoders.schema.model import Api, Versions
from decoders.wire.primitives import uuid_bytes
from decoders.wire.readable_text import format_latency
from kwcli.calling.as_exchanges import Tape
from kwcli.calling.request_builder import VersionChoice, common
from kwcli.net.addresses import shown
from kwcli.net.cluster import ClusterClient
from kwcli.net.deadline import Deadline
from kwcli.net.metadata_requests import is_kraft
from kwcli.output.short_texts import count_of
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from kwcli.calling.output import CallOutput
    from kwcli.calling.request_builder import BuiltRequest, Draft
    from kwcli.net.config.client_config import ClientConfig
    from kwcli.net.metadata_requests import Kind
    from kwcli.net.session.blocking import Connection, Reply
    from kwcli.output.settings import Settings
    from kwcli.run_environment import Environment

Word = Literal["any", "node", "controller", "all", "group", "transaction", "share", "leader"]
# The part of `--node` before the colon → the kind of look-up.
LOOKUPS: Final[Mapping[str, Word]] = {
    "coordinator": "group",
    "group": "group",
    "txn": "transaction",
    "share": "share",
    "leader": "leader",
}
_NUMBERS: Final = re.compile(r"\d{1,9}(,\d{1,9})+", re.ASCII)
NODES: Final = (
    "an id or several (1,2), any, controller, all, coordinator:GROUP, txn:ID, share:GROUP:TOPIC-ID:PART "
    "or leader:TOPIC-PART"
)
# The share of the time that connecting to all nodes must leave for their answers.
_FOR_ANSWERS: Final = 0.25
# What error messages call the nodes that serve the places of a request.
NAMES: Final[Mapping[str, str]] = {"leader": "leaders", "resource": "brokers"}


class Target(NamedTuple):
    """The node or nodes that `--node` names."""

    word: Word
    number: int = -1  # of a node, of a leader's partition
    key: str = ""  # a group, a transactional id, a topic …; of `all` the node ids that are meant, empty for every node

    @classmethod
    def parse(cls, text: str) -> Target:
        """The target that `--node` text names. Raises Failure (usage)."""
        if text in ("any", "controller", "all"):
            return cls(text)  # type: ignore[arg-type]  # one of its words
        if text.isascii() and text.removeprefix("-").isdecimal():
            return cls("node", int(text))
        if _NUMBERS.fullmatch(text):
            return cls("all", key=text)
        kind, colon, key = text.partition(":")
        word = LOOKUPS.get(kind)
        if word is None or not colon or not key:
            raise Failure(f"--node {text!r} names no node: give {NODES}", Exit.USAGE)
        if word == "share" and key.count(":") < 2:
            raise Failure(f"--node {text!r}: a share is GROUP:TOPIC-ID:PARTITION", Exit.USAGE)
        if word == "leader":
            topic, dash, number = key.rpartition("-")
            if not dash or not topic or not number.isdecimal():
                raise Failure(f"--node {text!r}: a partition is TOPIC-NUMBER, for example leader:orders-0", Exit.USAGE)
            return cls(word, int(number), topic)
        return cls(word, -1, key)


class Destination(NamedTuple):
    """One node that gets a request: `why` says how it was found, `looked_up` whether a new look-up may find another."""

    connection: Connection
    body: Mapping[str, Any]
    why: str
    looked_up: bool = False


class Router:
    """Finds the nodes that one request goes to."""

    def __init__(self, cluster: ClusterClient, api: Api, target: Target | None, *, split: bool) -> None:
        self._cluster = cluster
        self._api = api
        self._target = target
        self._split = split
        self.problems: list[Failure] = []  # of nodes that could not be reached, while others could

    def stops(self, version: int, body: Mapping[str, Any]) -> list[Destination]:
        """The destinations of a request, in the order of the places in it."""
        if self._target is not None:
            return self._named(self._target, body)
        way = route(self._api.key)
        to = way.to
        if self._cluster.config.controllers:  # only the active controller changes anything
            to = "controller" if to == "controller" or (to == "resource" and way.mutates) else "any"
        if to == "any":
            return [Destination(self._cluster.any(), body, "")]
        if to == "all":
            return self._all(body)
        if to == "controller":
            return self._controller(body)
        return self._by_place(to, version, body)

    def _named(self, target: Target, body: Mapping[str, Any]) -> list[Destination]:
        cluster = self._cluster
        if target.word == "all":
            return self._all(body, target.key)
        if target.word == "controller":
            return self._controller(body)
        if target.word == "any":
            return [Destination(cluster.any(), body, "")]
        if target.word == "node":
            return [Destination(cluster.node(target.number), body, "")]
        if target.word == "leader":
            found = cluster.leader(target.key, target.number)
            if found is None:
                raise Failure(f"the cluster has no partition {target.key}[{target.number}]")
            return [Destination(found, body, f"leader of {target.key}[{target.number}]", looked_up=True)]
        kind: Kind = target.word
        connection = cluster.coordinator(kind, target.key)
        return [Destination(connection, body, f"coordinator of {kind} {target.key}", looked_up=True)]

    def _all(self, body: Mapping[str, Any], only: str = "") -> list[Destination]:
        """Every node, or the nodes of a list of ids."""
        stops: list[Destination] = []
        self.problems = []
        numbers = list(map(int, only.split(","))) if only else sorted(self._cluster.nodes(fresh=True))
        deadline = self._cluster.deadline
        answers_s = deadline.seconds * _FOR_ANSWERS
        for place, number in enumerate(numbers):
            left_s = deadline.left() - answers_s
            if left_s <= 0:
                left = count_of(len(numbers) - place, "node")
                text = f"no time is left to connect to {left} of {len(numbers):,}; give a longer --timeout"
                self.problems.append(Failure(text, Exit.TIMEOUT))
                break
            try:
                # A silent node takes half of the time that is left, unless it is the last.
                spare_s = answers_s + (left_s / 2 if number != numbers[-1] else 0.0)
                stops.append(Destination(self._cluster.node(number, spare_s=spare_s), body, ""))
            except Failure as problem:
                self.problems.append(without_frames(problem))
        if not stops:
            raise self.problems[0] if self.problems else Failure("the cluster names no node")
        return stops

    def _controller(self, body: Mapping[str, Any]) -> list[Destination]:
        connection, why = self._cluster.controller()
        forwarded = route(self._api.key).to in ("controller", "resource")
        itself = self._cluster.config.controllers or not is_kraft(connection.versions)
        if not itself and not forwarded:
            why = "any broker (the controller itself: --bootstrap-controller)"
        return [Destination(connection, body, why, looked_up=itself)]

    def _by_place(self, to: str, version: int, body: Mapping[str, Any]) -> list[Destination]:
        named = places(self._api.key, version, body)
        shares: dict[int, list[tuple[Any, ...]]] = {}
        connections: dict[int, Connection] = {}
        reasons: dict[int, str] = {}
        for place, connection, why in self._found(to, version, named):
            mark = id(connection)
            connections[mark] = connection
            reasons.setdefault(mark, why)
            shares.setdefault(mark, []).append(place)
        if not shares:
            return [Destination(self._cluster.any(), body, "")]
        if len(shares) > 1 and not self._split:
            raise Failure(self._spans(to, shares, connections), Exit.USAGE)
        parts = {
            mark: body if len(shares) == 1 else only(self._api.key, version, body, set(mine))
            for mark, mine in shares.items()
        }
        return [Destination(connections[mark], parts[mark], reasons[mark], looked_up=True) for mark in shares]

    def _found(
        self, to: str, version: int, named: list[tuple[Any, ...]]
    ) -> Iterator[tuple[tuple[Any, ...], Connection, str]]:
        """Each place, the node that serves it, and how it was found; a partition without a leader goes to any node."""
        if to == "leader":
            yield from self._led(version, named)
            return
        for place in named:
            if to == "resource":
                kind, name = place
                if kind in NODE_RESOURCES and name:
                    yield place, self._cluster.node(_node_number(name)), f"broker {name}"
                elif route(self._api.key).mutates:
                    yield place, *self._cluster.controller()
                else:
                    yield place, self._cluster.any(), ""
            elif place[0] is not None and place[0] != "":
                key = ":".join(map(str, place)) if to == "share" else place[0]
                yield place, self._cluster.coordinator(to, key), f"coordinator of {to} {key}"  # type: ignore[arg-type]  # the three that are left

    def _led(self, version: int, named: list[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], Connection, str]]:
        by_id = routed_by(self._api.key, version)[0].endswith(".topic_id")
        topics = {topic: self._topic_of(topic) if by_id else topic for topic, _ in named}
        known = [(topics[topic], partition) for topic, partition in named if topics[topic] is not None]
        leaders = self._cluster.leaders([(str(topic), partition) for topic, partition in known])
        for topic, partition in named:
            leader = leaders.get((str(topics[topic]), partition))
            if leader is None:
                yield (topic, partition), self._cluster.any(), f"nobody leads {topics[topic] or topic}[{partition}]"
            else:
                yield (topic, partition), self._cluster.node(leader), f"leader of {topics[topic]}[{partition}]"

    def _topic_of(self, text: Any) -> str | None:
        """The name of the topic whose id is `text`, as JSON has ids."""
        identity = UUID(bytes=uuid_bytes(text))
        return self._cluster.topic_name(identity) if identity.int else None

    def _spans(self, to: str, shares: dict[int, list[tuple[Any, ...]]], connections: Mapping[int, Connection]) -> str:
        """`the request spans 2 leaders: node 1 (orders[0], orders[2]), node 2 (orders[1]); --split sends each …`."""
        parts = []
        for mark, mine in shares.items():
            names = ", ".join(_shown(place) for place in mine[:3]) + (f" and {len(mine) - 3} more" if mine[3:] else "")
            parts.append(f"{node_name(connections[mark])} ({names})")
        who = f"{len(shares)} {NAMES.get(to, 'coordinators')}"
        return f"the request spans {who}: {', '.join(parts)}; --split sends each its share"


def node_name(connection: Connection) -> str:
    """`node 2 kafka2:9092`, or the address alone where the id is not known."""
    address = shown(connection.address)
    return address if connection.node_id is None else f"node {connection.node_id} {address}"


def _node_number(name: str) -> int:
    if not (name.isascii() and name.isdecimal()):
        raise Failure(f"{name!r} is no broker id: configurations of brokers are named by broker id", Exit.USAGE)
    return int(name)


def _shown(place: tuple[Any, ...]) -> str:
    return f"{place[0]}[{place[1]}]" if len(place) == 2 and isinstance(place[1], int) else ":".join(map(str, place))


# Exchanges of the same request in, the summary of a ping out: how many, how many failed, the spread of the latencies.


class Ping:
    """Counts of a ping, and every latency: a ping that runs for a day has 86,400 of them."""

    def __init__(self) -> None:
        self._latencies: list[float] = []
        self._sent = 0
        self._errors = 0
        self._lost = 0

    def add(self, exchange: Exchange) -> None:
        """Count one exchange."""
        self._sent += 1
        self._errors += bool(exchange.errors or exchange.failures)
        if exchange.latency_ms is not None:
            self._latencies.append(exchange.latency_ms)

    def lose(self) -> None:
        """Count a request that was not answered, or could not be sent."""
        self._sent += 1
        self._lost += 1

    @property
    def answered(self) -> bool:
        """Whether any request was answered so far."""
        return self._sent > self._lost

    def line(self) -> str:
        """`50 requests, 2 errors · min 0.4ms · p50 0.5ms · p90 0.7ms · p99 1.2ms · max 1.3ms`."""
        errors = f", {count_of(self._errors, 'error')}" if self._errors else ""
        parts = [count_of(self._sent, "request") + errors + (f", {self._lost} lost" if self._lost else "")]
        found = sorted(self._latencies)
        if found:
            named = [("min", 0.0), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)]
            parts += [f"{name} {format_latency(percentile(found, share))}" for name, share in named]
        return " · ".join(parts)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed (nearest rank)."""
    rank = -(-len(ordered) * share // 1)
    return ordered[max(int(rank), 1) - 1]


# A request that fits any version and a cluster in, exchanges on the screen and an exit code out: one run of `kw call`.
#
# A run is one round, or as many as --repeat says. In a round the request goes to each of its nodes once. If a node
# answers that it is not, or no longer, the right one, that one is looked up again and the request sent once more.


# Error codes that say "not here": NOT_LEADER_OR_FOLLOWER, NOT_COORDINATOR, NOT_CONTROLLER → what the node is not.
MOVED: Final = {6: "the leader", 16: "the coordinator", 41: "the controller"}
_BROKERS: Final = frozenset({"brokers"})
# How long a look-up that still gives the same node is repeated.
MOVE_S: Final = 1.0
MOVE_PAUSE_S: Final = 0.1
# Up to so many unreachable nodes are reported one by one, and the last.
PROBLEMS_TOLD: Final = 20


class CallPlan(NamedTuple):
    """A call to make, all of it checked. `repeat` 0: until it is interrupted."""

    api: Api
    draft: Draft
    choice: VersionChoice
    target: Target | None = None
    split: bool = False
    repeat: int = 1
    interval_s: float = 0.0


class CallRun:
    """One run of `kw call`."""

    sleep = staticmethod(time.sleep)  # between two rounds

    def __init__(
        self,
        env: Environment,
        config: ClientConfig,
        plan: CallPlan,
        screen: CallOutput,
        settings: Settings,
    ) -> None:
        self._env = env
        self._config = config
        self._plan = plan
        self._screen = screen
        self._settings = settings
        self._verbose = settings.verbose
        self._tape = Tape(screen.needs)
        self._latest: Exchange | None = None
        self._own = False
        self._shown: set[int] = set()  # connections whose timing was printed
        self._code = Exit.DONE
        self.ping: Ping | None = None
        if plan.repeat != 1:
            self.ping = Ping()

    def go(self) -> Exit:
        """Make the call and return the exit code. Raises Failure for a problem that no answer shows."""
        if self._verbose:
            host, port = self._config.servers[0]
            more = f" and {len(self._config.servers) - 1} more" if self._config.servers[1:] else ""
            self._env.say(f"kw: server {host}:{port}{more} (from {self._config.origin})")
        with ClusterClient(self._config, self._deadline(), witness=self._witness, tell=self._tell) as cluster:
            try:
                self._rounds(cluster)
            except KeyboardInterrupt:
                return Exit.INTERRUPTED
        return self._code

    def _deadline(self) -> Deadline:
        return Deadline(self._config.timeout_s, self._env.monotonic)

    def _rounds(self, cluster: ClusterClient) -> None:
        """Run every round; a ping that had an answer goes on after a round that failed."""
        plan = self._plan
        for number in range(plan.repeat) if plan.repeat else count():
            if number:
                self.sleep(plan.interval_s)
                cluster.renew(self._deadline())
            try:
                self._round(cluster)
                self._follow(cluster)
            except Failure as failure:
                if self.ping is None or not self.ping.answered or failure.code in (Exit.USAGE, Exit.REFUSED):
                    raise
                self._env.say(f"kw: {failure.text}")
                self._code = failure.code
                self.ping.lose()
                cluster.restart()

    def _follow(self, cluster: ClusterClient) -> None:
        """Fetch the records that the answers to a fetch did not hold, where all of them are wanted."""
        plan = self._plan
        try:
            while offsets := self._screen.further():
                cluster.renew(self._deadline())
                self._plan = plan._replace(draft=plan.draft.resumed(offsets))
                self._round(cluster)
        finally:
            self._plan = plan

    def _round(self, cluster: ClusterClient) -> None:
        plan = self._plan
        plan.draft.connect(cluster)
        router = Router(cluster, plan.api, plan.target, split=plan.split or plan.draft.short)
        request, stops = self._routed(cluster, router)
        for place, problem in enumerate(router.problems):
            if place < PROBLEMS_TOLD or problem is router.problems[-1]:
                self._env.say(f"kw: {problem.text}")
            elif place == PROBLEMS_TOLD:
                self._env.say(f"kw: … {count_of(len(router.problems) - PROBLEMS_TOLD - 1, 'node')} more like this …")
            self._code = self._code or problem.code
        for stop in stops:
            exchange = self._send(cluster, stop, request)
            if stop.looked_up and self._moved(exchange, request.version, stop):
                exchange = self._again(cluster, router, stop, request, exchange) or exchange
            if exchange.errors or exchange.failures:
                self._code = Exit.FAILURE
            if self.ping is not None:
                self.ping.add(exchange)

    def _routed(self, cluster: ClusterClient, router: Router) -> tuple[BuiltRequest, list[Destination]]:
        """The request in a version that all its nodes support, and those nodes."""
        plan = self._plan
        versions = self._offered(cluster.any())
        while True:
            request = plan.draft.request(self._narrowed(versions))
            stops = router.stops(request.version, request.value or {})
            for stop in stops:
                versions &= self._offered(stop.connection)
            if request.version in versions:
                return request, stops
            if not versions:
                raise Failure(f"the nodes that {plan.api.name} goes to have no common version of it")

    def _offered(self, connection: Connection) -> Versions:
        return common(self._plan.api, connection.versions, self._plan.choice, node_name(connection))

    def _narrowed(self, versions: Versions) -> Versions:
        """Only the version of the record that the body came from, if it is one of these and the user named none."""
        preferred = self._plan.draft.preferred
        choice = self._plan.choice
        said = choice.number is not None or choice.release is not None or choice.end
        if preferred is None or preferred not in versions or said:
            return versions
        return Versions(preferred, preferred)

    def _send(self, cluster: ClusterClient, stop: Destination, request: BuiltRequest) -> Exchange:
        """Send one node its share and show the exchange. Raises Failure after showing what there is of it."""
        key = self._plan.api.key
        value, body = request.value, request.body
        if value is not None and stop.body is not value:
            value, body = stop.body, self._plan.draft.encoded(request.version, stop.body)
        respond = key != PRODUCE or value is None or value.get("acks") != 0
        self._tape.name(cluster.topic_names)  # an answer that cannot be read to its end may have named them
        self._own, self._latest = True, None
        exchange: Exchange | None = None
        try:
            stop.connection.request(key, request.version, body, respond=respond)
        finally:
            self._own = False
            exchange = self._latest
            if exchange is not None:
                if key in NODE_LISTS and exchange.response_raw is not None and not exchange.failures:
                    from decoders.messages.exchange_json import read_fields

                    cluster.recognise(read_fields(exchange, "response", _BROKERS))
                self._screen.show(exchange, node_name(stop.connection), *self._way(stop))
        assert exchange is not None
        if exchange.errors:
            from kwcli.calling.output import remarks

            for line in remarks(exchange):
                self._env.say(f"kw: {line}")
        return exchange

    def _again(
        self, cluster: ClusterClient, router: Router, stop: Destination, request: BuiltRequest, exchange: Exchange
    ) -> Exchange | None:
        """Look up the right node again and send it the same request; None where it would be several nodes by now."""
        error = exchange.errors[0]
        deadline = Deadline(MOVE_S, self._env.monotonic)
        while True:
            cluster.forget()
            found = router.stops(request.version, stop.body)
            if any(each.connection is not stop.connection for each in found) or not deadline.left():
                break
            time.sleep(min(MOVE_PAUSE_S, cluster.deadline.left()))
        if len(found) != 1:
            return None
        here, there = node_name(stop.connection), node_name(found[0].connection)
        again = f"to {there}" if here != there else "to the same node, which the cluster still names"
        self._env.say(f"kw: {here} is not {MOVED[error.code]} ({error.name}): sent once more, {again}")
        return self._send(cluster, found[0], request)

    def _moved(self, exchange: Exchange, version: int, stop: Destination) -> bool:
        """Whether the answer says, for each place that the request names, only that this node is not the right one."""
        errors = exchange.errors
        named = places(self._plan.api.key, version, stop.body)
        return bool(errors) and len(errors) >= len(named) and all(error.code in MOVED for error in errors)

    def _way(self, stop: Destination) -> Iterator[str]:
        """How the node was found, and once for each connection how long it took to open."""
        yield stop.why
        if id(stop.connection) not in self._shown:
            self._shown.add(id(stop.connection))
            yield from _timing(stop.connection, everything=self._verbose > 0)

    def _tell(self, text: str, important: bool) -> None:
        if self._verbose or (important and not self._settings.quiet):
            self._env.say(f"kw: {text}")

    def _witness(self, connection: Connection, reply: Reply) -> None:
        """Record every exchange on every connection; with -v, print those that are not the user's."""
        exchange = self._tape.play(connection.local, connection.peer, reply)
        if self._own and exchange.api_key == self._plan.api.key:  # and not a login that had to be renewed first
            self._latest = exchange
        elif self._verbose:
            from kwcli.calling.output import lookup_lines

            for line in lookup_lines(exchange, node_name(connection), self._settings):
                self._env.say(line)


def _timing(connection: Connection, *, everything: bool) -> Iterator[str]:
    timing = connection.timing
    if everything or timing.resolve_ns > 1_000_000:
        yield f"resolve {format_latency(timing.resolve_ns / 1e6)}"
    yield f"connect {format_latency(timing.connect_ns / 1e6)}"
    if timing.tls_ns:
        yield f"TLS {format_latency(timing.tls_ns / 1e6)}"
    if timing.auth_ns:
        yield f"auth {format_latency(timing.auth_ns / 1e6)}"
    if everything:
        yield f"versions {format_latency(timing.negotiate_ns / 1e6)}"
