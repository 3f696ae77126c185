"""What an element of a request's array holds where nothing is said: the numbers that mean none, by the field's name.

A schema's own default is 0, which names a real broker, partition or epoch, and for CreateTopics an impossible count.
Fields with a declared default keep it, texts stay empty (a broker refuses them, it does not invent a topic), arrays
that may be null are, and a name with its API before it counts before the name alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from decoders.schema.api_declaration import Api, Field

__all__ = ["ELEMENTS", "make_initial_array_element"]

ELEMENTS: Final[dict[str, Any]] = {
    # Who and which
    "broker_id": -1,
    "candidate_id": -1,
    "id": -1,
    "index": -1,
    "leader": -1,
    "leader_id": -1,
    "partition": -1,
    "partition_index": -1,
    "producer_id": -1,
    "replica_id": -1,
    # Epochs
    "controller_epoch": -1,
    "coordinator_epoch": -1,
    "current_leader_epoch": -1,
    "epoch": -1,
    "last_offset_epoch": -1,
    "leader_epoch": -1,
    "partition_epoch": -1,
    "producer_epoch": -1,
    "replica_epoch": -1,
    "state_epoch": -1,
    "zk_version": -1,
    # Offsets; a time of -1 is the end of the log, and so would be the -1 of DeleteRecords
    "committed_offset": -1,
    "end_offset": -1,
    "fetch_offset": 0,
    "first_offset": -1,
    "last_offset": -1,
    "offset": -1,
    "DeleteRecords.offset": 0,
    "position": 0,
    "start_offset": -1,
    "timestamp": -1,
    # Counts and sizes; -1 is what the broker's settings say, and in a topology of Streams 0 is
    "count": -1,
    "num_partitions": -1,
    "replication_factor": -1,
    "partitions": 0,
    "StreamsGroupHeartbeat.replication_factor": 0,
    "delivery_count": 1,
    "iterations": 4096,
    "partition_max_bytes": 1 << 20,
    # Ports
    "port": 9092,
    "v0_port": 9092,
    # Enumerations: a topic, read, allow; set; plaintext; SCRAM-SHA-256; any name; a source
    "resource_type": 2,
    "resource_type_filter": 2,
    "operation": 3,
    "permission_type": 3,
    "config_operation": 0,
    "security_protocol": 0,
    "mechanism": 1,
    "match_type": 2,
    "node_type": 1,
    "delivery_state": 0,
    "leader_recovery_state": 0,
    "transaction_version": 0,
    # Features
    "min_supported_version": 1,
    "max_supported_version": 1,
    "max_version_level": 1,
    # Yes and no
    "allow_downgrade": False,
    "delete_partition": False,
    "is_new": False,
    "pre_vote": False,
    "remove": False,
    "transaction_result": False,
    "verify_only": True,
    # Texts that are nearly always these
    "CreateAcls.host": "*",
    "DeleteAcls.host_filter": "*",
    "principal_type": "User",
    "entity_type": "user",
    # Texts that would be one too many: beside an id, and where any name will do
    "Metadata.name": None,
    "match": None,
}


def make_initial_array_element(api: Api, fields: Sequence[Field], version: int) -> dict[str, Any]:
    """The initial values of an array's new element with these fields; fields that are missing take their default."""
    made: dict[str, Any] = {}
    for field in fields:
        if version not in field.versions:
            continue
        nullable = version in field.nullable
        if field.array:
            if nullable and not field.has_default:
                made[field.name] = None
        elif field.fields:
            if not nullable and version not in field.tagged:
                made[field.name] = make_initial_array_element(api, field.fields, version)
        elif not field.has_default and field.kind not in ("uuid", "bytes", "records"):
            name = f"{api.name}.{field.name}"
            name = name if name in ELEMENTS else field.name
            if name in ELEMENTS and (nullable or ELEMENTS[name] is not None):
                made[field.name] = ELEMENTS[name]
    return made
