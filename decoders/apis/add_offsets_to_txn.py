"""AddOffsetsToTxn: a producer announces that it will commit a group's offsets in its transaction (KIP-98)."""

DECLARATION = """
api 25 AddOffsetsToTxn
versions 0-4
flexible 3+
listeners broker
route transaction transactional_id
sent by client
mutates
errors_observed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED INVALID_TXN_STATE INVALID_PRODUCER_ID_MAPPING INVALID_PRODUCER_EPOCH
    PRODUCER_FENCED CONCURRENT_TRANSACTIONS TRANSACTION_ABORTABLE INVALID_REQUEST
line >transactional_id  group >group_id  pid >producer_id:known  epoch >producer_epoch:known
example {"transactional_id": "kw-example", "producer_id": -1, "producer_epoch": -1, "group_id": "kw-example"}
request
    transactional_id  string  0+  is transactionalId
    producer_id       int64   0+  is producerId  means producer
    producer_epoch    int16   0+  means producer
    group_id          string  0+  is groupId
response
    throttle_time_ms  int32  0+
    error_code        int16  0+
"""
