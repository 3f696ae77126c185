"""OffsetFetch: reads the committed offsets of groups (KIP-447 stable offsets, KIP-709 several groups at once,
KIP-848).
"""

DECLARATION = """
api 9 OffsetFetch
versions 0-10
flexible 6+
listeners broker
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
