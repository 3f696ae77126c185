"""DescribeLogDirs: shows which replicas lie in which log directory, their sizes and the space left (KIP-113,
KIP-827).
"""

DECLARATION = """
api 35 DescribeLogDirs
versions 0-5
flexible 2+
listeners broker
route all
sent by tool
errors_observed KAFKA_STORAGE_ERROR CLUSTER_AUTHORIZATION_FAILED
line <results[].log_dir  → <results[].topics[].partitions[].partition_size:size  >topics[]/partitions:parts
example {"topics": null}
request
    topics  []struct  0+  null 0+
        topic       string   0+  key  is topicName
        partitions  []int32  0+  was partition_index
response
    throttle_time_ms  int32     0+
    error_code        int16     3+  ignorable
    results           []struct  0+
        error_code    int16     0+
        log_dir       string    0+
        topics        []struct  0+
            name        string    0+  is topicName
            partitions  []struct  0+
                partition_index  int32  0+
                partition_size   int64  0+
                offset_lag       int64  0+
                is_future_key    bool   0+
        total_bytes   int64     4+  = -1  ignorable  means unknown
        usable_bytes  int64     4+  = -1  ignorable  means unknown
        is_cordoned   bool      5+  ignorable
"""
