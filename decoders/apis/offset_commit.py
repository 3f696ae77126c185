"""OffsetCommit: a consumer group stores how far it has read (KIP-211, KIP-345 static members, KIP-848, KIP-516)."""

DECLARATION = """
api 8 OffsetCommit
versions 0-10
flexible 8+
listeners broker
route group group_id
sent by client tool
mutates
errors_listed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    ILLEGAL_GENERATION UNKNOWN_MEMBER_ID INVALID_COMMIT_OFFSET_SIZE FENCED_MEMBER_EPOCH GROUP_ID_NOT_FOUND
    STALE_MEMBER_EPOCH UNKNOWN_TOPIC_ID
errors_observed TOPIC_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION OFFSET_METADATA_TOO_LARGE INVALID_GROUP_ID
    REBALANCE_IN_PROGRESS FENCED_INSTANCE_ID
line group >group_id  >topics[]/partitions[].partition_index@committed_offset:parts
    gen >generation_id_or_member_epoch:known  >member_id:member
example
    {"group_id": "kw-example", "generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": null,
     "retention_time_ms": -1, "topics": []}
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
