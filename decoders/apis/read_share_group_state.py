"""ReadShareGroupState: a share-partition leader reads the delivery state it must go on from (KIP-932)."""

DECLARATION = """
api 84 ReadShareGroupState
versions 0
flexible 0+
listeners broker
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
