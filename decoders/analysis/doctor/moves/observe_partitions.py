"""Answers about partitions in; observations of leaders, replicas, nodes and clusters out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from decoders.analysis.doctor.ids_and_logins.observe_addresses import observe_advertised_address
from decoders.analysis.doctor.ids_and_logins.observe_ids_and_logins import observe_shared_addresses
from decoders.analysis.doctor.refused.explain_foreign_nodes import name_input
from decoders.analysis.doctor.refused.explain_single_codes import LISTENER_NOT_FOUND
from decoders.analysis.doctor.topology.observe_topology import observe_missing_topic
from decoders.analysis.exchange_facts import topic_of_element, view_or_empty
from decoders.exchanges.topic_arrays import structs_at

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observations
    from decoders.exchanges.exchange import Exchange

__all__ = ["observe_leader_epochs", "observe_metadata", "observe_replicas_in_sync"]


def observe_replicas_in_sync(seen: Observations, exchange: Exchange, client: str) -> None:  # noqa: ARG001  # as all observers have it
    """Replicas in sync, as a leader tells the controller (AlterPartition)."""
    for element in structs_at(exchange.view("request"), "topics"):
        topic = topic_of_element(exchange, element)
        for part in structs_at(element, "partitions"):
            its = seen.get_or_make("isr", topic, part.get("partition_index"))
            its.count_exchange(exchange)
            size = len(part.get("new_isr") or part.get("new_isr_with_epochs") or ())
            its.keep_greatest("size", size)
            its.keep_first_and_last("size", exchange.time_ns, size)


def observe_metadata(seen: Observations, exchange: Exchange, client: str) -> None:
    """Nodes, cluster and partitions of an answer to Metadata."""
    answer = view_or_empty(exchange, "response")
    time_ns = exchange.response_ns or exchange.time_ns
    nodes: set[Any] = set()
    absent: set[Any] = set()
    for node in structs_at(answer, "brokers"):
        number = node.get("node_id")
        nodes.add(number)
        observe_advertised_address(seen, exchange, node, number)
        if node.get("rack"):
            seen.get_or_make("node-rack", str(node["rack"])).count_name("nodes", str(number))
    cluster = answer.get("cluster_id")
    if cluster and isinstance(cluster, str):
        its = seen.get_or_make("cluster", exchange.connection_info.broker, cluster)
        its.count_answer(exchange)
        its.count_name("clients", client)
        its.count_name("files", name_input(exchange))
    if nodes:
        listing = seen.get_or_make("listing")
        listing.count_answer(exchange)
        listing.keep_first_and_last("controller", time_ns, answer.get("controller_id") or 0)
        observe_shared_addresses(seen, exchange, structs_at(answer, "brokers"))
    seen.get_or_make("metadata", client).count_exchange(exchange)
    for element in structs_at(answer, "topics"):
        topic = topic_of_element(exchange, element)
        if topic is None or element.get("error_code"):
            observe_missing_topic(seen, exchange, client, topic, element.get("error_code"))
            continue
        its = seen.get_or_make("topic", topic)
        its.count_exchange(exchange)
        trouble, epochs = False, 0
        placed = {*its.names.get("nodes", ())}
        for part in structs_at(element, "partitions"):
            epochs += max(part.get("leader_epoch") or 0, 0)
            replicas = part.get("replica_nodes") or ()
            missing = len(replicas) - len(part.get("isr_nodes") or ())
            its.keep_greatest("replicas", len(replicas))
            for replica in replicas:
                if str(replica) not in placed:
                    placed.add(str(replica))
                    its.count_name("nodes", str(replica))
            if part.get("leader_id", 0) < 0 and part.get("error_code") != LISTENER_NOT_FOUND:
                what = "offline"
            elif missing > 0 or part.get("offline_replicas"):
                what = "short"
            else:
                continue
            trouble = True
            _observe_unhealthy_partition(seen, exchange, client, (what, topic, part), nodes, absent)
        count = len(element.get("partitions") or ())
        told = seen.get_or_make("partition-count", topic, count)
        if its.most.get("partitions") == count and time_ns >= told.first:
            told.last = max(told.last, time_ns)
        else:
            told.count_answer(exchange)
            told.keep_first_and_last("asked", time_ns, exchange.time_ns)
            its.keep_greatest("partitions", count)
        if epochs:
            its.keep_first_and_last("epochs", time_ns, epochs)
        if not trouble:
            its.keep_greatest("whole", time_ns)


def _observe_unhealthy_partition(
    seen: Observations,
    exchange: Exchange,
    client: str,
    place: tuple[str, str, dict[str, Any]],
    nodes: set[Any],
    absent: set[Any],
) -> None:
    """Observe a partition without a leader or with replicas out of sync, and nodes of replicas that are not listed.

    `nodes` are those that the answer lists, `absent` those counted of it as not listed.
    """
    what, topic, part = place
    replicas = part.get("replica_nodes") or ()
    bad = seen.get_or_make(what, topic, part.get("partition_index"))
    bad.count_answer(exchange)
    for replica in replicas if what == "offline" else ():
        bad.count_name("holders", str(replica))
    for replica in set(replicas) - set(part.get("isr_nodes") or ()):
        bad.count_name("replicas", str(replica))
        if nodes and replica not in nodes:
            gone = seen.get_or_make("gone", replica)
            if replica not in absent:
                absent.add(replica)
                gone.count_answer(exchange)
            gone.count_name("alone" if len(replicas) == 1 else "places", f"{topic}-{part.get('partition_index')}")
            gone.count_name("clients", client)


def observe_leader_epochs(seen: Observations, exchange: Exchange, client: str) -> None:  # noqa: ARG001  # as all observers have it
    """Leaders as a controller of the ZooKeeper era gives them to brokers."""
    request = view_or_empty(exchange, "request")
    flat = [(part, part) for part in structs_at(request, "ungrouped_partition_states")]
    grouped = [
        (element, part)
        for element in structs_at(request, "topic_states")
        for part in structs_at(element, "partition_states")
    ]
    for element, part in flat + grouped:
        epoch = part.get("leader_epoch")
        if isinstance(epoch, int):
            its = seen.get_or_make("led", topic_of_element(exchange, element), part.get("partition_index"))
            its.count_exchange(exchange)
            its.keep_first_and_last("epoch", exchange.time_ns, epoch)
            its.count_name("leaders", str(part.get("leader")))
