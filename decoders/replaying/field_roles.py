"""A field in, its role in a replay out: fields with ids or offsets of one cluster, which are different in another.

Names of topics, groups, transactions and members are in the table of scrubbing (scrubbing/field_kinds.py); this table
has numbers and UUIDs. A field that has no role means the same in both clusters.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Literal

from decoders.scrubbing.field_kinds import kind_of_field

__all__ = ["ROLES", "Role", "find_field_role"]

# `volatile` differs between any two answers of the same broker, and is never compared. `sibling`: a name whose kind a
# sibling field says.
Role = Literal[
    "topic",
    "topic_id",
    "group",
    "transaction",
    "member",
    "generation",
    "producer",
    "producer_epoch",
    "sequence",
    "session",
    "session_epoch",
    "node",
    "nodes",
    "cluster",
    "epoch",
    "offset",
    "time",
    "address",
    "directory",
    "telemetry",
    "sibling",
    "volatile",
]

ROLES: Final[dict[Role, str]] = {
    "topic_id": "topic_id",
    "generation": "generation_id generation_id_or_member_epoch member_epoch group_epoch assignment_epoch",
    "producer": """
        producer_id v3_and_below_producer_id producer_id_filters ongoing_txn_producer_id
    """,
    "producer_epoch": "producer_epoch v3_and_below_producer_epoch ongoing_txn_producer_epoch",
    "sequence": "base_sequence last_sequence",
    "session": "session_id",
    "session_epoch": "session_epoch share_session_epoch",
    "node": """
        node_id broker_id leader_id controller_id preferred_read_replica replica_id current_voters.replica_id
        observers.replica_id
    """,
    "nodes": """
        broker_ids replicas replica_nodes isr_nodes offline_replicas eligible_leader_replicas last_known_elr
        adding_replicas removing_replicas brokers node_endpoints current_voters observers DescribeQuorumResponse.nodes
    """,
    "cluster": "cluster_id",
    "epoch": """
        leader_epoch current_leader_epoch last_fetched_epoch committed_leader_epoch partition_leader_epoch
        coordinator_epoch diverging_epoch.epoch snapshot_id.epoch finalized_features_epoch
        endpoint_information_epoch
    """,
    "offset": """
        offset fetch_offset committed_offset base_offset last_offset end_offset first_offset start_offset
        high_watermark low_watermark last_stable_offset log_start_offset log_end_offset current_txn_start_offset
        old_style_offsets offset_lag lag delivery_complete_count
    """,
    "time": """
        timestamp base_timestamp max_timestamp log_append_time_ms last_timestamp transaction_start_time_ms
        last_caught_up_timestamp last_fetch_timestamp commit_timestamp delete_horizon_ms
    """,
    "address": "host port rack client_host listeners",
    "directory": """
        log_dir replica_directory_id directory_id total_bytes usable_bytes partition_size crc
    """,
    "telemetry": "client_instance_id subscription_id",
    "volatile": "throttle_time_ms error_message acknowledge_error_message batch_index_error_message",
}
_BY_FIELD: Final[dict[str, Role]] = {name: role for role, names in ROLES.items() for name in names.split()}
_OF_KINDS: Final[dict[str, Role]] = {
    "topics": "topic",
    "groups": "group",
    "transactions": "transaction",
    "members": "member",
    "sibling": "sibling",
}
# Names that a client has chosen itself, and keeps: static members (KIP-345), processes of Streams.
_CHOSEN: Final = frozenset({"group_instance_id", "instance_id", "process_id"})


@cache
def find_field_role(owner: str, name: str) -> Role | None:
    """The role of a field, by its name and the name of the array, struct or message around it; None if it has none."""
    found = _BY_FIELD.get(f"{owner}.{name}") or _BY_FIELD.get(name)
    if found is not None or name in _CHOSEN:
        return found
    kind = kind_of_field(owner, f"{owner}.{name}")
    return None if kind is None else _OF_KINDS.get(kind)
