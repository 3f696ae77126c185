"""OffsetFetch: reads the committed offsets of groups (KIP-447 stable offsets, KIP-709 several groups at once,
KIP-848).
"""

DECLARATION = """
api 9 OffsetFetch
versions 0-10
flexible 6+
listeners broker
route group group_id|groups[].group_id
sent by client tool
errors_listed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    GROUP_ID_NOT_FOUND UNSTABLE_OFFSET_COMMIT UNKNOWN_MEMBER_ID STALE_MEMBER_EPOCH UNKNOWN_TOPIC_ID
errors_observed TOPIC_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION
line group >group_id|>groups[].group_id  <groups[].topics[]/partitions[].partition_index@committed_offset:parts
    |<topics[]/partitions[].partition_index@committed_offset:parts|>groups[].topics[]/partition_indexes:parts
    |>topics[]/partition_indexes:parts  >require_stable:flag:stable
example
    # of all that the group has
    {"group_id": "kw-example", "topics": null, "topics@0-1": [], "groups": [{"group_id": "kw-example",
     "member_id": null, "member_epoch": -1, "topics": null}], "require_stable": false}
request
    group_id        string    0-7  is groupId
    topics          []struct  0-7  null 2-7
        name               string   0-7  is topicName
        partition_indexes  []int32  0-7
    groups          []struct  8+
        group_id      string    8+  is groupId
        member_id     string    9+  null 9+  = null  ignorable
        member_epoch  int32     9+  = -1  ignorable  means generation
        topics        []struct  8+  null 8+
            name               string   8-9  ignorable  is topicName
            topic_id           uuid     10+  ignorable
            partition_indexes  []int32  8+
    require_stable  bool      7+
response
    throttle_time_ms  int32     3+   ignorable
    topics            []struct  0-7
        name        string    0-7  is topicName
        partitions  []struct  0-7
            partition_index         int32   0-7
            committed_offset        int64   0-7  means offset
            committed_leader_epoch  int32   5-7  = -1  ignorable  means epoch
            metadata                string  0-7  null 0-7
            error_code              int16   0-7
    error_code        int16     2-7  ignorable
    groups            []struct  8+
        group_id    string    8+  is groupId
        topics      []struct  8+
            name        string    8-9  ignorable  is topicName
            topic_id    uuid      10+  ignorable
            partitions  []struct  8+
                partition_index         int32   8+
                committed_offset        int64   8+  means offset
                committed_leader_epoch  int32   8+  = -1  ignorable  means epoch
                metadata                string  8+  null 8+
                error_code              int16   8+
        error_code  int16     8+
"""
