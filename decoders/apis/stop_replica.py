"""StopReplica: the ZooKeeper-era controller makes a broker stop, and perhaps delete, replicas (KIP-380, KIP-570)."""

DECLARATION = """
api 5 StopReplica
versions 0-4
flexible 2+
listeners zkBroker
route any
sent by controller
    # a ZooKeeper controller tells brokers
mutates
errors_observed STALE_CONTROLLER_EPOCH STALE_BROKER_EPOCH FENCED_LEADER_EPOCH KAFKA_STORAGE_ERROR
    CLUSTER_AUTHORIZATION_FAILED
line >topic_states[]/partition_states[].partition_index:parts|>topics[]/partition_indexes:parts
    |>ungrouped_partitions[]/partition_index:parts  >delete_partitions:flag:delete  controller >controller_id
example
    # of long ago
    {"controller_id": -1, "is_kraft_controller": false, "controller_epoch": -1, "broker_epoch": -1,
     "delete_partitions": false, "ungrouped_partitions": [], "topics": [], "topic_states": []}
request
    controller_id         int32     0+   is brokerId
    is_kraft_controller   bool      4+
    controller_epoch      int32     0+
    broker_epoch          int64     1+   = -1  ignorable  means epoch
    delete_partitions     bool      0-2
    ungrouped_partitions  []struct  0    was partitions_v0
        topic_name       string  0  is topicName
        partition_index  int32   0
    topics                []struct  1-2
        name               string   1-2  is topicName
        partition_indexes  []int32  1-2
    topic_states          []struct  3+
        topic_name        string    3+  is topicName
        partition_states  []struct  3+
            partition_index   int32  3+
            leader_epoch      int32  3+  = -1  means stopped_epoch
            delete_partition  bool   3+
response
    error_code        int16     0+
    partition_errors  []struct  0+  was partitions
        topic_name       string  0+  is topicName
        partition_index  int32   0+
        error_code       int16   0+
"""
