"""Produce: a producer appends record batches to partitions and waits as its `acks` say (KIP-98 transactions, KIP-516
ids).
"""

DECLARATION = """
api 0 Produce
versions 0-13
flexible 9+
listeners broker
request
    transactional_id  string    3+  null 3+  = null  is transactionalId
    acks              int16     0+  means acks
    timeout_ms        int32     0+
    topic_data        []struct  0+  was topics
        name            string    0-12  ignorable  key  is topicName
        topic_id        uuid      13+   ignorable  key
        partition_data  []struct  0+    was partitions
            index    int32    0+  was partition_index
            records  records  0+  null 0+  = null
response
    responses         []struct  0+
        name                 string    0-12  ignorable  key  is topicName
        topic_id             uuid      13+   ignorable  key
        partition_responses  []struct  0+    was partitions
            index               int32     0+   was partition_index
            error_code          int16     0+
            base_offset         int64     0+   means unknown
            log_append_time_ms  int64     2+   = -1  ignorable  means append_time
            log_start_offset    int64     5+   = -1  ignorable  means unknown
            record_errors       []struct  8+   ignorable
                batch_index                int32   8+
                batch_index_error_message  string  8+  null 8+  = null
            error_message       string    8+   null 8+  = null  ignorable
            current_leader      struct    10+  tag 0
                leader_id     int32  10+  = -1  is brokerId  means broker
                leader_epoch  int32  10+  = -1  means epoch
    throttle_time_ms  int32     1+   ignorable
    node_endpoints    []struct  10+  tag 0
        node_id  int32   10+  key  is brokerId
        host     string  10+
        port     int32   10+
        rack     string  10+  null 10+  = null
"""
