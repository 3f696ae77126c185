"""CreatePartitions: gives topics more partitions (KIP-195, KIP-599)."""

DECLARATION = """
api 37 CreatePartitions
versions 0-3
flexible 2+
listeners broker controller
route controller
sent by tool
mutates
errors_observed TOPIC_AUTHORIZATION_FAILED INVALID_PARTITIONS INVALID_REPLICA_ASSIGNMENT UNKNOWN_TOPIC_OR_PARTITION
    INVALID_TOPIC_EXCEPTION NOT_CONTROLLER INVALID_REQUEST REASSIGNMENT_IN_PROGRESS THROTTLING_QUOTA_EXCEEDED
    REQUEST_TIMED_OUT
line >topics[].name  to >topics[].count partitions  >validate_only:flag:validate_only
example {"topics": [], "timeout_ms": 30000, "validate_only": false}
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
