"""AddOffsetsToTxn: a producer announces that it will commit a group's offsets in its transaction (KIP-98)."""

DECLARATION = """
api 25 AddOffsetsToTxn
versions 0-4
flexible 3+
listeners broker
request
    transactional_id  string  0+  is transactionalId
    producer_id       int64   0+  is producerId  means producer
    producer_epoch    int16   0+  means producer
    group_id          string  0+  is groupId
response
    throttle_time_ms  int32  0+
    error_code        int16  0+
"""
