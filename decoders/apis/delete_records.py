"""DeleteRecords: moves the start of partitions' logs forward (KIP-107)."""

DECLARATION = """
api 21 DeleteRecords
versions 0-2
flexible 2+
listeners broker
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
