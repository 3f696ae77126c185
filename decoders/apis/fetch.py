"""Fetch: consumers and followers read record batches (KIP-227 sessions, KIP-320 epochs, KIP-392 racks, KIP-516 ids)."""

DECLARATION = """
api 1 Fetch
versions 0-18
flexible 12+
listeners broker controller
route leader topics[].topic|topics[].topic_id topics[].partitions[].partition
sent by client broker controller
errors_observed OFFSET_OUT_OF_RANGE CORRUPT_MESSAGE UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER
    REPLICA_NOT_AVAILABLE TOPIC_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED INVALID_REQUEST KAFKA_STORAGE_ERROR
    FETCH_SESSION_ID_NOT_FOUND INVALID_FETCH_SESSION_EPOCH FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH OFFSET_NOT_AVAILABLE
    UNSUPPORTED_COMPRESSION_TYPE UNKNOWN_TOPIC_ID INCONSISTENT_TOPIC_ID INCONSISTENT_CLUSTER_ID
    FETCH_SESSION_TOPIC_ID_ERROR OFFSET_MOVED_TO_TIERED_STORAGE
errors_expected
    FETCH_SESSION_ID_NOT_FOUND (KIP-227) the broker forgot the fetch session, as it may at any time: the client sends a
        full fetch
    INVALID_FETCH_SESSION_EPOCH (KIP-227) the fetch session went on without the client: it sends a full fetch
    OFFSET_MOVED_TO_TIERED_STORAGE (KIP-405) a follower is told that this part of the log is in the remote tier
example
    # outside any session; of a controller the log of the quorum: epoch 0 lies behind every leader's, -1 it
    # would not look at
    {"replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 52428800, "isolation_level": 0, "session_id": 0,
     "session_epoch": -1, "topics": [], "forgotten_topics_data": [], "rack_id": "",
     "topics@controller": [{"topic": "__cluster_metadata", "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ",
     "partitions": [{"partition": 0, "current_leader_epoch": 0, "fetch_offset": 0, "last_fetched_epoch": 0,
     "log_start_offset": -1, "partition_max_bytes": 1048576}]}]}
request
    cluster_id             string    12+   null 12+  tag 0  = null  ignorable
    replica_id             int32     0-14  = -1  is brokerId  means replica
    replica_state          struct    15+   tag 1
        replica_id     int32  15+  = -1  is brokerId  means replica
        replica_epoch  int64  15+  = -1  means epoch
    max_wait_ms            int32     0+    was max_wait
    min_bytes              int32     0+
    max_bytes              int32     3+    = 2147483647  ignorable
    isolation_level        int8      4+    ignorable  means isolation
    session_id             int32     7+    ignorable  means session
    session_epoch          int32     7+    = -1  ignorable  means session_epoch  was epoch
    topics                 []struct  0+
        topic       string    0-12  ignorable  is topicName  was name
        topic_id    uuid      13+   ignorable
        partitions  []struct  0+    was fetch_partitions
            partition             int32  0+   was partition_index
            current_leader_epoch  int32  9+   = -1  ignorable  means epoch
            fetch_offset          int64  0+
            last_fetched_epoch    int32  12+  = -1  means epoch
            log_start_offset      int64  5+   = -1  ignorable  means unknown
            partition_max_bytes   int32  0+   was max_bytes
            replica_directory_id  uuid   17+  tag 0  ignorable
            high_watermark        int64  18+  tag 1  = 9223372036854775807  ignorable  means known_high_watermark
    forgotten_topics_data  []struct  7+    was forgotten
        topic       string   7-12  ignorable  is topicName  was name
        topic_id    uuid     13+   ignorable
        partitions  []int32  7+    was forgotten_partition_indexes
    rack_id                string    11+   ignorable
response
    throttle_time_ms  int32     1+   ignorable
    error_code        int16     7+   ignorable
    session_id        int32     7+   means session
    responses         []struct  0+   was topics
        topic       string    0-12  ignorable  is topicName  was name
        topic_id    uuid      13+   ignorable
        partitions  []struct  0+    was partition_responses
            partition_index         int32     0+   was partition
            error_code              int16     0+
            high_watermark          int64     0+   means unknown
            last_stable_offset      int64     4+   = -1  ignorable  means unknown
            log_start_offset        int64     5+   = -1  ignorable  means unknown
            diverging_epoch         struct    12+  tag 0
                epoch       int32  12+  = -1  means epoch
                end_offset  int64  12+  = -1  means unknown
            current_leader          struct    12+  tag 1
                leader_id     int32  12+  = -1  is brokerId  means broker
                leader_epoch  int32  12+  = -1  means epoch
            snapshot_id             struct    12+  tag 2  since 2.8
                end_offset  int64  12+  = -1  means unknown
                epoch       int32  12+  = -1  means epoch
            aborted_transactions    []struct  4+   null 4+  ignorable  was aborted
                producer_id   int64  4+  is producerId  means producer
                first_offset  int64  4+
            preferred_read_replica  int32     11+  = -1  is brokerId  means broker
            records                 records   0+   null 0+  = null  was record_set
    node_endpoints    []struct  16+  tag 0
        node_id  int32   16+  key  is brokerId
        host     string  16+
        port     int32   16+
        rack     string  16+  null 16+  = null
"""
