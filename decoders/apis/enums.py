"""What the numbers in fields of a closed set stand for, in Kafka's own words where it has some."""

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
_MATCH: Final = {0: "exact", 1: "default", 2: "any"}
_MEMBER: Final = {-1: "unknown", 0: "classic", 1: "consumer"}
_ACQUIRE: Final = {0: "batch_optimized", 1: "record_limit"}

# API key → path of the field, in either direction → what its numbers stand for. Of timestamps only the negative ones.
ENUMS: Final[dict[int, dict[str, dict[int, str]]]] = {
    0: {"acks": _ACKS},
    1: {"isolation_level": _ISOLATION},
    2: {"isolation_level": _ISOLATION, "topics[].partitions[].timestamp": _TIMESTAMP},
    4: {"topic_states[].partition_states[].leader_recovery_state": _RECOVERY},
    10: {"key_type": _KEY},
    19: {"topics[].configs[].config_source": _CONFIG_SOURCE},
    29: {
        "resource_type_filter": _ACL_RESOURCE,
        "pattern_type_filter": _PATTERN,
        "operation": _OPERATION,
        "permission_type": _PERMISSION,
        "resources[].resource_type": _ACL_RESOURCE,
        "resources[].pattern_type": _PATTERN,
        "resources[].acls[].operation": _OPERATION,
        "resources[].acls[].permission_type": _PERMISSION,
    },
    30: {
        "creations[].resource_type": _ACL_RESOURCE,
        "creations[].resource_pattern_type": _PATTERN,
        "creations[].operation": _OPERATION,
        "creations[].permission_type": _PERMISSION,
    },
    31: {
        "filters[].resource_type_filter": _ACL_RESOURCE,
        "filters[].pattern_type_filter": _PATTERN,
        "filters[].operation": _OPERATION,
        "filters[].permission_type": _PERMISSION,
        "filter_results[].matching_acls[].resource_type": _ACL_RESOURCE,
        "filter_results[].matching_acls[].pattern_type": _PATTERN,
        "filter_results[].matching_acls[].operation": _OPERATION,
        "filter_results[].matching_acls[].permission_type": _PERMISSION,
    },
    32: {
        "resources[].resource_type": _CONFIG_RESOURCE,
        "results[].resource_type": _CONFIG_RESOURCE,
        "results[].configs[].config_source": _CONFIG_SOURCE,
        "results[].configs[].synonyms[].source": _CONFIG_SOURCE,
        "results[].configs[].config_type": _CONFIG_TYPE,
    },
    33: {"resources[].resource_type": _CONFIG_RESOURCE, "responses[].resource_type": _CONFIG_RESOURCE},
    43: {"election_type": _ELECTION},
    44: {
        "resources[].resource_type": _CONFIG_RESOURCE,
        "resources[].configs[].config_operation": _CONFIG_OPERATION,
        "responses[].resource_type": _CONFIG_RESOURCE,
    },
    48: {"components[].match_type": _MATCH},
    50: {"results[].credential_infos[].mechanism": _MECHANISM},
    51: {"deletions[].mechanism": _MECHANISM, "upsertions[].mechanism": _MECHANISM},
    56: {
        "topics[].partitions[].leader_recovery_state": _RECOVERY,
    },
    57: {"feature_updates[].upgrade_type": _UPGRADE},
    60: {"endpoint_type": _ENDPOINT},
    69: {"groups[].members[].member_type": _MEMBER},
    71: {"accepted_compression_types": _COMPRESSION},
    72: {"compression_type": _COMPRESSION},
    74: {"resource_types": _CONFIG_RESOURCE, "config_resources[].resource_type": _CONFIG_RESOURCE},
    78: {
        "share_acquire_mode": _ACQUIRE,
        "topics[].partitions[].acknowledgement_batches[].acknowledge_types": _ACKNOWLEDGE,
    },
    79: {"topics[].partitions[].acknowledgement_batches[].acknowledge_types": _ACKNOWLEDGE},
}
