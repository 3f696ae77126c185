"""The way to a cluster in, its nodes out, before the first client comes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from kwcli.exits import Exit, Failure
from kwcli.net.cluster import Cluster
from kwcli.net.core.config import ClientConfig
from kwcli.net.core.lookups import Node
from kwcli.net.deadline import Deadline


class Found(NamedTuple):
    """`remark` says why nothing is known of the nodes yet."""

    nodes: Mapping[int, Node]
    cluster_id: str | None
    remark: str | None = None


def discover(config: ClientConfig) -> Found:
    """Ask the cluster for its nodes. Raises Failure where nobody answers.

    A cluster that wants to know who we are is no failure where clients log in by themselves.
    """
    try:
        with Cluster(config, Deadline(config.timeout_s, time.monotonic)) as cluster:
            return Found(cluster.nodes(), cluster.cluster_id)
    except Failure as failure:
        if failure.code != Exit.REFUSED or "SASL" in config.protocol:
            raise
        return Found({}, None, f"{failure.text}; nodes will be known when a client has asked for them")
