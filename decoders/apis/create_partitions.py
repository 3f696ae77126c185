"""CreatePartitions: gives topics more partitions (KIP-195, KIP-599)."""

DECLARATION = """
api 37 CreatePartitions
versions 0-3
flexible 2+
listeners broker controller
request
    topics         []struct  0+
        name         string    0+  key  is topicName
        count        int32     0+
        assignments  []struct  0+  null 0+
            broker_ids  []int32  0+  is brokerId
    timeout_ms     int32     0+
    validate_only  bool      0+
response
    throttle_time_ms  int32     0+
    results           []struct  0+
        name           string  0+  is topicName
        error_code     int16   0+
        error_message  string  0+  null 0+  = null
"""
