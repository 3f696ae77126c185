"""ConsumerGroupHeartbeat: the one request with which a member of a new-protocol consumer group joins, stays and
leaves (KIP-848).
"""

DECLARATION = """
api 68 ConsumerGroupHeartbeat
versions 0-1
flexible 0+
listeners broker
request
    group_id                string    0+  is groupId
    member_id               string    0+
    member_epoch            int32     0+  means member_epoch
    instance_id             string    0+  null 0+  = null
    rack_id                 string    0+  null 0+  = null
    rebalance_timeout_ms    int32     0+  = -1  means unchanged
    subscribed_topic_names  []string  0+  null 0+  = null  is topicName
    subscribed_topic_regex  string    1+  null 1+  = null
    server_assignor         string    0+  null 0+  = null
    topic_partitions        []struct  0+  null 0+  = null
        topic_id    uuid     0+
        partitions  []int32  0+
response
    throttle_time_ms       int32   0+
    error_code             int16   0+
    error_message          string  0+  null 0+  = null
    member_id              string  0+  null 0+  = null
    member_epoch           int32   0+  means member_epoch
    heartbeat_interval_ms  int32   0+
    assignment             struct  0+  null 0+  = null
        topic_partitions  []struct  0+
            topic_id    uuid     0+
            partitions  []int32  0+
early request 0 in 3.5 3.6
    group_id                string    0+  is groupId
    member_id               string    0+
    member_epoch            int32     0+  means member_epoch
    instance_id             string    0+  null 0+  = null
    rack_id                 string    0+  null 0+  = null
    rebalance_timeout_ms    int32     0+  = -1  means unchanged
    subscribed_topic_names  []string  0+  null 0+  = null  is topicName
    subscribed_topic_regex  string    0+  null 0+  = null
    server_assignor         string    0+  null 0+  = null
    client_assignors        []struct  0+  null 0+  = null
        name              string  0+
        minimum_version   int16   0+
        maximum_version   int16   0+
        reason            int8    0+
        metadata_version  int16   0+
        metadata_bytes    bytes   0+
    topic_partitions        []struct  0+  null 0+  = null
        topic_id    uuid     0+
        partitions  []int32  0+
early response 0 in 3.5 3.6
    throttle_time_ms           int32   0+
    error_code                 int16   0+
    error_message              string  0+  null 0+  = null
    member_id                  string  0+  null 0+  = null
    member_epoch               int32   0+  means member_epoch
    should_compute_assignment  bool    0+
    heartbeat_interval_ms      int32   0+
    assignment                 struct  0+  null 0+  = null
        error                      int8      0+
        assigned_topic_partitions  []struct  0+
            topic_id    uuid     0+
            partitions  []int32  0+
        pending_topic_partitions   []struct  0+
            topic_id    uuid     0+
            partitions  []int32  0+
        metadata_version           int16     0+
        metadata_bytes             bytes     0+
"""
