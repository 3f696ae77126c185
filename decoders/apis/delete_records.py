"""DeleteRecords: moves the start of partitions' logs forward (KIP-107)."""

DECLARATION = """
api 21 DeleteRecords
versions 0-2
flexible 2+
listeners broker
route leader topics[].name topics[].partitions[].partition_index
sent by tool
mutates
errors_observed OFFSET_OUT_OF_RANGE UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER TOPIC_AUTHORIZATION_FAILED
    POLICY_VIOLATION REQUEST_TIMED_OUT KAFKA_STORAGE_ERROR INVALID_TOPIC_EXCEPTION
line >topics[]/partitions[].partition_index@offset:parts
example {"topics": [], "timeout_ms": 30000}
request
    topics      []struct  0+
        name        string    0+  is topicName
        partitions  []struct  0+
            partition_index  int32  0+
            offset           int64  0+  means high_watermark
    timeout_ms  int32     0+
response
    throttle_time_ms  int32     0+
    topics            []struct  0+
        name        string    0+  key  is topicName
        partitions  []struct  0+
            partition_index  int32  0+  key
            low_watermark    int64  0+  means unknown
            error_code       int16  0+
"""
