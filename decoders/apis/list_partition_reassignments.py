"""ListPartitionReassignments: lists the moves of partitions that are under way (KIP-455)."""

DECLARATION = """
api 46 ListPartitionReassignments
versions 0
flexible 0+
listeners broker controller
route controller
sent by tool
errors_observed CLUSTER_AUTHORIZATION_FAILED NOT_CONTROLLER REQUEST_TIMED_OUT
line >topics[]/partition_indexes:parts  → <topics[]/partitions[].partition_index:parts
example {"timeout_ms": 30000, "topics": null}
request
    timeout_ms  int32     0+  = 60000
    topics      []struct  0+  null 0+  = null
        name               string   0+  is topicName
        partition_indexes  []int32  0+
response
    throttle_time_ms  int32     0+
    error_code        int16     0+
    error_message     string    0+  null 0+
    topics            []struct  0+
        name        string    0+  is topicName
        partitions  []struct  0+
            partition_index    int32    0+
            replicas           []int32  0+  is brokerId
            adding_replicas    []int32  0+  is brokerId
            removing_replicas  []int32  0+  is brokerId
"""
