"""The way to a cluster in, its nodes out, before the first client comes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final, NamedTuple

from kwcli.exits import Exit, Failure
from kwcli.net.cluster import Cluster
from kwcli.net.core.config import ClientConfig
from kwcli.net.core.lookups import Node
from kwcli.net.deadline import Deadline

# So many nodes whose places cannot be are told one by one.
_TOLD_MAX: Final = 3


class Discovered(NamedTuple):
    """`remark` says why nothing is known of the nodes yet, or which of them are nowhere."""

    nodes: Mapping[int, Node]
    cluster_id: str | None
    remark: str | None = None


def discover(config: ClientConfig) -> Discovered:
    """Ask the cluster for its nodes. Raises Failure where nobody answers.

    A cluster that wants to know who we are is no failure where clients log in by themselves.
    """
    try:
        with Cluster(config, Deadline(config.timeout_s, time.monotonic)) as cluster:
            nodes = cluster.nodes()
            problems = [node.problem for node in nodes.values() if node.problem is not None]
            more = f"; so are {len(problems) - _TOLD_MAX} more" * (len(problems) > _TOLD_MAX)
            remark = "; ".join(problems[:_TOLD_MAX]) + more if problems else None
            usable = {number: node for number, node in nodes.items() if node.problem is None}
            return Discovered(usable, cluster.cluster_id, remark)
    except Failure as failure:
        if failure.code != Exit.REFUSED or "SASL" in config.protocol:
            raise
        return Discovered({}, None, f"{failure.text}; nodes will be known when a client has asked for them")
