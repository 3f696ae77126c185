"""The settings of a proxy as one value; and the nodes of the cluster, found before clients connect."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from decoders.named_tuple import NamedTuple
from kwcli.net.cluster_client import ClusterClient
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import Address, ClientConfig
from kwcli.net.metadata_messages import ClusterNode
from kwcli.proxy.relay.memory_share import SHARED_MEMORY_MAX
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.schema.api_declaration import Versions
    from kwcli.proxy.deciding.ask_deciders import Deciders
    from kwcli.proxy.deciding.faults.rule_files import RuleFiles
    from kwcli.proxy.deciding.script_and_control_options import ScriptAndControl
    from kwcli.proxy.deciding.served_versions import ServedVersions, VersionDecider
    from kwcli.proxy.receive_proxy_heads import HeadReceiver
    from kwcli.proxy.tls.listener_tls_contexts import Inbound

PORT_BASE: Final = 19092
LOOPBACK: Final = "127.0.0.1"
# How long the proxy waits for answers when it is to end.
DRAIN_S: Final = 10.0


class Listening(NamedTuple):
    """Where clients find the proxy, and Prometheus its metrics; without `advertise` clients are told `bind`.

    `served` limits what clients are offered. `run` is a command line that is run with the proxy, and ends it. `heads`
    takes the PROXY heads of load balancers that name their clients.
    """

    port_base: int = PORT_BASE
    bind: str = LOOPBACK
    advertise: str | None = None
    metrics: Address | None = None
    served: ServedVersions | None = None
    run: str | None = None
    heads: HeadReceiver | None = None


class ProxySettings(NamedTuple):
    """Settings of a proxy, which listens on `bind`, tells clients the host `advertise`, dials brokers by `config`."""

    config: ClientConfig
    port_base: int = PORT_BASE
    bind: str = LOOPBACK
    advertise: str = LOOPBACK
    shared_memory_max: int = SHARED_MEMORY_MAX
    drain_s: float = DRAIN_S
    verbose: int = 0
    quiet: bool = False  # say nothing at the end
    metrics: Address | None = None  # where Prometheus asks for metrics
    tls: Inbound | None = None  # the TLS side of the listeners
    version_decider: VersionDecider | None = None  # limits what clients are offered
    deciders: Deciders | None = None  # who decides about single frames
    rules: RuleFiles | None = None  # the fault rules
    script_and_control: ScriptAndControl | None = None  # a script, the control interface
    run: str | None = None  # a command line that is run with the proxy, and ends it
    heads: HeadReceiver | None = None  # takes the PROXY heads of load balancers


# Nodes of the cluster


# How many nodes with an impossible address are reported one by one.
_TOLD_MAX: Final = 3


class DiscoveredNodes(NamedTuple):
    """The nodes. `remark`: why none are known yet, or which have impossible addresses; `offered` is by API key."""

    nodes: Mapping[int, ClusterNode]
    cluster_id: str | None
    remark: str | None = None
    offered: Mapping[int, Versions] | None = None


def request_nodes_of_cluster(config: ClientConfig) -> DiscoveredNodes:
    """Ask the cluster for its nodes. Raises Failure where no broker answers.

    A cluster that wants a login is no failure where clients log in by themselves: then no nodes are known yet.
    """
    try:
        with ClusterClient(config, Deadline(config.timeout_s, time.monotonic)) as cluster:
            nodes = cluster.list_nodes()
            problems = [node.problem for node in nodes.values() if node.problem is not None]
            more = f"; and {len(problems) - _TOLD_MAX} more like that" * (len(problems) > _TOLD_MAX)
            remark = "; ".join(problems[:_TOLD_MAX]) + more if problems else None
            usable = {number: node for number, node in nodes.items() if node.problem is None}
            return DiscoveredNodes(usable, cluster.cluster_id, remark, cluster.connect_to_any().versions)
    except Failure as failure:
        if failure.code != Exit.REFUSED or "SASL" in config.protocol:
            raise
        return DiscoveredNodes(
            {}, None, f"{failure.text}; the proxy learns the nodes from the first client that asks for them"
        )
