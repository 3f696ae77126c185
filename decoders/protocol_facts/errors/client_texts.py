"""The texts that client libraries write for error codes, as far as one says which code it is.

Kafka's Java client (all releases; kafkajs, franz-go and kafka-python write the same), Sarama, librdkafka (`Broker: …`
for codes of brokers, `Local: …` for its own). Long ones end where they are already unlike all others.
"""

from __future__ import annotations

from typing import Final

# Error code → the beginnings of texts.
CLIENT_TEXTS: Final[dict[int, tuple[str, ...]]] = {
    -1: (
        "The server experienced an unexpected error when processing the request",
        "Unexpected (unknown?) server error",
        "Unknown broker error",
    ),
    1: (
        "The requested offset is not within the range of offsets maintained by the server",
        "The requested offset is outside the range of offsets maintained by the server",
        "Broker: Offset out of range",
    ),
    2: (
        "The message contents does not match the message CRC or the message is otherwise corrupt",
        "This message has failed its CRC checksum, exceeds the valid size, or is otherwise corrupt",
        "This message has failed its CRC checksum, exceeds the valid size, has a null key for a",
        "Message contents does not match its CRC",
        "Broker: Invalid message",
    ),
    3: (
        "This server does not host this topic-partition",
        "Request was for a topic or partition that does not exist on this broker",
        "Broker: Unknown topic or partition",
    ),
    4: (
        "The requested fetch size is invalid",
        "The message has a negative size",
        "Broker: Invalid message size",
    ),
    5: (
        "There is no leader for this topic-partition as we are in the middle of a leadership election",
        "In the middle of a leadership election, there is currently no leader for this partition",
        "Broker: Leader not available",
    ),
    6: (
        "This server is not the leader for that topic-partition",
        "For requests intended only for the leader, this error indicates that the broker is not the",
        "Tried to send a message to a replica that is not the leader for some partition",
        "Broker: Not leader for partition",
    ),
    7: (
        "The request timed out",
        "Request exceeded the user-specified time limit in the request",
        "Broker: Request timed out",
    ),
    8: (
        "The broker is not available",
        "Broker not available. Not a client facing error",
        "Broker: Broker not available",
    ),
    9: (
        "The replica is not available for the requested topic-partition",
        "The replica is not available for the requested topic-partition. Produce/Fetch requests and",
        "Replica information not available, one or more brokers are down",
        "Broker: Replica not available",
    ),
    10: (
        "The request included a message larger than the max message size the server will accept",
        "Message was too large, server rejected it",
        "Broker: Message size too large",
    ),
    11: (
        "The controller moved to another broker",
        "StaleControllerEpochCode (internal error code for broker-to-broker communication)",
        "Broker: StaleControllerEpochCode",
    ),
    12: (
        "The metadata field of the offset request was too large",
        "Specified a string larger than the configured maximum for offset metadata",
        "Broker: Offset metadata string too large",
    ),
    13: (
        "The server disconnected before a response was received",
        "Broker: Broker disconnected before response received",
    ),
    14: (
        "The coordinator is loading and hence can't process requests for this group",
        "The coordinator is loading and hence can't process requests",
        "The coordinator is still loading offsets and cannot currently process requests",
        "Broker: Coordinator load in progress",
    ),
    15: (
        "The group coordinator is not available",
        "The coordinator is not available",
        "Broker: Coordinator not available",
    ),
    16: (
        "This is not the correct coordinator for this group",
        "This is not the correct coordinator",
        "Request was for a consumer group that is not coordinated by this broker",
        "Broker: Not coordinator",
    ),
    17: (
        "The request attempted to perform an operation on an invalid topic",
        "Broker: Invalid topic",
    ),
    18: (
        "The request included message batch larger than the configured segment size on the server",
        "Broker: Message batch larger than configured server segment size",
    ),
    19: (
        "Messages are rejected since there are fewer in-sync replicas than required",
        "Broker: Not enough in-sync replicas",
    ),
    20: (
        "Messages are written to the log, but to fewer in-sync replicas than required",
        "Broker: Message(s) written to insufficient number of in-sync replicas",
    ),
    21: (
        "Produce request specified an invalid value for required acks",
        "The number of required acks is invalid (should be either -1, 0, or 1)",
        "Broker: Invalid required acks value",
    ),
    22: (
        "Specified group generation id is not valid",
        "The provided generation id is not the current generation",
        "Broker: Specified group generation id is not valid",
    ),
    23: (
        "The group member's supported protocols are incompatible with those of existing members",
        "The group member's supported protocols are incompatible with those of existing members or",
        "The provider group protocol type is incompatible with the other members",
        "Broker: Inconsistent group protocol",
    ),
    24: (
        "The configured groupId is invalid",
        "The group id is invalid",
        "The provided group id was empty",
        "Broker: Invalid group.id",
    ),
    25: (
        "The coordinator is not aware of this member",
        "The provided member is not known in the current generation",
        "Broker: Unknown member",
    ),
    26: (
        "The session timeout is not within an acceptable range",
        "The session timeout is not within the range allowed by the broker (as configured by",
        "The provided session timeout is outside the allowed range",
        "Broker: Invalid session timeout",
    ),
    27: (
        "The group is rebalancing, so a rejoin is needed",
        "A rebalance for the group is in progress. Please re-join the group",
        "Broker: Group rebalance in progress",
    ),
    28: (
        "The committing offset data size is not valid",
        "The provided commit metadata was too large",
        "Broker: Commit offset data size is not valid",
    ),
    29: (
        "Not authorized to access topics: [Topic authorization failed.]",
        "Topic authorization failed",
        "The client is not authorized to access this topic",
        "Broker: Topic authorization failed",
    ),
    30: (
        "Not authorized to access group: Group authorization failed",
        "Group authorization failed",
        "The client is not authorized to access this group",
        "Broker: Group authorization failed",
    ),
    31: (
        "Cluster authorization failed",
        "The client is not authorized to send this request type",
        "Broker: Cluster authorization failed",
    ),
    32: (
        "The timestamp of the message is out of acceptable range",
        "Broker: Invalid timestamp",
    ),
    33: (
        "The broker does not support the requested SASL mechanism",
        "Broker: Unsupported SASL mechanism",
    ),
    34: (
        "Request is not valid given the current SASL state",
        "Broker: Request not valid in current SASL state",
    ),
    35: (
        "The version of API is not supported",
        "Broker: API version not supported",
    ),
    36: (
        "Topic with this name already exists",
        "Broker: Topic already exists",
    ),
    37: (
        "Number of partitions is invalid",
        "Number of partitions is below 1",
        "Broker: Invalid number of partitions",
    ),
    38: (
        "Replication-factor is invalid",
        "Replication factor is below 1 or larger than the number of available brokers",
        "Broker: Invalid replication factor",
    ),
    39: (
        "Replica assignment is invalid",
        "Broker: Invalid replica assignment",
    ),
    40: (
        "Configuration is invalid",
        "Broker: Configuration is invalid",
    ),
    41: (
        "This is not the correct controller for this cluster",
        "Broker: Not controller for cluster",
    ),
    42: (
        "This most likely occurs because of a request being malformed by the client library or the",
        "Broker: Invalid request",
    ),
    43: (
        "The message format version on the broker does not support the request",
        "The requested operation is not supported by the message format version",
        "Broker: Message format on broker does not support request",
    ),
    44: (
        "Request parameters do not satisfy the configured policy",
        "Broker: Policy violation",
    ),
    45: (
        "The broker received an out of order sequence number",
        "Broker: Broker received an out of order sequence number",
    ),
    46: (
        "The broker received a duplicate sequence number",
        "Broker: Broker received a duplicate sequence number",
    ),
    47: (
        "Producer attempted an operation with an old epoch. Either there is a newer producer with",
        "Producer attempted to produce with an old epoch",
        "Broker: Producer attempted an operation with an old epoch",
    ),
    48: (
        "The producer attempted a transactional operation in an invalid state",
        "Broker: Producer attempted a transactional operation in an invalid state",
    ),
    49: (
        "The producer attempted to use a producer id which is not currently assigned to its",
        "Broker: Producer attempted to use a producer id which is not currently assigned to its",
    ),
    50: (
        "The transaction timeout is larger than the maximum value allowed by the broker (as",
        "Broker: Transaction timeout is larger than the maximum value allowed by the broker's",
    ),
    51: (
        "The producer attempted to update a transaction while another concurrent operation on the",
        "Broker: Producer attempted to update a transaction while another concurrent operation on",
    ),
    52: (
        "Indicates that the transaction coordinator sending a WriteTxnMarker is no longer the",
        "Broker: Indicates that the transaction coordinator sending a WriteTxnMarker is no longer",
    ),
    53: (
        "Transactional Id authorization failed",
        "Broker: Transactional Id authorization failed",
    ),
    54: (
        "Security features are disabled",
        "Broker: Security features are disabled",
    ),
    55: (
        "The broker did not attempt to execute this operation. This may happen for batched RPCs",
        "Broker: Operation not attempted",
    ),
    56: (
        "Disk error when trying to access log file on the disk",
        "Broker: Disk error when trying to access log file on disk",
    ),
    57: (
        "The user-specified log directory is not found in the broker config",
        "Broker: The user-specified log directory is not found in the broker config",
    ),
    58: (
        "SASL Authentication failed",
        "Broker: SASL Authentication failed",
    ),
    59: (
        "This exception is raised by the broker if it could not locate the producer metadata",
        "The broker could not locate the producer metadata associated with the Producer ID",
        "Broker: Unknown Producer Id",
    ),
    60: (
        "A partition reassignment is in progress",
        "Broker: Partition reassignment is in progress",
    ),
    61: (
        "Delegation Token feature is not enabled",
        "Broker: Delegation Token feature is not enabled",
    ),
    62: (
        "Delegation Token is not found on server",
        "Broker: Delegation Token is not found on server",
    ),
    63: (
        "Specified Principal is not valid Owner/Renewer",
        "Broker: Specified Principal is not valid Owner/Renewer",
    ),
    64: (
        "Delegation Token requests are not allowed on PLAINTEXT/1-way SSL channels and on delegation",
        "Broker: Delegation Token requests are not allowed on this connection",
    ),
    65: (
        "Delegation Token authorization failed",
        "Broker: Delegation Token authorization failed",
    ),
    66: (
        "Delegation Token is expired",
        "Broker: Delegation Token is expired",
    ),
    67: (
        "Supplied principalType is not supported",
        "Broker: Supplied principalType is not supported",
    ),
    68: (
        "The group The group is not empty is not empty",
        "The group is not empty",
        "Broker: The group is not empty",
    ),
    69: (
        "The group id The group id does not exist was not found",
        "The group id does not exist",
        "Broker: The group id does not exist",
    ),
    70: (
        "The fetch session ID was not found",
        "Broker: The fetch session ID was not found",
    ),
    71: (
        "The fetch session epoch is invalid",
        "Broker: The fetch session epoch is invalid",
    ),
    72: (
        "There is no listener on the leader broker that matches the listener on which metadata",
        "Broker: No matching listener",
    ),
    73: (
        "Topic deletion is disabled",
        "Broker: Topic deletion is disabled",
    ),
    74: (
        "The leader epoch in the request is older than the epoch on the broker",
        "Broker: Leader epoch is older than broker epoch",
    ),
    75: (
        "The leader epoch in the request is newer than the epoch on the broker",
        "Broker: Leader epoch is newer than broker epoch",
    ),
    76: (
        "The requesting client does not support the compression type of given partition",
        "Broker: Unsupported compression type",
    ),
    77: (
        "Broker epoch has changed",
        "Broker: Broker epoch has changed",
    ),
    78: (
        "The leader high watermark has not caught up from a recent leader election so the offsets",
        "The leader high watermark has not caught up from a recent leader election",
        "Broker: Leader high watermark is not caught up",
    ),
    79: (
        "The group member needs to have a valid member id before actually entering a consumer group",
        "Broker: Group member needs a valid member ID",
    ),
    80: (
        "The preferred leader was not available",
        "Broker: Preferred leader was not available",
    ),
    81: (
        "Consumer group The consumer group has reached its max size. already has the configured",
        "The consumer group has reached its max size",
        "The group has reached its maximum size",
        "Broker: Consumer group has reached maximum size",
    ),
    82: (
        "The broker rejected this static consumer since another consumer with the same",
        "Broker: Static consumer fenced by other consumer with same group.instance.id",
    ),
    83: (
        "Eligible topic partition leaders are not available",
        "Broker: Eligible partition leaders are not available",
    ),
    84: (
        "Leader election not needed for topic partition",
        "Broker: Leader election not needed for topic partition",
    ),
    85: (
        "No partition reassignment is in progress",
        "Broker: No partition reassignment is in progress",
    ),
    86: (
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to",
        "Broker: Deleting offsets of a topic while the consumer group is subscribed to it",
    ),
    87: (
        "This record has failed the validation on broker and hence be rejected",
        "This record has failed the validation on broker and hence will be rejected",
        "Broker: Broker failed to validate record",
    ),
    88: (
        "There are unstable offsets that need to be cleared",
        "Broker: There are unstable offsets that need to be cleared",
    ),
    89: (
        "The throttling quota has been exceeded",
        "Broker: Throttling quota has been exceeded",
    ),
    90: (
        "There is a newer producer with the same transactionalId which fences the current one",
        "Broker: There is a newer producer with the same transactionalId which fences the current one",
    ),
    91: (
        "A request illegally referred to a resource that does not exist",
        "Broker: Request illegally referred to resource that does not exist",
    ),
    92: (
        "A request illegally referred to the same resource twice",
        "Broker: Request illegally referred to the same resource twice",
    ),
    93: (
        "Requested credential would not meet criteria for acceptability",
        "Broker: Requested credential would not meet criteria for acceptability",
    ),
    94: (
        "Indicates that the either the sender or recipient of a voter-only request is not one of the",
        "Broker: Indicates that the either the sender or recipient of a voter-only request is not",
    ),
    95: (
        "The given update version was invalid",
        "Broker: Invalid update version",
    ),
    96: (
        "Unable to update finalized features due to an unexpected server error",
        "Broker: Unable to update finalized features due to server error",
    ),
    97: (
        "Request principal deserialization failed during forwarding. This indicates an internal",
        "Broker: Request principal deserialization failed during forwarding",
    ),
    98: ("Requested snapshot was not found",),
    99: ("Requested position is not greater than or equal to zero, and less than the size of the",),
    100: (
        "This server does not host this topic ID",
        "Broker: Unknown topic id",
    ),
    101: ("This broker ID is already in use",),
    102: ("The given broker ID was not registered",),
    103: (
        "The log's topic ID did not match the topic ID in the request",
        "Broker: The log's topic ID did not match the topic ID in the request",
    ),
    104: ("The clusterId in the request does not match that found on the server",),
    105: ("The transactionalId could not be found",),
    106: ("The fetch session encountered inconsistent topic ID usage",),
    107: ("The new ISR contains at least one ineligible replica",),
    108: ("The AlterPartition request successfully updated the partition state but the leader has",),
    109: ("The requested offset is moved to tiered storage",),
    110: (
        "The member epoch is fenced by the group coordinator. The member must abandon all its",
        "Broker: The member epoch is fenced by the group coordinator",
    ),
    111: (
        "The instance ID is still used by another member in the consumer group. That member must",
        "Broker: The instance ID is still used by another member in the consumer group",
    ),
    112: (
        "The assignor or its version range is not supported by the consumer group",
        "Broker: The assignor or its version range is not supported by the consumer group",
    ),
    113: (
        "The member epoch is stale. The member must retry after receiving its updated member epoch",
        "Broker: The member epoch is stale",
    ),
    114: (
        "The request was sent to an endpoint of the wrong type",
        "Broker: The request was sent to an endpoint of the wrong type",
    ),
    115: (
        "This endpoint type is not supported yet",
        "Broker: This endpoint type is not supported yet",
    ),
    116: (
        "This controller ID is not known",
        "Broker: This controller ID is not known",
    ),
    117: (
        "Client sent a push telemetry request with an invalid or outdated subscription ID",
        "Broker: Client sent a push telemetry request with an invalid or outdated subscription ID",
    ),
    118: (
        "Client sent a push telemetry request larger than the maximum size the broker will accept",
        "Broker: Client sent a push telemetry request larger than the maximum size the broker will",
    ),
    119: (
        "The controller has considered the broker registration to be invalid",
        "Broker: The controller has considered the broker registration to be invalid",
    ),
    120: (
        "The server encountered an error with the transaction. The client can abort the transaction",
        "Broker: The server encountered an error with the transaction",
    ),
    121: (
        "The record state is invalid. The acknowledgement of delivery could not be completed",
        "Broker: The record state is invalid",
    ),
    122: (
        "The share session was not found",
        "Broker: The share session was not found",
    ),
    123: (
        "The share session epoch is invalid",
        "Broker: The share session epoch is invalid",
    ),
    124: (
        "The share coordinator rejected the request because the share-group state epoch did not match",
        "The coordinator rejected the request because the state epoch did not match",
        "Broker: The share-group state epoch did not match",
    ),
    125: (
        "The voter key doesn't match the receiving replica's key",
        "Broker: The voter key doesn't match the receiving replica's key",
    ),
    126: (
        "The voter is already part of the set of voters",
        "Broker: The voter is already part of the set of voters",
    ),
    127: (
        "The voter is not part of the set of voters",
        "Broker: The voter is not part of the set of voters",
    ),
    128: (
        "The regular expression is not valid",
        "Broker: The regular expression is not valid",
    ),
    129: (
        "Client metadata is stale, client should rebootstrap to obtain new metadata",
        "Client metadata is stale. The client should rebootstrap to obtain new metadata",
        "Broker: Client metadata is stale, client should rebootstrap to obtain new metadata",
    ),
    130: (
        "The supplied topology is invalid",
        "Broker: The supplied topology is invalid",
    ),
    131: (
        "The supplied topology epoch is invalid",
        "Broker: The supplied topology epoch is invalid",
    ),
    132: (
        "The supplied topology epoch is outdated",
        "Broker: The supplied topology epoch is outdated",
    ),
    133: (
        "The limit of share sessions has been reached",
        "Broker: The limit of share sessions has been reached",
    ),
    134: ("DeleteGroups could not complete; see the error message on the per-group result for details",),
    135: ("The broker could not process the topology description update; see the error message for",),
    136: ("The given controller ID was not registered",),
    -199: ("Local: Bad message format",),
    -198: ("Local: Invalid compressed data",),
    -197: ("Local: Broker handle destroyed for termination",),
    -196: ("Local: Communication failure with broker",),
    -195: ("Local: Broker transport failure",),
    -194: ("Local: Critical system resource failure",),
    -193: ("Local: Host resolution failure",),
    -192: ("Local: Message timed out",),
    -191: ("Broker: No more messages",),
    -190: ("Local: Unknown partition",),
    -189: ("Local: File or filesystem error",),
    -188: ("Local: Unknown topic",),
    -187: ("Local: All broker connections are down",),
    -186: ("Local: Invalid argument or configuration",),
    -185: ("Local: Timed out",),
    -184: ("Local: Queue full",),
    -183: ("Local: ISR count insufficient",),
    -182: ("Local: Broker node update",),
    -181: ("Local: SSL error",),
    -180: ("Local: Waiting for coordinator",),
    -179: ("Local: Unknown group",),
    -178: ("Local: Operation in progress",),
    -177: ("Local: Previous operation in progress",),
    -176: ("Local: Existing subscription",),
    -175: ("Local: Assign partitions",),
    -174: ("Local: Revoke partitions",),
    -173: ("Local: Conflicting use",),
    -172: ("Local: Erroneous state",),
    -171: ("Local: Unknown protocol",),
    -170: ("Local: Not implemented",),
    -169: ("Local: Authentication failure",),
    -168: ("Local: No offset stored",),
    -167: ("Local: Outdated",),
    -166: ("Local: Timed out in queue",),
    -165: ("Local: Required feature not supported by broker",),
    -164: ("Local: Awaiting cache update",),
    -163: ("Local: Operation interrupted",),
    -162: ("Local: Key serialization error",),
    -161: ("Local: Value serialization error",),
    -160: ("Local: Key deserialization error",),
    -159: ("Local: Value deserialization error",),
    -158: ("Local: Partial response",),
    -157: ("Local: Read-only object",),
    -156: ("Local: No such entry",),
    -155: ("Local: Read underflow",),
    -154: ("Local: Invalid type",),
    -153: ("Local: Retry operation",),
    -152: ("Local: Purged in queue",),
    -151: ("Local: Purged in flight",),
    -150: ("Local: Fatal error",),
    -149: ("Local: Inconsistent state",),
    -148: ("Local: Gap-less ordering would not be guaranteed if proceeding",),
    -147: ("Local: Maximum application poll interval (max.poll.interval.ms) exceeded",),
    -146: ("Local: Unknown broker",),
    -145: ("Local: Functionality not configured",),
    -144: ("Local: This instance has been fenced by a newer instance",),
    -143: ("Local: Application generated error",),
    -142: ("Local: Group partition assignment lost",),
    -141: ("Local: No operation performed",),
    -140: ("Local: No offset to automatically reset to",),
    -139: ("Local: Partition log truncation detected",),
    -138: ("Local: an invalid record in the same batch caused the failure of this message too",),
    -137: ("Local: Broker handle destroyed without termination",),
}
