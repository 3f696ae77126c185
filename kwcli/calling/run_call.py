"""One run of `kw call`: one request in, sent to each node that must answer it; its exchanges shown, an exit code out.

A run is one round, or as many as --repeat says. In a round the request goes to each of its nodes once. If a node
answers that it is not, or no longer, the right one, that one is looked up again and the request sent once more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Final

from decoders.exchanges.topic_and_node_names import NODE_LISTS
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import PRODUCE
from decoders.protocol_facts.extract_routing_keys import extract_routing_keys
from decoders.schema.api_declaration import Api, Versions
from decoders.wire.format_and_escape_text import format_latency
from kwcli.calling.choose_request_version import VersionChoice, find_common_versions
from kwcli.calling.pair_sent_and_received import ExchangeBuilder
from kwcli.calling.request_destinations import Destination, NodeTarget, RequestRouter, format_node_name
from kwcli.net.cluster_client import ClusterClient
from kwcli.net.command_deadline import Deadline
from kwcli.net.session.blocking_connection import InterruptedRequest, UnansweredRequest
from kwcli.output.short_texts import count_of
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from kwcli.calling.ping_summary import Ping
    from kwcli.calling.print_exchanges import CallOutput
    from kwcli.calling.request_builder import BuiltRequest, RequestDraft
    from kwcli.net.config.client_config import ClientConfig
    from kwcli.net.session.blocking_connection import BrokerConnection, Reply
    from kwcli.output.output_settings import Settings
    from kwcli.run_environment import Environment

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
    draft: RequestDraft
    choice: VersionChoice
    target: NodeTarget | None
    split: bool
    repeat: int
    interval_s: float


class CallRun:
    """One run of `kw call`."""

    sleep = staticmethod(time.sleep)  # between two rounds

    def __init__(
        self,
        env: Environment,
        config: ClientConfig,
        plan: CallPlan,
        output: CallOutput,
        settings: Settings,
    ) -> None:
        self._env = env
        self._config = config
        self._plan = plan
        self._output = output
        self._settings = settings
        self._verbose = settings.verbose
        self._builder = ExchangeBuilder(output.brief_body_needs)
        self._timed: set[int] = set()  # connections whose timing was printed
        self._code = Exit.DONE
        self.ping: Ping | None = None
        if plan.repeat != 1:
            from kwcli.calling.ping_summary import Ping

            self.ping = Ping()

    def run(self) -> Exit:
        """Make the call and return the exit code. Raises Failure for a problem that no answer shows."""
        if self._verbose:
            host, port = self._config.servers[0]
            more = f" and {len(self._config.servers) - 1} more" if self._config.servers[1:] else ""
            self._env.report(f"kw: server {host}:{port}{more} (from {self._config.origin})")
        with ClusterClient(
            self._config, self._start_deadline(), witness=self._observe_look_up, tell=self._report
        ) as cluster:
            try:
                self._send_in_rounds(cluster)
            except KeyboardInterrupt:
                return Exit.INTERRUPTED
        return self._code

    def _start_deadline(self) -> Deadline:
        return Deadline(self._config.timeout_s, self._env.monotonic)

    def _send_in_rounds(self, cluster: ClusterClient) -> None:
        """Run every round; a ping that had an answer goes on after a round that failed."""
        plan = self._plan
        for number in range(plan.repeat) if plan.repeat else count():
            if number:
                self.sleep(plan.interval_s)
                cluster.set_deadline(self._start_deadline())
            try:
                self._run_round(cluster)
                self._fetch_further_records(cluster)
            except Failure as failure:
                if self.ping is None or not self.ping.has_answers or failure.code in (Exit.USAGE, Exit.REFUSED):
                    raise
                self._env.report(f"kw: {failure.text}")
                self._code = failure.code
                self.ping.count_lost_request()
                cluster.close_and_forget()

    def _fetch_further_records(self, cluster: ClusterClient) -> None:
        """Fetch the records that the answers to a fetch did not hold, where all of them are wanted."""
        plan = self._plan
        try:
            while offsets := self._output.take_offsets_to_fetch():
                cluster.set_deadline(self._start_deadline())
                self._plan = plan._replace(draft=plan.draft.resume_fetch_at(offsets))
                self._run_round(cluster)
        finally:
            self._plan = plan

    def _run_round(self, cluster: ClusterClient) -> None:
        plan = self._plan
        plan.draft.look_up_in_cluster(cluster)
        router = RequestRouter(cluster, plan.api, plan.target, split=plan.split or plan.draft.has_short_words)
        request, destinations = self._choose_version_and_nodes(cluster, router)
        for place, problem in enumerate(router.problems):
            if place < PROBLEMS_TOLD or problem is router.problems[-1]:
                self._env.report(f"kw: {problem.text}")
            elif place == PROBLEMS_TOLD:
                self._env.report(f"kw: … {count_of(len(router.problems) - PROBLEMS_TOLD - 1, 'node')} more like this …")
            self._code = self._code or problem.code
        for destination in destinations:
            exchange = self._send_and_show(cluster, destination, request)
            if destination.looked_up and self._says_wrong_node(exchange, request.version, destination):
                exchange = self._resend_to_right_node(cluster, router, destination, request, exchange) or exchange
            if exchange.errors or exchange.failures:
                self._code = Exit.FAILURE
            if self.ping is not None:
                self.ping.count_exchange(exchange)

    def _choose_version_and_nodes(
        self, cluster: ClusterClient, router: RequestRouter
    ) -> tuple[BuiltRequest, list[Destination]]:
        """The request in a version that all its nodes support, and those nodes."""
        plan = self._plan
        versions = self._find_sendable_versions(cluster.connect_to_any())
        while True:
            request = plan.draft.build_request(self._prefer_recorded_version(versions))
            destinations = router.find_destinations(request.version, request.value or {})
            for destination in destinations:
                versions &= self._find_sendable_versions(destination.connection)
            if request.version in versions:
                return request, destinations
            if not versions:
                raise Failure(f"the nodes that {plan.api.name} goes to have no common version of it")

    def _find_sendable_versions(self, connection: BrokerConnection) -> Versions:
        return find_common_versions(
            self._plan.api, connection.versions, self._plan.choice, format_node_name(connection)
        )

    def _prefer_recorded_version(self, versions: Versions) -> Versions:
        """Only the version of the record that the body came from, if it is one of these and the user named none."""
        preferred = self._plan.draft.preferred_version
        choice = self._plan.choice
        said = choice.number is not None or choice.release is not None or choice.end
        if preferred is None or preferred not in versions or said:
            return versions
        return Versions(preferred, preferred)

    def _send_and_show(self, cluster: ClusterClient, destination: Destination, request: BuiltRequest) -> Exchange:
        """Send one node its share and show the exchange. Raises Failure after showing what there is of it."""
        key = self._plan.api.key
        value, body = request.value, request.body
        if value is not None and destination.body is not value:
            value, body = destination.body, self._plan.draft.encode_composed_body(request.version, destination.body)
        respond = key != PRODUCE or value is None or value.get("acks") != 0
        self._builder.add_topic_names(
            cluster.topic_names
        )  # an answer that cannot be read to its end may have named them
        try:
            reply = destination.connection.send_request(key, request.version, body, respond=respond)
        except (UnansweredRequest, InterruptedRequest) as end:
            self._show_reply(cluster, destination, end.reply)
            raise
        exchange = self._show_reply(cluster, destination, reply)
        if exchange.errors:
            from kwcli.calling.print_exchanges import explain_error_codes

            for line in explain_error_codes(exchange):
                self._env.report(f"kw: {line}")
        return exchange

    def _show_reply(self, cluster: ClusterClient, destination: Destination, reply: Reply) -> Exchange:
        connection = destination.connection
        exchange = self._builder.build_exchange(connection.local, connection.peer, reply)
        if exchange.api_key in NODE_LISTS and exchange.response_raw is not None and not exchange.failures:
            from decoders.messages.exchange_json import read_fields_at_paths

            cluster.learn_id_of_first_node(read_fields_at_paths(exchange, "response", _BROKERS))
        self._output.show_exchange(exchange, format_node_name(connection), *self._describe_connection(destination))
        return exchange

    def _resend_to_right_node(
        self,
        cluster: ClusterClient,
        router: RequestRouter,
        destination: Destination,
        request: BuiltRequest,
        exchange: Exchange,
    ) -> Exchange | None:
        """Look up the right node again and send it the same request; None where it would be several nodes by now."""
        error = exchange.errors[0]
        deadline = Deadline(MOVE_S, self._env.monotonic)
        while True:
            cluster.forget_looked_up_answers()
            found = router.find_destinations(request.version, destination.body)
            if any(each.connection is not destination.connection for each in found) or not deadline.left():
                break
            time.sleep(min(MOVE_PAUSE_S, cluster.deadline.left()))
        if len(found) != 1:
            return None
        here, there = format_node_name(destination.connection), format_node_name(found[0].connection)
        again = f"to {there}" if here != there else "to the same node, which the cluster still names"
        self._env.report(f"kw: {here} is not {MOVED[error.code]} ({error.name}): sent once more, {again}")
        return self._send_and_show(cluster, found[0], request)

    def _says_wrong_node(self, exchange: Exchange, version: int, destination: Destination) -> bool:
        """Whether the answer says, for each place that the request names, only that this node is not the right one."""
        errors = exchange.errors
        named = extract_routing_keys(self._plan.api.key, version, destination.body)
        return bool(errors) and len(errors) >= len(named) and all(error.code in MOVED for error in errors)

    def _describe_connection(self, destination: Destination) -> Iterator[str]:
        """How the node was found, and once for each connection how long it took to open."""
        yield destination.why
        if id(destination.connection) not in self._timed:
            self._timed.add(id(destination.connection))
            yield from _format_connection_timing(destination.connection, everything=self._verbose > 0)

    def _report(self, text: str, important: bool) -> None:
        if self._verbose or (important and not self._settings.quiet):
            self._env.report(f"kw: {text}")

    def _observe_look_up(self, connection: BrokerConnection, reply: Reply) -> None:
        """Read a look-up or a login, which may name topics; with -v, print it."""
        exchange = self._builder.build_exchange(connection.local, connection.peer, reply)
        if self._verbose:
            from kwcli.calling.print_exchanges import format_lookup_lines

            for line in format_lookup_lines(exchange, format_node_name(connection), self._settings):
                self._env.report(line)


def _format_connection_timing(connection: BrokerConnection, *, everything: bool) -> Iterator[str]:
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
