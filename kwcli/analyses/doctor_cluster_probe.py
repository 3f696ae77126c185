"""Brokers' addresses in, observations about their cluster out, for the doctor; the requests change nothing.

Each server that was given is asked: does it accept the login, what does it say of the cluster (all topics with their
replicas, all brokers with their addresses), can each of these brokers be reached from here, which versions do they
speak, does the controllers' clock agree with this machine's. The answers are read by the same fold as captures.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from decoders.errors import strip_traceback
from decoders.exchanges.topic_and_node_names import METADATA_TOPIC
from decoders.protocol_facts.api_keys import DESCRIBE_QUORUM, METADATA
from decoders.protocol_facts.guess_release_from_offered_versions import find_most_alike_releases
from decoders.schema.api_declaration import NONE
from kwcli.calling.pair_sent_and_received import ExchangeBuilder
from kwcli.net import metadata_messages
from kwcli.net.cluster_client import ClusterClient
from kwcli.net.command_deadline import Deadline
from kwcli.net.metadata_messages import decode_reply
from kwcli.net.parse_addresses import format_address
from kwcli.output.renderers import WantedPaths
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.analysis.doctor.doctor import Doctor
    from kwcli.net.config.client_config import ClientConfig
    from kwcli.net.metadata_messages import ClusterNode
    from kwcli.net.session.blocking_connection import BrokerConnection, Reply
    from kwcli.run_environment import Environment

__all__ = ["probe_cluster"]

# The first version of DescribeQuorum whose responses have times.
_TIMES_SINCE: Final = 1
_NS_PER_MS: Final = 1_000_000
# The feature that says which records and APIs the cluster uses; others are switched on when somebody wants them.
_FEATURE: Final = "metadata.version"


def probe_cluster(env: Environment, config: ClientConfig, doctor: Doctor) -> None:
    """Have the doctor observe the cluster from each of the servers. Raises Failure where all of them fail."""
    deadline = Deadline(config.timeout_s, env.monotonic)
    failures = []
    for server in config.servers:
        one = config._replace(servers=(server,))
        try:
            ClusterProbe(doctor, one, deadline).probe_all_nodes()
        except Failure as failure:
            failures.append(strip_traceback(failure))
            doctor.observe_cluster_fact("unreachable", env.now_ns(), format_address(server), None, failure.text)
    if len(failures) == len(config.servers):
        raise failures[0]


class ClusterProbe:
    """The examination of a cluster as one of its servers describes it."""

    def __init__(self, doctor: Doctor, config: ClientConfig, deadline: Deadline) -> None:
        self._doctor = doctor
        self._config = config
        self._deadline = deadline
        self._builder = ExchangeBuilder(WantedPaths(doctor.needs))

    def probe_all_nodes(self) -> None:
        with ClusterClient(self._config, self._deadline, witness=self._observe_exchange_of_reply) as cluster:
            first = cluster.connect_to_any()
            if METADATA in first.versions:
                version = cluster.choose_version(first, METADATA)
                cluster.send_request(first, METADATA, version, metadata_messages.build_topics_request(version, None))
            nodes = cluster.list_nodes(fresh=True)
            for left, node in zip(range(len(nodes), 0, -1), nodes.values(), strict=True):
                # A node that hangs leaves the other nodes and the controller their share of the time.
                self._probe_server(cluster, node, self._deadline.left() * left / (left + 1))
            # Where no time is left, the controller would be blamed wrongly.
            if first.versions.get(DESCRIBE_QUORUM, NONE).high >= _TIMES_SINCE and self._deadline.left():
                try:
                    self._compare_clock_of_controller(cluster, first)
                except Failure as failure:
                    why = strip_traceback(failure).text
                    self._doctor.observe_cluster_fact(
                        "controller-silent", time.time_ns(), format_address(first.address), why
                    )

    def _observe_exchange_of_reply(self, connection: BrokerConnection, reply: Reply) -> None:
        self._doctor.add(self._builder.build_exchange(connection.local, connection.peer, reply))

    def _probe_server(self, cluster: ClusterClient, node: ClusterNode, spare_s: float) -> None:
        now_ns = time.time_ns()
        if not self._deadline.left():
            self._doctor.observe_cluster_fact("not-looked-at", now_ns, format_address(node.address), node.id)
            return
        try:
            connection = cluster.connect_to_node(node.id, spare_s=spare_s)
        except Failure as failure:
            if failure.code == Exit.REFUSED:
                raise
            self._doctor.observe_cluster_fact(
                "unreachable", now_ns, format_address(node.address), node.id, strip_traceback(failure).text
            )
            return
        looks = find_most_alike_releases(connection.versions)
        self._doctor.observe_cluster_fact(
            "release", now_ns, str(looks) if looks.is_likely_kafka_release else "none known", node.id
        )
        levels = {
            row["name"]: row["max_version_level"]
            for row in _get_list_of_api_versions_answer(connection, "finalized_features")
        }
        for row in _get_list_of_api_versions_answer(connection, "supported_features"):
            if row["name"] == _FEATURE and row["name"] in levels:
                level, most = levels[row["name"]], row["max_version"]
                self._doctor.observe_cluster_fact("feature", now_ns, row["name"], node.id, level=level, most=most)

    def _compare_clock_of_controller(self, cluster: ClusterClient, connection: BrokerConnection) -> None:
        """Compare clocks: the active controller says when it last caught up with itself, its own now (KIP-836)."""
        version = cluster.choose_version(connection, DESCRIBE_QUORUM, _TIMES_SINCE)
        asked = {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]}
        reply = cluster.send_look_up(connection, DESCRIBE_QUORUM, version, asked)
        answer = decode_reply(connection, reply, DESCRIBE_QUORUM, version)
        for topic in answer["topics"]:
            for part in topic["partitions"]:
                for voter in part["current_voters"]:
                    if voter["replica_id"] == part["leader_id"] and voter["last_caught_up_timestamp"] > 0:
                        between = (reply.sent_ns + reply.first_ns) // 2
                        apart = voter["last_caught_up_timestamp"] * _NS_PER_MS - between
                        self._doctor.observe_cluster_fact(
                            "controller-clock", between, part["leader_id"], apart=abs(apart)
                        )


def _get_list_of_api_versions_answer(connection: BrokerConnection, name: str) -> list[dict[str, Any]]:
    found = connection.offer.answer.get(name)
    return found if isinstance(found, list) else []
