"""ListOffsets: finds the offset for a timestamp, or the first and last one, of partitions (KIP-79, KIP-734,
KIP-405).
"""

DECLARATION = """
api 2 ListOffsets
versions 0-11
flexible 6+
listeners broker
was ListOffset
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
