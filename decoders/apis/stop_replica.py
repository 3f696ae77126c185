"""StopReplica: the ZooKeeper-era controller makes a broker stop, and perhaps delete, replicas (KIP-380, KIP-570)."""

DECLARATION = """
api 5 StopReplica
versions 0-4
flexible 2+
listeners zkBroker
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
