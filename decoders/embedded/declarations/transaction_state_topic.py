"""Keys and values of `__transaction_state`: where transactions are (KIP-98, KIP-890, KIP-939)."""

DECLARATION = """
message TransactionLogKey
versions 0
flexible none
fields
    transactional_id  string  0+

message TransactionLogValue
versions 0-1
flexible 1+
fields
    producer_id                           int64     0+  means producer
    previous_producer_id                  int64     1+  tag 0  = -1  means producer
    next_producer_id                      int64     1+  tag 1  = -1  means producer
    producer_epoch                        int16     0+  means producer
    next_producer_epoch                   int16     1+  tag 3  = -1  means producer
    transaction_timeout_ms                int32     0+
    transaction_status                    int8      0+  means transaction_status
    transaction_partitions                []struct  0+  null 0+
        topic          string   0+
        partition_ids  []int32  0+
    transaction_last_update_timestamp_ms  int64     0+
    transaction_start_timestamp_ms        int64     0+
    client_transaction_version            int16     1+  tag 2
"""
