"""ListTransactions: lists the transactions that a broker coordinates, filtered if wanted (KIP-664, KIP-994,
KIP-1152).
"""

DECLARATION = """
api 66 ListTransactions
versions 0-2
flexible 0+
listeners broker
route all
sent by tool
errors_observed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE INVALID_REGULAR_EXPRESSION
line → <transaction_states[].transactional_id:count:transaction  <transaction_states[].transactional_id
    in state >state_filters  matching >transactional_id_pattern
example {"state_filters": [], "producer_id_filters": [], "duration_filter": -1, "transactional_id_pattern": null}
request
    state_filters             []string  0+
    producer_id_filters       []int64   0+  is producerId
    duration_filter           int64     1+  = -1  means any
    transactional_id_pattern  string    2+  null 2+  = null
response
    throttle_time_ms       int32     0+
    error_code             int16     0+
    unknown_state_filters  []string  0+
    transaction_states     []struct  0+
        transactional_id   string  0+  is transactionalId
        producer_id        int64   0+  is producerId  means producer
        transaction_state  string  0+
"""
