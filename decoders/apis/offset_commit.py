"""OffsetCommit: a consumer group stores how far it has read (KIP-211, KIP-345 static members, KIP-848, KIP-516)."""

DECLARATION = """
api 8 OffsetCommit
versions 0-10
flexible 8+
listeners broker
request
    group_id                       string    0+   is groupId
    generation_id_or_member_epoch  int32     1+   = -1  ignorable  means generation  was generation_id
    member_id                      string    1+   ignorable
    group_instance_id              string    7+   null 7+  = null
    retention_time_ms              int64     2-4  = -1  ignorable  means broker_default
    topics                         []struct  0+
        name        string    0-9  ignorable  is topicName
        topic_id    uuid      10+  ignorable
        partitions  []struct  0+
            partition_index         int32   0+
            committed_offset        int64   0+  means offset
            commit_timestamp        int64   1   = -1  means broker_default
            committed_leader_epoch  int32   6+  = -1  ignorable  means epoch
            committed_metadata      string  0+  null 0+
response
    throttle_time_ms  int32     3+  ignorable
    topics            []struct  0+
        name        string    0-9  ignorable  is topicName
        topic_id    uuid      10+  ignorable
        partitions  []struct  0+
            partition_index  int32  0+
            error_code       int16  0+
"""
