"""AddPartitionsToTxn: a producer adds partitions to its transaction; brokers verify it with many at once (KIP-98,
KIP-890).
"""

DECLARATION = """
api 24 AddPartitionsToTxn
versions 0-5
flexible 3+
listeners broker
route transaction v3_and_below_transactional_id|transactions[].transactional_id
sent by client broker
    # brokers: to verify a transaction before they append
mutates
errors_observed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR TOPIC_AUTHORIZATION_FAILED
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION CLUSTER_AUTHORIZATION_FAILED
    OPERATION_NOT_ATTEMPTED INVALID_TXN_STATE INVALID_PRODUCER_ID_MAPPING INVALID_PRODUCER_EPOCH PRODUCER_FENCED
    CONCURRENT_TRANSACTIONS TRANSACTION_ABORTABLE INVALID_REQUEST
line >v3_and_below_transactional_id|>transactions[].transactional_id
    >v3_and_below_topics[]/partitions:parts|>transactions[].topics[]/partitions:parts
    pid >v3_and_below_producer_id:known|>transactions[].producer_id
example
    {"transactions": [{"transactional_id": "kw-example", "producer_id": -1, "producer_epoch": -1, "verify_only": true,
     "topics": []}], "v3_and_below_transactional_id": "kw-example", "v3_and_below_producer_id": -1,
     "v3_and_below_producer_epoch": -1, "v3_and_below_topics": []}
request
    transactions                   []struct                   4+
        transactional_id  string                     4+  key  is transactionalId
        producer_id       int64                      4+  is producerId  means producer
        producer_epoch    int16                      4+  means producer
        verify_only       bool                       4+
        topics            []AddPartitionsToTxnTopic  4+
    v3_and_below_transactional_id  string                     0-3  is transactionalId  was transactional_id
    v3_and_below_producer_id       int64                      0-3  is producerId  means producer  was producer_id
    v3_and_below_producer_epoch    int16                      0-3  means producer  was producer_epoch
    v3_and_below_topics            []AddPartitionsToTxnTopic  0-3  was topics
response
    throttle_time_ms               int32                            0+
    error_code                     int16                            4+   ignorable
    results_by_transaction         []struct                         4+
        transactional_id  string                           4+  key  is transactionalId
        topic_results     []AddPartitionsToTxnTopicResult  4+
    results_by_topic_v3_and_below  []AddPartitionsToTxnTopicResult  0-3  was results
struct AddPartitionsToTxnTopic 0+
    name        string   0+  key  is topicName
    partitions  []int32  0+
struct AddPartitionsToTxnTopicResult 0+
    name                  string                               0+  key  is topicName
    results_by_partition  []AddPartitionsToTxnPartitionResult  0+  was results
struct AddPartitionsToTxnPartitionResult 0+
    partition_index       int32  0+  key
    partition_error_code  int16  0+  was error_code
"""
