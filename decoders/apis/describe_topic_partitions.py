"""DescribeTopicPartitions: shows topics' partitions in pages, with their eligible leader replicas (KIP-966)."""

DECLARATION = """
api 75 DescribeTopicPartitions
versions 0
flexible 0+
listeners broker
route any
sent by tool
errors_observed TOPIC_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION INVALID_TOPIC_EXCEPTION LEADER_NOT_AVAILABLE
    LISTENER_NOT_FOUND INVALID_REQUEST
line <topics[]:topics|>topics[]:topics  → <topics[].partitions[].partition_index:count:partition
    more from <next_cursor.topic_name
example {"topics": [], "response_partition_limit": 2000, "cursor": null}
    # of all topics
request
    topics                    []struct  0+
        name  string  0+  is topicName
    response_partition_limit  int32     0+  = 2000
    cursor                    struct    0+  null 0+  = null
        topic_name       string  0+  is topicName
        partition_index  int32   0+
response
    throttle_time_ms  int32     0+  ignorable
    topics            []struct  0+
        error_code                   int16     0+
        name                         string    0+  null 0+  key  is topicName
        topic_id                     uuid      0+  ignorable
        is_internal                  bool      0+  ignorable
        partitions                   []struct  0+
            error_code                int16    0+
            partition_index           int32    0+
            leader_id                 int32    0+  is brokerId  means broker
            leader_epoch              int32    0+  = -1  ignorable  means epoch
            replica_nodes             []int32  0+  is brokerId
            isr_nodes                 []int32  0+  is brokerId
            eligible_leader_replicas  []int32  0+  null 0+  = null  is brokerId
            last_known_elr            []int32  0+  null 0+  = null  is brokerId
            offline_replicas          []int32  0+  ignorable  is brokerId
        topic_authorized_operations  int32     0+  = -2147483648  means operations
    next_cursor       struct    0+  null 0+  = null
        topic_name       string  0+  is topicName
        partition_index  int32   0+
"""
