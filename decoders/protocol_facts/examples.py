"""A request of each API that a broker answers and that does no harm: what is sent where nothing else is said.

A row is a request in JSON form with the newest names. A version takes the fields that it has, so a row may hold those
of all versions side by side; `name@VERSIONS` is the value in these versions, where it cannot be that of the others.

Rules: an id is -1 and never 0 (a schema's 0 is a real broker), a name is one that nothing has, time-outs are 30 s,
waits half a second; what would change something finds nothing to change. Arrays are empty, unless a broker hangs up on
it (AddPartitionsToTxn; FetchSnapshot, which would even end one), or the request would ask for nothing at all
(FindCoordinator, OffsetFetch; DescribeQuorum, whose only topic this is), or null means everything and only looks.

One is not without trace: a controller takes every ControllerRegistration and keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from decoders.protocol_facts.names import known_fields
from decoders.schema.model import Api, Versions

__all__ = ["EXAMPLES", "NAME", "ON_CONTROLLER", "example"]

NAME: Final = "kw-example"
_ID: Final = "kw-example-kw-exampleA"  # a uuid that nothing has
_TIMEOUT: Final = 30_000
_WAIT: Final = 500
_BYTES: Final = 50 << 20

# What a ZooKeeper controller says of itself: one of long ago.
_FORMER: Final = {"controller_id": -1, "is_kraft_controller": False, "controller_epoch": -1, "broker_epoch": -1}
_PRODUCER: Final = {"transactional_id": NAME, "producer_id": -1, "producer_epoch": -1}
_MEMBER: Final = {"group_id": NAME, "generation_id": -1, "member_id": NAME, "group_instance_id": None}
_OFFSETS: Final = {"group_id": NAME, "generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}
_STATE: Final = {"group_id": NAME, "topics": []}
# A quorum refuses what comes from another cluster before it looks at the rest.
_ELSEWHERE: Final = {"cluster_id": NAME, "voter_id": -1}
_SHARE_MEMBER: Final = {"group_id": NAME, "member_id": _ID, "share_session_epoch": -1, "is_renew_ack": False}
# A controller that lacks one of them would keep the cluster from upgrading it.
_FEATURES: Final = (
    "metadata.version",
    "kraft.version",
    "transaction.version",
    "group.version",
    "eligible.leader.replicas.version",
    "share.version",
    "streams.version",
)

EXAMPLES: Final[dict[int, Mapping[str, Any]]] = {
    # Produce
    0: {"transactional_id": None, "acks": -1, "timeout_ms": _TIMEOUT, "topic_data": []},
    # Fetch, outside any session
    1: {
        "replica_id": -1,
        "max_wait_ms": _WAIT,
        "min_bytes": 1,
        "max_bytes": _BYTES,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [],
        "forgotten_topics_data": [],
        "rack_id": "",
    },
    # ListOffsets
    2: {"replica_id": -1, "isolation_level": 0, "topics": [], "timeout_ms": _TIMEOUT},
    # Metadata, of all topics
    3: {
        "topics": None,
        "topics@0": [],
        "allow_auto_topic_creation": False,
        "include_cluster_authorized_operations": False,
        "include_topic_authorized_operations": False,
    },
    # LeaderAndIsr, StopReplica, UpdateMetadata: type 1 is a change, 2 would be the whole
    4: {**_FORMER, "type": 1, "ungrouped_partition_states": [], "topic_states": [], "live_leaders": []},
    5: {**_FORMER, "delete_partitions": False, "ungrouped_partitions": [], "topics": [], "topic_states": []},
    6: {**_FORMER, "type": 1, "ungrouped_partition_states": [], "topic_states": [], "live_brokers": []},
    # ControlledShutdown
    7: {"broker_id": -1, "broker_epoch": -1},
    # OffsetCommit
    8: {**_OFFSETS, "retention_time_ms": -1, "topics": []},
    # OffsetFetch, of all that the group has
    9: {
        "group_id": NAME,
        "topics": None,
        "topics@0-1": [],
        "groups": [{"group_id": NAME, "member_id": None, "member_epoch": -1, "topics": None}],
        "require_stable": False,
    },
    # FindCoordinator: type 0 is a group's
    10: {"key": NAME, "key_type": 0, "coordinator_keys": [NAME]},
    # JoinGroup: with an empty member id it would become one
    11: {
        "group_id": NAME,
        "session_timeout_ms": _TIMEOUT,
        "rebalance_timeout_ms": _TIMEOUT,
        "member_id": NAME,
        "group_instance_id": None,
        "protocol_type": "consumer",
        "protocols": [],
        "reason": None,
    },
    # Heartbeat
    12: _MEMBER,
    # LeaveGroup
    13: {"group_id": NAME, "member_id": NAME, "members": []},
    # SyncGroup
    14: {**_MEMBER, "protocol_type": "consumer", "protocol_name": "range", "assignments": []},
    # DescribeGroups
    15: {"groups": [], "include_authorized_operations": False},
    # ListGroups
    16: {"states_filter": [], "types_filter": []},
    # SaslHandshake
    17: {"mechanism": "PLAIN"},
    # ApiVersions
    18: {"client_software_name": "kw", "client_software_version": "1", "cluster_id": None, "node_id": -1},
    # CreateTopics
    19: {"topics": [], "timeout_ms": _TIMEOUT, "validate_only": False},
    # DeleteTopics
    20: {"topics": [], "topic_names": [], "timeout_ms": _TIMEOUT},
    # DeleteRecords
    21: {"topics": [], "timeout_ms": _TIMEOUT},
    # InitProducerId, without a transactional id
    22: {
        "transactional_id": None,
        "transaction_timeout_ms": _TIMEOUT,
        "producer_id": -1,
        "producer_epoch": -1,
        "enable2_pc": False,
        "keep_prepared_txn": False,
    },
    # OffsetForLeaderEpoch
    23: {"replica_id": -1, "topics": []},
    # AddPartitionsToTxn
    24: {
        "transactions": [{**_PRODUCER, "verify_only": True, "topics": []}],
        "v3_and_below_transactional_id": NAME,
        "v3_and_below_producer_id": -1,
        "v3_and_below_producer_epoch": -1,
        "v3_and_below_topics": [],
    },
    # AddOffsetsToTxn
    25: {**_PRODUCER, "group_id": NAME},
    # EndTxn
    26: {**_PRODUCER, "committed": False},
    # WriteTxnMarkers
    27: {"markers": []},
    # TxnOffsetCommit
    28: {**_PRODUCER, **_OFFSETS, "topics": []},
    # DescribeAcls: 1 is any
    29: {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    },
    # CreateAcls, DeleteAcls
    30: {"creations": []},
    31: {"filters": []},
    # DescribeConfigs, AlterConfigs
    32: {"resources": [], "include_synonyms": False, "include_documentation": False},
    33: {"resources": [], "validate_only": False},
    # AlterReplicaLogDirs, DescribeLogDirs
    34: {"dirs": []},
    35: {"topics": None},
    # SaslAuthenticate
    36: {"auth_bytes": ""},
    # CreatePartitions
    37: {"topics": [], "timeout_ms": _TIMEOUT, "validate_only": False},
    # CreateDelegationToken: one that ends soon
    38: {"owner_principal_type": None, "owner_principal_name": None, "renewers": [], "max_lifetime_ms": _TIMEOUT},
    # RenewDelegationToken, ExpireDelegationToken, DescribeDelegationToken
    39: {"hmac": NAME, "renew_period_ms": -1},
    40: {"hmac": NAME, "expiry_time_period_ms": -1},
    41: {"owners": None},
    # DeleteGroups
    42: {"groups_names": []},
    # ElectLeaders: type 0 is the preferred one; null would be all partitions
    43: {"election_type": 0, "topic_partitions": [], "timeout_ms": _TIMEOUT},
    # IncrementalAlterConfigs
    44: {"resources": [], "validate_only": False},
    # AlterPartitionReassignments, ListPartitionReassignments
    45: {"timeout_ms": _TIMEOUT, "allow_replication_factor_change": True, "topics": []},
    46: {"timeout_ms": _TIMEOUT, "topics": None},
    # OffsetDelete
    47: {"group_id": NAME, "topics": []},
    # DescribeClientQuotas, AlterClientQuotas
    48: {"components": [], "strict": False},
    49: {"entries": [], "validate_only": False},
    # DescribeUserScramCredentials, AlterUserScramCredentials
    50: {"users": []},
    51: {"deletions": [], "upsertions": []},
    # Vote, BeginQuorumEpoch, EndQuorumEpoch
    52: {**_ELSEWHERE, "topics": []},
    53: {**_ELSEWHERE, "topics": [], "leader_endpoints": []},
    54: {"cluster_id": NAME, "topics": [], "leader_endpoints": []},
    # DescribeQuorum
    55: {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]},
    # AlterPartition
    56: {"broker_id": -1, "broker_epoch": -1, "topics": []},
    # UpdateFeatures
    57: {"timeout_ms": _TIMEOUT, "feature_updates": [], "validate_only": False},
    # Envelope: of nobody
    58: {"request_data": "", "request_principal": "", "client_host_address": ""},
    # FetchSnapshot
    59: {
        "cluster_id": NAME,
        "replica_id": -1,
        "max_bytes": _BYTES,
        "topics": [
            {
                "name": NAME,
                "partitions": [
                    {
                        "partition": -1,
                        "current_leader_epoch": -1,
                        "snapshot_id": {"end_offset": -1, "epoch": -1},
                        "position": -1,
                    }
                ],
            }
        ],
    },
    # DescribeCluster: type 1 is brokers
    60: {"include_cluster_authorized_operations": False, "endpoint_type": 1, "include_fenced_brokers": False},
    # DescribeProducers
    61: {"topics": []},
    # BrokerRegistration
    62: {
        "broker_id": -1,
        "cluster_id": NAME,
        "incarnation_id": _ID,
        "listeners": [],
        "features": [],
        "rack": None,
        "is_migrating_zk_broker": False,
        "log_dirs": [],
        "previous_broker_epoch": -1,
    },
    # BrokerHeartbeat
    63: {
        "broker_id": -1,
        "broker_epoch": -1,
        "current_metadata_offset": -1,
        "want_fence": False,
        "want_shut_down": False,
    },
    # UnregisterBroker
    64: {"broker_id": -1},
    # DescribeTransactions, ListTransactions
    65: {"transactional_ids": []},
    66: {"state_filters": [], "producer_id_filters": [], "duration_filter": -1, "transactional_id_pattern": None},
    # AllocateProducerIds
    67: {"broker_id": -1, "broker_epoch": -1},
    # ConsumerGroupHeartbeat: epoch -1 leaves, 0 would join
    68: {
        "group_id": NAME,
        "member_id": NAME,
        "member_epoch": -1,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout_ms": -1,
        "subscribed_topic_names": None,
        "subscribed_topic_regex": None,
        "server_assignor": None,
        "topic_partitions": None,
    },
    # ConsumerGroupDescribe
    69: {"group_ids": [], "include_authorized_operations": False},
    # ControllerRegistration: always accepted, so of one that is in nobody's way
    70: {
        "controller_id": -1,
        "incarnation_id": _ID,
        "zk_migration_ready": False,
        "listeners": [],
        "features": [{"name": name, "min_supported_version": 0, "max_supported_version": 32767} for name in _FEATURES],
    },
    # GetTelemetrySubscriptions, PushTelemetry
    71: {"client_instance_id": _ID},
    72: {"client_instance_id": _ID, "subscription_id": -1, "terminating": False, "compression_type": 0, "metrics": ""},
    # AssignReplicasToDirs
    73: {"broker_id": -1, "broker_epoch": -1, "directories": []},
    # ListConfigResources: all types
    74: {"resource_types": []},
    # DescribeTopicPartitions, of all topics
    75: {"topics": [], "response_partition_limit": 2000, "cursor": None},
    # ShareGroupHeartbeat: leaves
    76: {"group_id": NAME, "member_id": NAME, "member_epoch": -1, "rack_id": None, "subscribed_topic_names": None},
    # ShareGroupDescribe
    77: {"group_ids": [], "include_authorized_operations": False},
    # ShareFetch, ShareAcknowledge: the end of a session
    78: {
        **_SHARE_MEMBER,
        "max_wait_ms": _WAIT,
        "min_bytes": 1,
        "max_bytes": _BYTES,
        "max_records": 500,
        "batch_size": 500,
        "share_acquire_mode": 0,
        "topics": [],
        "forgotten_topics_data": [],
    },
    79: {**_SHARE_MEMBER, "topics": []},
    # AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter
    80: {**_ELSEWHERE, "timeout_ms": _TIMEOUT, "voter_directory_id": _ID, "listeners": [], "ack_when_committed": True},
    81: {**_ELSEWHERE, "voter_directory_id": _ID},
    82: {
        **_ELSEWHERE,
        "current_leader_epoch": -1,
        "voter_directory_id": _ID,
        "listeners": [],
        "kraft_version_feature": {"min_supported_version": 0, "max_supported_version": 1},
    },
    # InitializeShareGroupState, ReadShareGroupState, Write…, Delete…, Read…Summary
    83: _STATE,
    84: _STATE,
    85: _STATE,
    86: _STATE,
    87: _STATE,
    # StreamsGroupHeartbeat: leaves
    88: {
        "group_id": NAME,
        "member_id": NAME,
        "member_epoch": -1,
        "endpoint_information_epoch": -1,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout_ms": -1,
        "topology": None,
        "active_tasks": None,
        "standby_tasks": None,
        "warmup_tasks": None,
        "process_id": None,
        "user_endpoint": None,
        "client_tags": None,
        "task_offsets": None,
        "task_end_offsets": None,
        "shutdown_application": False,
    },
    # StreamsGroupDescribe
    89: {"group_ids": [], "include_authorized_operations": False, "include_topology_description": False},
    # DescribeShareGroupOffsets, AlterShareGroupOffsets, DeleteShareGroupOffsets
    90: {"groups": []},
    91: {"group_id": NAME, "topics": []},
    92: {"group_id": NAME, "topics": []},
    # StreamsGroupTopologyDescriptionUpdate
    93: {
        "group_id": NAME,
        "member_id": NAME,
        "topology_epoch": -1,
        "topology_description": {"subtopologies": [], "global_stores": []},
    },
    # UnregisterController
    94: {"controller_id": -1},
}

# What is different where a controller's own listener is asked: there is no partition but the log of the quorum (epoch 0
# lies behind every leader's, -1 it would not look at), and endpoints of type 2 are controllers.
ON_CONTROLLER: Final[dict[int, Mapping[str, Any]]] = {
    1: {
        "topics": [
            {
                "topic": "__cluster_metadata",
                "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ",
                "partitions": [
                    {
                        "partition": 0,
                        "current_leader_epoch": 0,
                        "fetch_offset": 0,
                        "last_fetched_epoch": 0,
                        "log_start_offset": -1,
                        "partition_max_bytes": 1 << 20,
                    }
                ],
            }
        ],
    },
    60: {"endpoint_type": 2},
}


def example(api: Api, version: int, *, controller: bool = False) -> dict[str, Any]:
    """A request in JSON form that is answered and does no harm; the caller may change it.

    `controller`: for a controller's own listener, where a few APIs have to ask for something else.
    """
    row = EXAMPLES.get(api.key, {})
    if controller:
        row = {**row, **ON_CONTROLLER.get(api.key, {})}
    return known_fields(api.request.fields, version, _at(row, version))


def _at(value: Any, version: int) -> Any:
    """A row, or a part of one, for a version: each `name@VERSIONS` stands under its plain name, or is left out."""
    if isinstance(value, list):
        return [_at(element, version) for element in value]
    if not isinstance(value, Mapping):
        return value
    found = {name: _at(inner, version) for name, inner in value.items() if "@" not in name}
    for name, inner in value.items():
        plain, marked, versions = name.partition("@")
        if marked and version in Versions.parse(versions):
            found[plain] = _at(inner, version)
    return found
