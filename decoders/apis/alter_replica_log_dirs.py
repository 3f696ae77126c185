"""AlterReplicaLogDirs: moves replicas between the log directories of one broker (KIP-113)."""

DECLARATION = """
api 34 AlterReplicaLogDirs
versions 0-2
flexible 2+
listeners broker
route any
    # the broker that holds the replica
sent by tool
mutates
errors_observed KAFKA_STORAGE_ERROR LOG_DIR_NOT_FOUND REPLICA_NOT_AVAILABLE CLUSTER_AUTHORIZATION_FAILED
    UNKNOWN_TOPIC_OR_PARTITION INVALID_TOPIC_EXCEPTION
line >dirs[].topics[]/partitions:parts  to >dirs[].path
example {"dirs": []}
request
    dirs  []struct  0+
        path    string    0+  key
        topics  []struct  0+
            name        string   0+  key  is topicName
            partitions  []int32  0+
response
    throttle_time_ms  int32     0+
    results           []struct  0+
        topic_name  string    0+  is topicName
        partitions  []struct  0+
            partition_index  int32  0+
            error_code       int16  0+
"""
