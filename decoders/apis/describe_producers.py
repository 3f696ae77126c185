"""DescribeProducers: shows the producers active on partitions (KIP-664)."""

DECLARATION = """
api 61 DescribeProducers
versions 0
flexible 0+
listeners broker
route leader topics[].name topics[].partition_indexes[]
sent by tool
errors_observed TOPIC_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER INVALID_TOPIC_EXCEPTION
line >topics[]/partition_indexes:parts  → <topics[].partitions[].active_producers[].producer_id:count:producer
example {"topics": []}
request
    topics  []struct  0+
        name               string   0+  key  is topicName
        partition_indexes  []int32  0+
response
    throttle_time_ms  int32     0+
    topics            []struct  0+
        name        string    0+  is topicName
        partitions  []struct  0+
            partition_index   int32     0+
            error_code        int16     0+
            error_message     string    0+  null 0+  = null
            active_producers  []struct  0+
                producer_id               int64  0+  is producerId  means producer
                producer_epoch            int32  0+  means producer
                last_sequence             int32  0+  = -1  means producer
                last_timestamp            int64  0+  = -1  means unknown
                coordinator_epoch         int32  0+  means producer
                current_txn_start_offset  int64  0+  = -1  means offset
"""
