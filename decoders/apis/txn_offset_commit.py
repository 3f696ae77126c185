"""TxnOffsetCommit: stores a group's offsets as part of a transaction (KIP-98, KIP-447)."""

DECLARATION = """
api 28 TxnOffsetCommit
versions 0-6
flexible 3+
listeners broker
request
    transactional_id               string    0+  is transactionalId
    group_id                       string    0+  is groupId
    producer_id                    int64     0+  is producerId  means producer
    producer_epoch                 int16     0+  means producer
    generation_id_or_member_epoch  int32     3+  = -1  means generation  was generation_id
    member_id                      string    3+
    group_instance_id              string    3+  null 3+  = null
    topics                         []struct  0+
        name        string    0-5  ignorable  is topicName
        topic_id    uuid      6+   ignorable
        partitions  []struct  0+
            partition_index         int32   0+
            committed_offset        int64   0+  means offset
            committed_leader_epoch  int32   2+  = -1  ignorable  means epoch
            committed_metadata      string  0+  null 0+
response
    throttle_time_ms  int32     0+
    topics            []struct  0+
        name        string    0-5  ignorable  is topicName
        topic_id    uuid      6+   ignorable
        partitions  []struct  0+
            partition_index  int32  0+
            error_code       int16  0+
"""
