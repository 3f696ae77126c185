"""OffsetForLeaderEpoch: asks where a leader epoch ended, to detect truncation (KIP-101, KIP-320)."""

DECLARATION = """
api 23 OffsetForLeaderEpoch
versions 0-4
flexible 4+
listeners broker
route leader topics[].topic topics[].partitions[].partition
sent by client broker
errors_observed UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER TOPIC_AUTHORIZATION_FAILED
    CLUSTER_AUTHORIZATION_FAILED FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH KAFKA_STORAGE_ERROR
line >topics[]/partitions[].partition:parts  → end <topics[].partitions[].end_offset
example {"replica_id": -1, "topics": []}
request
    replica_id  int32     3+  = -2  ignorable  is brokerId  means replica
    topics      []struct  0+
        topic       string    0+  key  is topicName  was name
        partitions  []struct  0+
            partition             int32  0+  was partition_index
            current_leader_epoch  int32  2+  = -1  ignorable  means epoch
            leader_epoch          int32  0+  means epoch
response
    throttle_time_ms  int32     2+  ignorable
    topics            []struct  0+
        topic       string    0+  key  is topicName  was name
        partitions  []struct  0+
            error_code    int16  0+
            partition     int32  0+  was partition_index
            leader_epoch  int32  1+  = -1  ignorable  means epoch
            end_offset    int64  0+  = -1  means unknown
"""
