"""AlterPartitionReassignments: starts or cancels moves of partitions to other brokers (KIP-455)."""

DECLARATION = """
api 45 AlterPartitionReassignments
versions 0-1
flexible 0+
listeners broker controller
route controller
sent by tool
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED NOT_CONTROLLER INVALID_REPLICA_ASSIGNMENT INVALID_REPLICATION_FACTOR
    NO_REASSIGNMENT_IN_PROGRESS UNKNOWN_TOPIC_OR_PARTITION REQUEST_TIMED_OUT
example {"timeout_ms": 30000, "allow_replication_factor_change": true, "topics": []}
request
    timeout_ms                       int32     0+  = 60000
    allow_replication_factor_change  bool      1+  = true
    topics                           []struct  0+
        name        string    0+  is topicName
        partitions  []struct  0+
            partition_index  int32    0+
            replicas         []int32  0+  null 0+  = null  is brokerId
response
    throttle_time_ms                 int32     0+
    allow_replication_factor_change  bool      1+  = true  ignorable
    error_code                       int16     0+
    error_message                    string    0+  null 0+
    responses                        []struct  0+
        name        string    0+  is topicName
        partitions  []struct  0+
            partition_index  int32   0+
            error_code       int16   0+
            error_message    string  0+  null 0+
"""
