"""LeaderAndIsr: the ZooKeeper-era controller makes brokers leader or follower of partitions (KIP-380, KIP-516)."""

DECLARATION = """
api 4 LeaderAndIsr
versions 0-7
flexible 4+
listeners zkBroker
route any
sent by controller
    # a ZooKeeper controller tells brokers
mutates
errors_observed STALE_CONTROLLER_EPOCH STALE_BROKER_EPOCH KAFKA_STORAGE_ERROR CLUSTER_AUTHORIZATION_FAILED
    INCONSISTENT_TOPIC_ID
line >topic_states[]/partition_states[].partition_index:parts|>ungrouped_partition_states[]/partition_index:parts
    controller >controller_id  epoch >controller_epoch
example
    # of long ago; type 1 is a change, 2 would be the whole
    {"controller_id": -1, "is_kraft_controller": false, "controller_epoch": -1, "broker_epoch": -1, "type": 1,
     "ungrouped_partition_states": [], "topic_states": [], "live_leaders": []}
request
    controller_id               int32     0+   is brokerId
    is_kraft_controller         bool      7+
    controller_epoch            int32     0+
    broker_epoch                int64     2+   = -1  ignorable  means epoch
    type                        int8      5+   means leader_and_isr
    ungrouped_partition_states  []struct  0-1  was partition_states_v0
        topic_name        string   0-1  ignorable  is topicName
        partition_index   int32    0-1
        controller_epoch  int32    0-1
        leader            int32    0-1  is brokerId  means leader  was leader_key
        leader_epoch      int32    0-1  means epoch
        isr               []int32  0-1  is brokerId  was isr_replicas
        partition_epoch   int32    0-1  was zk_version
        replicas          []int32  0-1  is brokerId
        is_new            bool     1    ignorable
    topic_states                []struct  2+
        topic_name        string    2+  is topicName  was name
        topic_id          uuid      5+  ignorable
        partition_states  []struct  2+
            partition_index        int32    2+
            controller_epoch       int32    2+
            leader                 int32    2+  is brokerId  means leader  was leader_key
            leader_epoch           int32    2+  means epoch
            isr                    []int32  2+  is brokerId  was isr_replicas
            partition_epoch        int32    2+  was zk_version
            replicas               []int32  2+  is brokerId
            adding_replicas        []int32  3+  ignorable  is brokerId
            removing_replicas      []int32  3+  ignorable  is brokerId
            is_new                 bool     2+  ignorable
            leader_recovery_state  int8     6+  means recovery
    live_leaders                []struct  0+
        broker_id  int32   0+  is brokerId
        host_name  string  0+
        port       int32   0+
response
    error_code        int16     0+
    partition_errors  []struct  0-4  was partitions
        topic_name       string  0-4  ignorable  is topicName
        partition_index  int32   0-4
        error_code       int16   0-4
    topics            []struct  5+
        topic_id          uuid      5+  key
        partition_errors  []struct  5+
            partition_index  int32  5+
            error_code       int16  5+
"""
