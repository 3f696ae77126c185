"""ReadShareGroupState: a share-partition leader reads the delivery state it must go on from (KIP-932)."""

DECLARATION = """
api 84 ReadShareGroupState
versions 0
flexible 0+
listeners broker
route share group_id topics[].topic_id topics[].partitions[].partition
sent by broker
mutates
    # notes a newer leader epoch
errors_listed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR INVALID_REQUEST GROUP_ID_NOT_FOUND
    UNKNOWN_TOPIC_OR_PARTITION FENCED_LEADER_EPOCH
errors_observed CLUSTER_AUTHORIZATION_FAILED
line group >group_id  >topics[]/partitions[].partition:parts  → from <results[].partitions[].start_offset
example {"group_id": "kw-example", "topics": []}
request
    group_id  string    0+
    topics    []struct  0+
        topic_id    uuid      0+
        partitions  []struct  0+
            partition     int32  0+
            leader_epoch  int32  0+  means epoch
response
    results  []struct  0+
        topic_id    uuid      0+
        partitions  []struct  0+
            partition      int32     0+
            error_code     int16     0+
            error_message  string    0+  null 0+  = null
            state_epoch    int32     0+
            start_offset   int64     0+  means offset
            state_batches  []struct  0+
                first_offset    int64  0+
                last_offset     int64  0+
                delivery_state  int8   0+  means delivery
                delivery_count  int16  0+
"""
