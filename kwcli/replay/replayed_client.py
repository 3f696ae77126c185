"""The requests of one client's connection in, asked one after the other of the nodes that serve them; outcomes out.

A recorded connection led to one broker. Its requests may have to go to several nodes of the other cluster, so a client
has a connection to each node that it needs, with the client id of the recording unless another was given. Order is kept
within a client: a request is sent when the one before it has been answered.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from decoders.errors import DecodeError, EncodeError, strip_traceback
from decoders.exchanges.exchange import Exchange
from decoders.messages.exchange_json import to_json_dict
from decoders.messages.whole_messages import encode_message
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import FETCH
from decoders.protocol_facts.extract_routing_keys import extract_routing_keys
from decoders.replaying.answer_comparison import (
    Answer,
    Difference,
    Verdict,
    compare_answers,
    judge_differences,
    merge_answers,
)
from decoders.replaying.classify_apis_for_replay import classify_api
from decoders.replaying.id_map import AnsweringNodes, IdMap, NotReplayable
from decoders.replaying.version_conversion import convert_request
from kwcli.net.command_deadline import Deadline
from kwcli.net.session.blocking_connection import BrokerConnection, UnansweredRequest
from kwcli.replay.recorded_requests import WHOLE, RecordedRequest, is_answered_by_brokers
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from kwcli.calling.pair_sent_and_received import ExchangeBuilder
    from kwcli.net.config.client_config import Address
    from kwcli.replay.target_cluster import NodeRequest, ReplayTarget
    from kwcli.run_environment import Environment

__all__ = ["ReplayContext", "ReplayOutcome", "ReplayedClient"]

# Errors that pass, which every client waits out: LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER,
# COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, NOT_CONTROLLER, CONCURRENT_TRANSACTIONS.
PASSING: Final = frozenset({5, 6, 14, 15, 16, 41, 51})
PASSING_PAUSE_S: Final = 0.25
# How many connections all clients keep open, so that file descriptors do not run out.
OPEN_MAX: Final = 512
# The fields of requests that say how long an answer may take.
_WAITS: Final = ("max_wait_ms", "rebalance_timeout_ms", "session_timeout_ms", "timeout_ms")


class ReplayOutcome(NamedTuple):
    """The result of a request: the exchange with the other cluster as a record, and how its answer compares.

    `text` says why there is nothing to compare, or why it was refused without an answer.
    """

    request: RecordedRequest
    record: dict[str, Any] | None
    verdict: Verdict | None
    text: str = ""
    differences: Sequence[Difference] = ()
    problem: NotReplayable | None = None
    shares: int = 1


class ReplayContext:
    """The state that all replayed clients share.

    A thread holds `lock` while it maps, looks up, opens a connection or reads an answer: one thread at a time decodes
    messages, and threads only wait for answers side by side.
    """

    def __init__(
        self,
        env: Environment,
        target: ReplayTarget,
        ids: IdMap,
        exchange_builder: ExchangeBuilder,
        nodes: Mapping[str, int],
        client_id: str | None,
    ) -> None:
        """`nodes`: address of a recorded broker → the node that stands for it. `client_id` None: as recorded."""
        self.env = env
        self.target = target
        self.ids = ids
        self.exchange_builder = exchange_builder
        self.nodes = nodes
        self.client_id = client_id
        self.opened = 0  # connections of all clients
        self.lock = threading.RLock()
        self.over = threading.Event()


# An exchange, why it is not answered (empty: it is), and where it went.
_Answered = tuple["Exchange", str, "NodeRequest"]


class ReplayedClient:
    """One client's recorded connection, with its connections to nodes of the other cluster."""

    def __init__(self, shared: ReplayContext, client_id: str | None) -> None:
        self._shared = shared
        self._client_id = shared.client_id or client_id
        self._open: dict[Address, BrokerConnection] = {}

    def close_connections(self) -> None:
        """Close the connections of the client."""
        for address in tuple(self._open):
            self._close_connection(address)

    def _close_connection(self, address: Address) -> None:
        connection = self._open.pop(address, None)
        if connection is not None:
            connection.close()
            with self._shared.lock:
                self._shared.opened -= 1

    def replay_request(self, request: RecordedRequest) -> ReplayOutcome:
        """Ask one request; errors are in the outcome."""
        if self._shared.opened > OPEN_MAX:
            self.close_connections()  # other clients need connections, and these can be opened again
        try:
            return self._replay_to_nodes(request)
        except NotReplayable as problem:
            return ReplayOutcome(request, None, None, problem=problem.with_traceback(None))
        except Failure as failure:
            return ReplayOutcome(request, None, "refused", strip_traceback(failure).text)

    def _replay_to_nodes(self, request: RecordedRequest) -> ReplayOutcome:
        shared, key, broker = self._shared, request.api_key, request.exchange.broker
        with shared.lock:
            version = shared.target.choose_version(key, request.version)
            body = convert_request(key, request.version, version, request.decode_body())
            mapped = shared.ids.map_request(key, version, body, broker=broker)
            sent = mapped.body
            _check_encodable(key, version, request.version, sent)
            shared.target.check_creates_no_topic(key, version, sent)
        answered: list[_Answered] = []
        left = [sent]  # shares to be asked: at first all, then those with PASSING errors
        deadline = Deadline(shared.target.config.timeout_s, shared.env.monotonic)
        while left:
            with shared.lock:
                requests = [
                    each
                    for body in left
                    for each in self._build_requests_of_nodes(key, version, body, mapped.node, broker)
                ]
            if key == FETCH and len(requests) > 1:  # no session spans nodes
                requests = [
                    each._replace(body={**each.body, "session_id": 0, "session_epoch": -1}) for each in requests
                ]
            got = [(*self._send_with_retry(key, version, each), each) for each in requests]
            with shared.lock:
                again = [each for each in got if _has_only_passing_errors(each[0], request, version, each[2].body)]
                if deadline.left() <= PASSING_PAUSE_S or shared.over.is_set():
                    again = []
                answered += [each for each in got if each not in again]
                left = [dict(node_request.body) for _, _, node_request in again]
                if left:
                    shared.target.forget_leaders_and_coordinators()
            if left:
                time.sleep(PASSING_PAUSE_S)
        with shared.lock:
            return self._compare_with_recording(request, answered)

    def _build_requests_of_nodes(
        self, api_key: int, version: int, body: dict[str, Any], node: int | None, broker: str
    ) -> list[NodeRequest]:
        if node is not None:
            return self._shared.target.build_requests_of_node(node, body)
        return self._shared.target.build_node_requests(api_key, version, body, self._shared.nodes.get(broker))

    def _compare_with_recording(self, request: RecordedRequest, answered: Sequence[_Answered]) -> ReplayOutcome:
        shared, key = self._shared, request.api_key
        shared.exchange_builder.add_topic_names(shared.target.topic_names)
        records = [to_json_dict(exchange, WHOLE) for exchange, _, _ in answered]
        record = records[0]
        failed = next((text for _, text, _ in answered if text), "")
        was = request.build_answer_json()
        assert was is not None
        if len(records) > 1 and not failed:
            record = {**record, "response": merge_answers(key, [each["response"] or {} for each in records])}
            record["errors"] = [error for each in records for error in each["errors"]]
        shares = len(records)
        if was["status"] == "no_response_expected" and record["status"] == was["status"]:
            return ReplayOutcome(request, record, "same", shares=shares)
        if was["response"] is None or "response" in was.get("undecoded", {}):
            closed = was.get("closed") in ("fin", "rst")
            if failed and closed:
                return ReplayOutcome(request, record, "same", f"not answered by either: {failed}", shares=shares)
            return ReplayOutcome(request, record, "uncompared", "the recording has no answer", shares=shares)
        if failed:
            return ReplayOutcome(request, record, "refused", failed, shares=shares)
        if "response" in record.get("undecoded", {}) or record["response"] is None:
            return ReplayOutcome(request, record, "uncompared", "the new answer cannot be decoded", shares=shares)
        codes = {error["code"] for error in was["errors"]}
        if codes and codes <= PASSING and all(error.get("expected") for error in record["errors"]):
            return ReplayOutcome(
                request, record, "uncompared", "the recorded answer was a temporary error", shares=shares
            )
        asked = was["request"] or {}
        answering = AnsweringNodes(request.exchange.broker, answered[0][2].node)
        if shares == 1 or key != FETCH:
            shared.ids.learn_ids(key, asked, was["response"], record["response"], answering)
        old = Answer(was["response"], _find_layout_version(was), asked)
        new = Answer(record["response"], _find_layout_version(record), record["request"] or {})
        differences = compare_answers(key, old, new, shared.ids)
        return ReplayOutcome(request, record, judge_differences(differences), differences=differences, shares=shares)

    def _send_with_retry(self, key: int, version: int, node_request: NodeRequest) -> tuple[Exchange, str]:
        """The exchange with one node, and why it is not answered, else "". Raises Failure where nothing was sent.

        A request that only reads is sent once more where a connection used before is closed: it may have been idle.
        """
        used = node_request.address in self._open
        exchange, problem = self._send_to_node(key, version, node_request)
        if problem and used and classify_api(key) == "read":
            return self._send_to_node(key, version, node_request)
        return exchange, problem

    def _send_to_node(self, key: int, version: int, node_request: NodeRequest) -> tuple[Exchange, str]:
        shared = self._shared
        connection = self._get_or_open_connection(node_request)
        waits = max((node_request.body.get(name) or 0 for name in _WAITS), default=0) / 1000
        connection.deadline = Deadline(shared.target.config.timeout_s + max(waits, 0.0), shared.env.monotonic)
        with shared.lock:
            body = encode_message(key, version, "request", node_request.body)
        problem = ""
        try:
            reply = connection.send_request(key, version, body, respond=is_answered_by_brokers(key, node_request.body))
        except Failure as failure:
            self._close_connection(node_request.address)
            if not isinstance(failure, UnansweredRequest):
                raise
            reply, problem = failure.reply, strip_traceback(failure).text
        with shared.lock:
            exchange = shared.exchange_builder.build_exchange(connection.local, connection.peer, reply)
            if problem:
                shared.exchange_builder.end_connection(connection.local, connection.peer)
        return exchange, problem

    def _get_or_open_connection(self, node_request: NodeRequest) -> BrokerConnection:
        found = self._open.get(node_request.address)
        if found is None:
            target = self._shared.target
            config = target.config
            if self._client_id is not None:
                config = config._replace(client_id=self._client_id)
            with self._shared.lock:
                found = self._open[node_request.address] = BrokerConnection.open(
                    node_request.address,
                    config,
                    Deadline(config.timeout_s, self._shared.env.monotonic),
                    node_id=None if node_request.node < 0 else node_request.node,
                    credentials=target.credentials,
                )
                self._shared.opened += 1
        return found


def _check_encodable(api_key: int, version: int, recorded: int, body: Mapping[str, Any]) -> None:
    """Raise NotReplayable where a version has no field for a value of the body."""
    try:
        encode_message(api_key, version, "request", body)
    except (EncodeError, DecodeError) as problem:
        raise NotReplayable("version", f"version {recorded} does not fit into {version}: {problem}") from None


def _find_layout_version(record: Mapping[str, Any]) -> int:
    """The version whose fields an answer has: 0 for ApiVersions where the broker did not know the version asked for."""
    answer = record["response"]
    if record["api"] == "ApiVersions" and answer.get("error_code") and "throttle_time_ms" not in answer:
        return 0
    version: int = record["api_version"]
    return version


def _has_only_passing_errors(
    exchange: Exchange, request: RecordedRequest, version: int, body: Mapping[str, Any]
) -> bool:
    """Whether an answer has only errors of PASSING (too early, the wrong node), which the recorded one does not have.

    For a request that changes something, every place must have failed, so that nothing was done yet.
    """
    codes = {error.code for error in exchange.errors}
    if not codes or not codes <= PASSING or codes & {error.code for error in request.exchange.errors}:
        return False
    named = extract_routing_keys(request.api_key, version, body)
    return classify_api(request.api_key) == "read" or len(exchange.errors) >= len(named)
