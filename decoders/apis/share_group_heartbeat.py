"""ShareGroupHeartbeat: a member of a share group joins, stays and leaves (KIP-932)."""

DECLARATION = """
api 76 ShareGroupHeartbeat
versions 0-1
flexible 0+
listeners broker
route group group_id
sent by client
mutates
errors_listed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    INVALID_REQUEST UNKNOWN_MEMBER_ID GROUP_MAX_SIZE_REACHED TOPIC_AUTHORIZATION_FAILED GROUP_ID_NOT_FOUND
line group >group_id  → epoch <member_epoch  <assignment.topic_partitions[]/partitions:parts
    subscribes >subscribed_topic_names  >member_epoch:said:epoch  <member_id:member|>member_id:member
example
    # leaves
    {"group_id": "kw-example", "member_id": "kw-example", "member_epoch": -1, "rack_id": null,
     "subscribed_topic_names": null}
request
    group_id                string    0+  is groupId
    member_id               string    0+
    member_epoch            int32     0+  means member_epoch
    rack_id                 string    0+  null 0+  = null
    subscribed_topic_names  []string  0+  null 0+  = null  is topicName
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
"""
