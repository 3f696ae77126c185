"""EndTxn: a producer commits or aborts its transaction (KIP-98, KIP-890 bumps the epoch)."""

DECLARATION = """
api 26 EndTxn
versions 0-5
flexible 3+
listeners broker
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
