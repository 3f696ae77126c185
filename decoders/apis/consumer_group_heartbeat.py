"""ConsumerGroupHeartbeat: the one request with which a member of a new-protocol consumer group joins, stays and
leaves (KIP-848).
"""

DECLARATION = """
api 68 ConsumerGroupHeartbeat
versions 0-1
flexible 0+
listeners broker
route group group_id
sent by client
mutates
errors_listed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    INVALID_REQUEST UNKNOWN_MEMBER_ID FENCED_MEMBER_EPOCH UNSUPPORTED_ASSIGNOR UNRELEASED_INSTANCE_ID
    GROUP_MAX_SIZE_REACHED TOPIC_AUTHORIZATION_FAILED INVALID_REGULAR_EXPRESSION GROUP_ID_NOT_FOUND
line group >group_id  → epoch <member_epoch  <assignment.topic_partitions[]/partitions:parts
    subscribes >subscribed_topic_names  >subscribed_topic_regex  >server_assignor  >member_epoch:said:epoch
    <member_id:member|>member_id:member  >instance_id
example
    # epoch -1 leaves, 0 would join
    {"group_id": "kw-example", "member_id": "kw-example", "member_epoch": -1, "instance_id": null, "rack_id": null,
     "rebalance_timeout_ms": -1, "subscribed_topic_names": null, "subscribed_topic_regex": null,
     "server_assignor": null, "topic_partitions": null}
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
