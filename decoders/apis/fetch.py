"""Fetch: consumers and followers read record batches (KIP-227 sessions, KIP-320 epochs, KIP-392 racks, KIP-516 ids)."""

DECLARATION = """
api 1 Fetch
versions 0-18
flexible 12+
listeners broker controller
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
