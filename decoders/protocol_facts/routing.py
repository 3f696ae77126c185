"""Where each request goes, who sends it, and whether it changes something: one row per API.

`to` says which node can serve it:

- `any`: whichever node was reached (also what only one node can be asked but the request does not name: log dirs).
- `leader`: the leader of each partition that it names.
- `group`, `transaction`: the coordinator of each group or transactional id that it names; without one (null), any node.
- `share`: the coordinator of each key `group:topic id:partition` that it names.
- `resource`: a resource of a type in NODE_RESOURCES goes to the broker whose id its name is, unless that is empty (the
  setting of all brokers). All others: any node when reading, the controller when changing.
- `controller`: the active controller. A KRaft broker forwards, so that any broker does; a controller listener and a
  ZooKeeper cluster want the active one itself.
- `all`: every broker, each knows only its own.

`path` holds the fields of the request that together name the place, outermost first, without indices; `a|b` where the
field has another name in other versions: in each version exactly one of them exists.

`sent_by`: `client` (producers, consumers, Streams), `tool` (admin clients and command-line tools), `broker`,
`controller`. `mutates`: it changes the cluster, its data, or what others see of it; what a first look-up of a
coordinator brings about (its internal topic is created) does not count.
"""

from __future__ import annotations

from typing import Final, Literal

from decoders.named_tuple import NamedTuple

__all__ = ["NODE_RESOURCES", "ROUTES", "Route", "Sender", "To", "route"]

To = Literal["any", "leader", "group", "transaction", "share", "resource", "controller", "all"]
Sender = Literal["client", "tool", "broker", "controller"]

# Config resource types whose names are broker ids: BROKER and BROKER_LOGGER.
NODE_RESOURCES: Final = frozenset({4, 8})


class Route(NamedTuple):
    """One row of the table."""

    to: To
    path: tuple[str, ...] = ()
    sent_by: tuple[Sender, ...] = ("client",)
    mutates: bool = False


_EVERYONE: Final[tuple[Sender, ...]] = ("client", "tool", "broker", "controller")
_CLIENTS: Final[tuple[Sender, ...]] = ("client", "tool")
_TOOL: Final[tuple[Sender, ...]] = ("tool",)
_BROKER: Final[tuple[Sender, ...]] = ("broker",)
_CONTROLLER: Final[tuple[Sender, ...]] = ("controller",)

# What several requests name their place by.
_NAMED: Final = ("topics[].name", "topics[].partitions[].partition_index")
_SHARED: Final = ("topics[].topic_id", "topics[].partitions[].partition_index")
_STATE: Final = ("group_id", "topics[].topic_id", "topics[].partitions[].partition")
_RESOURCES: Final = ("resources[].resource_type", "resources[].resource_name")
_GROUP: Final = ("group_id",)
_GROUPS: Final = ("group_ids[]",)
_TRANSACTION: Final = ("transactional_id",)

ROUTES: Final[dict[int, Route]] = {
    # Produce
    0: Route(
        "leader",
        ("topic_data[].name|topic_data[].topic_id", "topic_data[].partition_data[].index"),
        mutates=True,
    ),
    # Fetch
    1: Route(
        "leader",
        ("topics[].topic|topics[].topic_id", "topics[].partitions[].partition"),
        ("client", "broker", "controller"),
    ),
    2: Route("leader", _NAMED, ("client", "tool", "broker")),  # ListOffsets
    3: Route("any", (), _CLIENTS),  # Metadata
    # A ZooKeeper controller tells brokers: LeaderAndIsr, StopReplica, UpdateMetadata.
    4: Route("any", (), _CONTROLLER, mutates=True),
    5: Route("any", (), _CONTROLLER, mutates=True),
    6: Route("any", (), _CONTROLLER, mutates=True),
    7: Route("controller", (), _BROKER, mutates=True),  # ControlledShutdown
    8: Route("group", _GROUP, _CLIENTS, mutates=True),  # OffsetCommit
    9: Route("group", ("group_id|groups[].group_id",), _CLIENTS),  # OffsetFetch
    10: Route("any", (), ("client", "tool", "broker")),  # FindCoordinator
    11: Route("group", _GROUP, mutates=True),  # JoinGroup
    12: Route("group", _GROUP, mutates=True),  # Heartbeat: prolongs a member's session
    13: Route("group", _GROUP, _CLIENTS, mutates=True),  # LeaveGroup
    14: Route("group", _GROUP, mutates=True),  # SyncGroup
    15: Route("group", ("groups[]",), _TOOL),  # DescribeGroups
    16: Route("all", (), _TOOL),  # ListGroups
    17: Route("any", (), _EVERYONE),  # SaslHandshake
    18: Route("any", (), _EVERYONE),  # ApiVersions
    19: Route("controller", (), ("tool", "broker"), mutates=True),  # CreateTopics; brokers: those created on first use
    20: Route("controller", (), _TOOL, mutates=True),  # DeleteTopics
    21: Route("leader", _NAMED, _TOOL, mutates=True),  # DeleteRecords
    22: Route("transaction", _TRANSACTION, _CLIENTS, mutates=True),  # InitProducerId
    # OffsetForLeaderEpoch
    23: Route("leader", ("topics[].topic", "topics[].partitions[].partition"), ("client", "broker")),
    # AddPartitionsToTxn; brokers: to verify a transaction before they append
    24: Route(
        "transaction",
        ("v3_and_below_transactional_id|transactions[].transactional_id",),
        ("client", "broker"),
        mutates=True,
    ),
    25: Route("transaction", _TRANSACTION, mutates=True),  # AddOffsetsToTxn
    26: Route("transaction", _TRANSACTION, mutates=True),  # EndTxn
    # WriteTxnMarkers; tools: to abort a hanging transaction
    27: Route(
        "leader",
        ("markers[].topics[].name", "markers[].topics[].partition_indexes[]"),
        ("tool", "broker"),
        mutates=True,
    ),
    28: Route("group", _GROUP, mutates=True),  # TxnOffsetCommit: the group's coordinator, not the transaction's
    29: Route("any", (), _TOOL),  # DescribeAcls
    30: Route("controller", (), _TOOL, mutates=True),  # CreateAcls
    31: Route("controller", (), _TOOL, mutates=True),  # DeleteAcls
    32: Route("resource", _RESOURCES, _TOOL),  # DescribeConfigs
    33: Route("resource", _RESOURCES, _TOOL, mutates=True),  # AlterConfigs
    34: Route("any", (), _TOOL, mutates=True),  # AlterReplicaLogDirs: the broker that holds the replica
    35: Route("all", (), _TOOL),  # DescribeLogDirs
    36: Route("any", (), _EVERYONE),  # SaslAuthenticate
    37: Route("controller", (), _TOOL, mutates=True),  # CreatePartitions
    38: Route("controller", (), _TOOL, mutates=True),  # CreateDelegationToken
    39: Route("controller", (), _TOOL, mutates=True),  # RenewDelegationToken
    40: Route("controller", (), _TOOL, mutates=True),  # ExpireDelegationToken
    41: Route("any", (), _TOOL),  # DescribeDelegationToken
    42: Route("group", ("groups_names[]",), _TOOL, mutates=True),  # DeleteGroups
    43: Route("controller", (), _TOOL, mutates=True),  # ElectLeaders
    44: Route("resource", _RESOURCES, _TOOL, mutates=True),  # IncrementalAlterConfigs
    45: Route("controller", (), _TOOL, mutates=True),  # AlterPartitionReassignments
    46: Route("controller", (), _TOOL),  # ListPartitionReassignments
    47: Route("group", _GROUP, _TOOL, mutates=True),  # OffsetDelete
    48: Route("any", (), _TOOL),  # DescribeClientQuotas
    49: Route("controller", (), _TOOL, mutates=True),  # AlterClientQuotas
    50: Route("controller", (), _TOOL),  # DescribeUserScramCredentials
    51: Route("controller", (), _TOOL, mutates=True),  # AlterUserScramCredentials
    # Among the voters of a quorum; each is meant by the connection alone: Vote, BeginQuorumEpoch, EndQuorumEpoch.
    52: Route("any", (), _CONTROLLER, mutates=True),
    53: Route("any", (), _CONTROLLER, mutates=True),
    54: Route("any", (), _CONTROLLER, mutates=True),
    55: Route("controller", (), _TOOL),  # DescribeQuorum
    56: Route("controller", (), _BROKER, mutates=True),  # AlterPartition
    57: Route("controller", (), _TOOL, mutates=True),  # UpdateFeatures
    58: Route("controller", (), _BROKER, mutates=True),  # Envelope: carries any request
    59: Route("controller", (), ("broker", "controller")),  # FetchSnapshot
    60: Route("any", (), _TOOL),  # DescribeCluster
    61: Route("leader", ("topics[].name", "topics[].partition_indexes[]"), _TOOL),  # DescribeProducers
    62: Route("controller", (), _BROKER, mutates=True),  # BrokerRegistration
    63: Route("controller", (), _BROKER, mutates=True),  # BrokerHeartbeat
    64: Route("controller", (), _TOOL, mutates=True),  # UnregisterBroker
    65: Route("transaction", ("transactional_ids[]",), _TOOL),  # DescribeTransactions
    66: Route("all", (), _TOOL),  # ListTransactions
    67: Route("controller", (), _BROKER, mutates=True),  # AllocateProducerIds
    68: Route("group", _GROUP, mutates=True),  # ConsumerGroupHeartbeat
    69: Route("group", _GROUPS, _TOOL),  # ConsumerGroupDescribe
    70: Route("controller", (), _CONTROLLER, mutates=True),  # ControllerRegistration
    71: Route("any"),  # GetTelemetrySubscriptions
    72: Route("any", mutates=True),  # PushTelemetry
    73: Route("controller", (), _BROKER, mutates=True),  # AssignReplicasToDirs
    74: Route("any", (), _TOOL),  # ListConfigResources
    75: Route("any", (), _TOOL),  # DescribeTopicPartitions
    76: Route("group", _GROUP, mutates=True),  # ShareGroupHeartbeat
    77: Route("group", _GROUPS, _TOOL),  # ShareGroupDescribe
    78: Route("leader", _SHARED, mutates=True),  # ShareFetch: takes records out of others' reach
    79: Route("leader", _SHARED, mutates=True),  # ShareAcknowledge
    80: Route("controller", (), ("tool", "controller"), mutates=True),  # AddRaftVoter
    81: Route("controller", (), ("tool", "controller"), mutates=True),  # RemoveRaftVoter
    82: Route("controller", (), _CONTROLLER, mutates=True),  # UpdateRaftVoter
    83: Route("share", _STATE, _BROKER, mutates=True),  # InitializeShareGroupState
    84: Route("share", _STATE, _BROKER, mutates=True),  # ReadShareGroupState: notes a newer leader epoch
    85: Route("share", _STATE, _BROKER, mutates=True),  # WriteShareGroupState
    86: Route("share", _STATE, _BROKER, mutates=True),  # DeleteShareGroupState
    87: Route("share", _STATE, _BROKER),  # ReadShareGroupStateSummary
    88: Route("group", _GROUP, mutates=True),  # StreamsGroupHeartbeat
    89: Route("group", _GROUPS, _TOOL),  # StreamsGroupDescribe
    90: Route("group", ("groups[].group_id",), _TOOL),  # DescribeShareGroupOffsets
    91: Route("group", _GROUP, _TOOL, mutates=True),  # AlterShareGroupOffsets
    92: Route("group", _GROUP, _TOOL, mutates=True),  # DeleteShareGroupOffsets
    93: Route("group", _GROUP, mutates=True),  # StreamsGroupTopologyDescriptionUpdate
    94: Route("controller", (), _TOOL, mutates=True),  # UnregisterController
}
_UNKNOWN: Final = Route("any", sent_by=(), mutates=True)


def route(key: int) -> Route:
    """The row of an API; where the table has none, any node, and it may change something."""
    return ROUTES.get(key, _UNKNOWN)
