"""Produce: a producer appends record batches to partitions and waits as its `acks` say (KIP-98 transactions, KIP-516
ids).
"""

DECLARATION = """
api 0 Produce
versions 0-13
flexible 9+
listeners broker
route leader topic_data[].name|topic_data[].topic_id topic_data[].partition_data[].index
sent by client
mutates
errors_observed CORRUPT_MESSAGE UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER REQUEST_TIMED_OUT MESSAGE_TOO_LARGE
    INVALID_TOPIC_EXCEPTION RECORD_LIST_TOO_LARGE NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND
    INVALID_REQUIRED_ACKS TOPIC_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED INVALID_TIMESTAMP
    UNSUPPORTED_FOR_MESSAGE_FORMAT OUT_OF_ORDER_SEQUENCE_NUMBER DUPLICATE_SEQUENCE_NUMBER INVALID_PRODUCER_EPOCH
    INVALID_TXN_STATE INVALID_PRODUCER_ID_MAPPING CONCURRENT_TRANSACTIONS TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    KAFKA_STORAGE_ERROR UNKNOWN_PRODUCER_ID UNSUPPORTED_COMPRESSION_TYPE INVALID_RECORD UNKNOWN_TOPIC_ID
    TRANSACTION_ABORTABLE
errors_expected DUPLICATE_SEQUENCE_NUMBER (KIP-98) the broker has this batch already: the client takes it for written
example {"transactional_id": null, "acks": -1, "timeout_ms": 30000, "topic_data": []}
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
