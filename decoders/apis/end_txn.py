"""EndTxn: a producer commits or aborts its transaction (KIP-98, KIP-890 bumps the epoch)."""

DECLARATION = """
api 26 EndTxn
versions 0-5
flexible 3+
listeners broker
route transaction transactional_id
sent by client
mutates
errors_observed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED INVALID_TXN_STATE INVALID_PRODUCER_ID_MAPPING INVALID_PRODUCER_EPOCH
    PRODUCER_FENCED CONCURRENT_TRANSACTIONS TRANSACTION_ABORTABLE INVALID_REQUEST
line >transactional_id  >committed:word:outcome  pid >producer_id:known  epoch >producer_epoch:known
example {"transactional_id": "kw-example", "producer_id": -1, "producer_epoch": -1, "committed": false}
request
    transactional_id  string  0+  is transactionalId
    producer_id       int64   0+  is producerId  means producer
    producer_epoch    int16   0+  means producer
    committed         bool    0+
response
    throttle_time_ms  int32  0+
    error_code        int16  0+
    producer_id       int64  5+  = -1  ignorable  is producerId  means producer
    producer_epoch    int16  5+  = -1  ignorable  means producer
"""
