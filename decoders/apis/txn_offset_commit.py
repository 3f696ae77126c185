"""TxnOffsetCommit: stores a group's offsets as part of a transaction (KIP-98, KIP-447)."""

DECLARATION = """
api 28 TxnOffsetCommit
versions 0-6
flexible 3+
listeners broker
route group group_id
    # the group's coordinator, not the transaction's
sent by client
mutates
errors_listed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    TOPIC_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED INVALID_PRODUCER_ID_MAPPING INVALID_PRODUCER_EPOCH
    PRODUCER_FENCED INVALID_TXN_STATE UNSUPPORTED_FOR_MESSAGE_FORMAT UNKNOWN_TOPIC_OR_PARTITION
    OFFSET_METADATA_TOO_LARGE ILLEGAL_GENERATION UNKNOWN_MEMBER_ID FENCED_INSTANCE_ID TRANSACTION_ABORTABLE
    GROUP_ID_NOT_FOUND STALE_MEMBER_EPOCH UNKNOWN_TOPIC_ID
errors_observed INVALID_GROUP_ID INVALID_COMMIT_OFFSET_SIZE CONCURRENT_TRANSACTIONS
line >transactional_id  group >group_id  >topics[]/partitions[].partition_index@committed_offset:parts
    pid >producer_id:known  epoch >producer_epoch:known
example
    {"transactional_id": "kw-example", "producer_id": -1, "producer_epoch": -1, "group_id": "kw-example",
     "generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": null, "topics": []}
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
