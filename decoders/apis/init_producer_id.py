"""InitProducerId: gives an idempotent or transactional producer its id and epoch (KIP-98, KIP-360, KIP-939)."""

DECLARATION = """
api 22 InitProducerId
versions 0-6
flexible 2+
listeners broker
route transaction transactional_id
sent by client tool
mutates
errors_observed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED CONCURRENT_TRANSACTIONS
    INVALID_TRANSACTION_TIMEOUT INVALID_PRODUCER_EPOCH INVALID_PRODUCER_ID_MAPPING PRODUCER_FENCED INVALID_REQUEST
line >transactional_id  → pid <producer_id:known  epoch <producer_epoch:known  was >producer_id:known
    timeout >transaction_timeout_ms:period
example
    # without a transactional id
    {"transactional_id": null, "transaction_timeout_ms": 30000, "producer_id": -1, "producer_epoch": -1,
     "enable2_pc": false, "keep_prepared_txn": false}
request
    transactional_id        string  0+  null 0+  is transactionalId
    transaction_timeout_ms  int32   0+
    producer_id             int64   3+  = -1  is producerId  means producer
    producer_epoch          int16   3+  = -1  means producer
    enable2_pc              bool    6+
    keep_prepared_txn       bool    6+
response
    throttle_time_ms            int32  0+  ignorable
    error_code                  int16  0+
    producer_id                 int64  0+  = -1  is producerId  means producer
    producer_epoch              int16  0+  means producer
    ongoing_txn_producer_id     int64  6+  = -1  is producerId  means producer
    ongoing_txn_producer_epoch  int16  6+  = -1  means producer
"""
