"""ListOffsets: finds the offset for a timestamp, or the first and last one, of partitions (KIP-79, KIP-734,
KIP-405).
"""

DECLARATION = """
api 2 ListOffsets
versions 0-11
flexible 6+
listeners broker
was ListOffset
route leader topics[].name topics[].partitions[].partition_index
sent by client tool broker
errors_observed UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER LEADER_NOT_AVAILABLE REPLICA_NOT_AVAILABLE
    TOPIC_AUTHORIZATION_FAILED INVALID_REQUEST UNSUPPORTED_FOR_MESSAGE_FORMAT KAFKA_STORAGE_ERROR FENCED_LEADER_EPOCH
    UNKNOWN_LEADER_EPOCH OFFSET_NOT_AVAILABLE REQUEST_TIMED_OUT
example {"replica_id": -1, "isolation_level": 0, "topics": [], "timeout_ms": 30000}
request
    replica_id       int32     0+   is brokerId  means replica
    isolation_level  int8      2+   means isolation
    topics           []struct  0+
        name        string    0+  is topicName
        partitions  []struct  0+
            partition_index       int32  0+
            current_leader_epoch  int32  4+  = -1  ignorable  means epoch
            timestamp             int64  0+  means timestamp
            max_num_offsets       int32  0   = 1
    timeout_ms       int32     10+  ignorable
response
    throttle_time_ms  int32     2+  ignorable
    topics            []struct  0+
        name        string    0+  is topicName
        partitions  []struct  0+
            partition_index    int32    0+
            error_code         int16    0+
            old_style_offsets  []int64  0
            timestamp          int64    1+  = -1  means unknown
            offset             int64    1+  = -1  means offset
            leader_epoch       int32    4+  = -1  means epoch
"""
