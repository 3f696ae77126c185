"""Words for numbers of fields, in Kafka's own words where it has some: closed sets, and numbers that mean no number.

The word `means` of a declaration names the set of a field.
"""

from __future__ import annotations

from typing import Final

_ACL_RESOURCE: Final = {
    0: "unknown",
    1: "any",
    2: "topic",
    3: "group",
    4: "cluster",
    5: "transactional_id",
    6: "delegation_token",
    7: "user",
}
_PATTERN: Final = {0: "unknown", 1: "any", 2: "match", 3: "literal", 4: "prefixed"}
_OPERATION: Final = {
    0: "unknown",
    1: "any",
    2: "all",
    3: "read",
    4: "write",
    5: "create",
    6: "delete",
    7: "alter",
    8: "describe",
    9: "cluster_action",
    10: "describe_configs",
    11: "alter_configs",
    12: "idempotent_write",
    13: "create_tokens",
    14: "describe_tokens",
    15: "two_phase_commit",
}
_PERMISSION: Final = {0: "unknown", 1: "any", 2: "deny", 3: "allow"}
_CONFIG_RESOURCE: Final = {
    0: "unknown",
    2: "topic",
    4: "broker",
    8: "broker_logger",
    16: "client_metrics",
    32: "group",
}
_CONFIG_SOURCE: Final = {
    0: "unknown",
    1: "topic_config",
    2: "dynamic_broker_config",
    3: "dynamic_default_broker_config",
    4: "static_broker_config",
    5: "default_config",
    6: "dynamic_broker_logger_config",
    7: "client_metrics_config",
    8: "group_config",
}
_CONFIG_TYPE: Final = {
    0: "unknown",
    1: "boolean",
    2: "string",
    3: "int",
    4: "short",
    5: "long",
    6: "double",
    7: "list",
    8: "class",
    9: "password",
}
_CONFIG_OPERATION: Final = {0: "set", 1: "delete", 2: "append", 3: "subtract"}
_ISOLATION: Final = {0: "read_uncommitted", 1: "read_committed"}
_MECHANISM: Final = {0: "unknown", 1: "scram_sha_256", 2: "scram_sha_512"}
_ENDPOINT: Final = {1: "broker", 2: "controller"}
_UPGRADE: Final = {0: "unknown", 1: "upgrade", 2: "safe_downgrade", 3: "unsafe_downgrade"}
_ACKNOWLEDGE: Final = {0: "gap", 1: "accept", 2: "release", 3: "reject", 4: "renew"}
_COMPRESSION: Final = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
_RECOVERY: Final = {0: "recovered", 1: "recovering"}
_ELECTION: Final = {0: "preferred", 1: "unclean"}
_KEY: Final = {0: "group", 1: "transaction", 2: "share"}
_ACKS: Final = {-1: "all", 0: "none", 1: "leader"}
_TIMESTAMP: Final = {
    -1: "latest",
    -2: "earliest",
    -3: "max_timestamp",
    -4: "earliest_local",
    -5: "latest_tiered",
    -6: "earliest_pending_upload",
}
_BROKER: Final = {-1: "none"}
_LEADER: Final = {-1: "none", -2: "during_delete"}
_EPOCH: Final = {-1: "none"}
_STOPPED_EPOCH: Final = {-1: "none", -2: "during_delete"}
_REPLICA: Final = {-1: "consumer", -2: "debugging_consumer", -3: "future_local_replica"}
_SESSION_EPOCH: Final = {0: "initial", -1: "final"}
_MEMBER_EPOCH: Final = {0: "join", -1: "leave", -2: "leave_static"}
_LEADER_AND_ISR: Final = {0: "unknown", 1: "incremental", 2: "full"}
_MATCH: Final = {0: "exact", 1: "default", 2: "any"}
_MEMBER: Final = {-1: "unknown", 0: "classic", 1: "consumer"}
_SECURITY_PROTOCOL: Final = {0: "plaintext", 1: "ssl", 2: "sasl_plaintext", 3: "sasl_ssl"}
_DELIVERY: Final = {0: "available", 1: "acquired", 2: "acknowledged", 3: "archiving", 4: "archived"}
_STREAMS_STATUS: Final = {
    0: "stale_topology",
    1: "missing_source_topics",
    2: "incorrectly_partitioned_topics",
    3: "missing_internal_topics",
    4: "shutdown_application",
    5: "assignment_delayed",
    6: "missing_client_tags",
}
_TOPOLOGY_STATUS: Final = {0: "not_requested", 1: "not_stored", 2: "error", 3: "available"}
_TOPOLOGY_NODE: Final = {1: "source", 2: "processor", 3: "sink"}
# A follower that knows no high watermark, and one that has no such feature (KIP-1166).
_KNOWN_HIGH_WATERMARK: Final = {-1: "unknown", (1 << 63) - 1: "unsupported"}
_MEMBER_STATE: Final = {0: "stable", 1: "unrevoked_partitions", 2: "unreleased_partitions", 127: "unknown"}
_STREAMS_MEMBER_STATE: Final = {1: "stable", 2: "unrevoked_tasks", 3: "unreleased_tasks", 127: "unknown"}
_TRANSACTION_STATUS: Final = {
    0: "empty",
    1: "ongoing",
    2: "prepare_commit",
    3: "prepare_abort",
    4: "complete_commit",
    5: "complete_abort",
    6: "dead",
    7: "prepare_epoch_fence",
}
_FENCING: Final = {1: "fence", 0: "none", -1: "unfence"}
_CONTROLLED_SHUTDOWN: Final = {0: "none", 1: "in_controlled_shutdown"}
_ZK_MIGRATION: Final = {0: "none", 1: "pre_migration", 2: "migration", 3: "post_migration"}
_REMOTE_SEGMENT: Final = {
    0: "copy_segment_started",
    1: "copy_segment_finished",
    2: "delete_segment_started",
    3: "delete_segment_finished",
}
_REMOTE_DELETE: Final = {
    0: "delete_partition_marked",
    1: "delete_partition_started",
    2: "delete_partition_finished",
}
_ACQUIRE: Final = {0: "batch_optimized", 1: "record_limit"}

ENUMS: Final[dict[str, dict[int, str]]] = {
    "acknowledge": _ACKNOWLEDGE,
    "acks": _ACKS,
    "acl_resource": _ACL_RESOURCE,
    "acquire": _ACQUIRE,
    "any": {-1: "any"},
    "append_time": {-1: "create_time"},
    "broker": _BROKER,
    "broker_default": {-1: "broker_default"},
    "changed_leader": {-1: "none", -2: "unchanged"},
    "changed_recovery": {**_RECOVERY, -1: "unchanged"},
    "compression": _COMPRESSION,
    "config_operation": _CONFIG_OPERATION,
    "config_resource": _CONFIG_RESOURCE,
    "config_source": _CONFIG_SOURCE,
    "config_type": _CONFIG_TYPE,
    "controlled_shutdown": _CONTROLLED_SHUTDOWN,
    "coordinator": _KEY,
    "delivery": _DELIVERY,
    "election": _ELECTION,
    "endpoint": _ENDPOINT,
    "epoch": _EPOCH,
    "stopped_epoch": _STOPPED_EPOCH,
    "expiry": {-1: "now"},
    "feature_level": {0: "delete"},
    "fencing": _FENCING,
    "generation": {-1: "no_group"},
    "high_watermark": {-1: "high_watermark"},
    "isolation": _ISOLATION,
    "known_high_watermark": _KNOWN_HIGH_WATERMARK,
    "leader": _LEADER,
    "leader_and_isr": _LEADER_AND_ISR,
    "lifetime": {0: "unlimited"},
    "match": _MATCH,
    "mechanism": _MECHANISM,
    "member": _MEMBER,
    "member_epoch": _MEMBER_EPOCH,
    "member_state": _MEMBER_STATE,
    "none": {-1: "none"},
    "offset": {-1: "none"},
    "operation": _OPERATION,
    "pattern": _PATTERN,
    "permission": _PERMISSION,
    "producer": {-1: "none"},
    "recovery": _RECOVERY,
    "remote_delete": _REMOTE_DELETE,
    "remote_segment": _REMOTE_SEGMENT,
    "replica": _REPLICA,
    "security_protocol": _SECURITY_PROTOCOL,
    "session": {0: "none"},
    "session_epoch": _SESSION_EPOCH,
    "streams_member_state": _STREAMS_MEMBER_STATE,
    "streams_status": _STREAMS_STATUS,
    "timestamp": _TIMESTAMP,
    "topology_node": _TOPOLOGY_NODE,
    "topology_status": _TOPOLOGY_STATUS,
    "transaction_status": _TRANSACTION_STATUS,
    "unchanged": {-1: "unchanged"},
    "unknown": {-1: "unknown"},
    "upgrade": _UPGRADE,
    "zero_default": {0: "broker_default"},
    "zk_migration": _ZK_MIGRATION,
}
# Fields with a bit for each member of a set: the set, and the number that stands for no answer (KIP-430).
BITS: Final[dict[str, tuple[dict[int, str], int, str]]] = {
    "operations": (_OPERATION, -(1 << 31), "not_asked_for"),
}


def word_for_number(number_set: str, number: int) -> str | None:
    """The word for a number in a field of this set (`means`), or the words for its bits; None where it has none."""
    bits = BITS.get(number_set)
    if bits is None:
        return ENUMS[number_set].get(number) if number_set else None
    known, unasked, text = bits
    if number == unasked:
        return text
    rest = number & 0xFFFF_FFFF
    words = []
    while rest:
        bit = (rest & -rest).bit_length() - 1
        words.append(known.get(bit, f"bit_{bit}"))
        rest &= rest - 1
    return ",".join(words) or "none"
