"""DescribeTransactions: shows state, producer and partitions of transactions (KIP-664)."""

DECLARATION = """
api 65 DescribeTransactions
versions 0
flexible 0+
listeners broker
route transaction transactional_ids[]
sent by tool
errors_observed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED TRANSACTIONAL_ID_NOT_FOUND INVALID_REQUEST
line >transactional_ids  → <transaction_states[].transaction_state  pid <transaction_states[].producer_id
example {"transactional_ids": []}
request
    transactional_ids  []string  0+  is transactionalId
response
    throttle_time_ms    int32     0+
    transaction_states  []struct  0+
        error_code                 int16     0+
        transactional_id           string    0+  is transactionalId
        transaction_state          string    0+
        transaction_timeout_ms     int32     0+
        transaction_start_time_ms  int64     0+
        producer_id                int64     0+  is producerId  means producer
        producer_epoch             int16     0+  means producer
        topics                     []struct  0+
            topic       string   0+  key  is topicName
            partitions  []int32  0+
"""
