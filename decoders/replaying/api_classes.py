"""An API key in, its class out: whether a recorded request may be sent again to another cluster.

- `read`: changes nothing; sent again by default.
- `data`: changes by producers and consumers: records, groups, offsets, transactions, share sessions, pushed metrics.
- `admin`: changes by tools: topics, configurations, ACLs, quotas, credentials, groups and offsets of other clients.
- `never`: logins and delegation tokens, which are secrets of one cluster; requests between brokers and controllers;
  requests that name parts of one cluster that another does not have (voters of a quorum by their directories).

The table is literal: an API without a row is never sent, and a test fails for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

__all__ = ["API_CLASSES", "CLASSES", "ApiClass", "api_class"]

ApiClass = Literal["read", "data", "admin", "never"]
CLASSES: Final[tuple[ApiClass, ...]] = get_args(ApiClass)

API_CLASSES: Final[Mapping[int, ApiClass]] = {
    0: "data",  # Produce
    1: "read",  # Fetch
    2: "read",  # ListOffsets
    3: "read",  # Metadata
    4: "never",  # LeaderAndIsr
    5: "never",  # StopReplica
    6: "never",  # UpdateMetadata
    7: "never",  # ControlledShutdown
    8: "data",  # OffsetCommit
    9: "read",  # OffsetFetch
    10: "read",  # FindCoordinator
    11: "data",  # JoinGroup
    12: "data",  # Heartbeat
    13: "data",  # LeaveGroup
    14: "data",  # SyncGroup
    15: "read",  # DescribeGroups
    16: "read",  # ListGroups
    17: "never",  # SaslHandshake
    18: "read",  # ApiVersions
    19: "admin",  # CreateTopics
    20: "admin",  # DeleteTopics
    21: "admin",  # DeleteRecords
    22: "data",  # InitProducerId
    23: "read",  # OffsetForLeaderEpoch
    24: "data",  # AddPartitionsToTxn
    25: "data",  # AddOffsetsToTxn
    26: "data",  # EndTxn
    27: "never",  # WriteTxnMarkers: a coordinator's, with its epoch
    28: "data",  # TxnOffsetCommit
    29: "read",  # DescribeAcls
    30: "admin",  # CreateAcls
    31: "admin",  # DeleteAcls
    32: "read",  # DescribeConfigs
    33: "admin",  # AlterConfigs
    34: "admin",  # AlterReplicaLogDirs
    35: "read",  # DescribeLogDirs
    36: "never",  # SaslAuthenticate
    37: "admin",  # CreatePartitions
    38: "never",  # CreateDelegationToken
    39: "never",  # RenewDelegationToken
    40: "never",  # ExpireDelegationToken
    41: "never",  # DescribeDelegationToken
    42: "admin",  # DeleteGroups
    43: "admin",  # ElectLeaders
    44: "admin",  # IncrementalAlterConfigs
    45: "admin",  # AlterPartitionReassignments
    46: "read",  # ListPartitionReassignments
    47: "admin",  # OffsetDelete
    48: "read",  # DescribeClientQuotas
    49: "admin",  # AlterClientQuotas
    50: "read",  # DescribeUserScramCredentials: which users have some, not what they are
    51: "admin",  # AlterUserScramCredentials
    52: "never",  # Vote
    53: "never",  # BeginQuorumEpoch
    54: "never",  # EndQuorumEpoch
    55: "read",  # DescribeQuorum
    56: "never",  # AlterPartition
    57: "admin",  # UpdateFeatures
    58: "never",  # Envelope
    59: "never",  # FetchSnapshot
    60: "read",  # DescribeCluster
    61: "read",  # DescribeProducers
    62: "never",  # BrokerRegistration
    63: "never",  # BrokerHeartbeat
    64: "admin",  # UnregisterBroker
    65: "read",  # DescribeTransactions
    66: "read",  # ListTransactions
    67: "never",  # AllocateProducerIds
    68: "data",  # ConsumerGroupHeartbeat
    69: "read",  # ConsumerGroupDescribe
    70: "never",  # ControllerRegistration
    71: "read",  # GetTelemetrySubscriptions
    72: "data",  # PushTelemetry
    73: "never",  # AssignReplicasToDirs
    74: "read",  # ListConfigResources
    75: "read",  # DescribeTopicPartitions
    76: "data",  # ShareGroupHeartbeat
    77: "read",  # ShareGroupDescribe
    78: "data",  # ShareFetch: takes records out of others' reach
    79: "data",  # ShareAcknowledge
    80: "never",  # AddRaftVoter: a voter is known by its directory
    81: "never",  # RemoveRaftVoter
    82: "never",  # UpdateRaftVoter
    83: "never",  # InitializeShareGroupState
    84: "never",  # ReadShareGroupState
    85: "never",  # WriteShareGroupState
    86: "never",  # DeleteShareGroupState
    87: "never",  # ReadShareGroupStateSummary
    88: "data",  # StreamsGroupHeartbeat
    89: "read",  # StreamsGroupDescribe
    90: "read",  # DescribeShareGroupOffsets
    91: "admin",  # AlterShareGroupOffsets
    92: "admin",  # DeleteShareGroupOffsets
    93: "data",  # StreamsGroupTopologyDescriptionUpdate
    94: "never",  # UnregisterController: a controller is known by its registration
}


def api_class(key: int) -> ApiClass:
    """The class of an API; `never` if the table lacks it."""
    return API_CLASSES.get(key, "never")
