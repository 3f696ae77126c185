"""UpdateMetadata: the ZooKeeper-era controller spreads the cluster's state to all brokers (KIP-103, KIP-380)."""

DECLARATION = """
api 6 UpdateMetadata
versions 0-8
flexible 6+
listeners zkBroker
route any
sent by controller
    # a ZooKeeper controller tells brokers
mutates
errors_observed STALE_CONTROLLER_EPOCH STALE_BROKER_EPOCH CLUSTER_AUTHORIZATION_FAILED
line >topic_states[]/partition_states[].partition_index:parts|>ungrouped_partition_states[]/partition_index:parts
    >live_brokers[].id:count:broker  controller >controller_id  epoch >controller_epoch
example
    # of long ago; type 1 is a change, 2 would be the whole
    {"controller_id": -1, "is_kraft_controller": false, "controller_epoch": -1, "broker_epoch": -1, "type": 1,
     "ungrouped_partition_states": [], "topic_states": [], "live_brokers": []}
request
    controller_id               int32     0+   is brokerId
    is_kraft_controller         bool      8+
    type                        int8      8+   tag 0  means leader_and_isr  since 3.6
    controller_epoch            int32     0+
    broker_epoch                int64     5+   = -1  ignorable  means epoch
    ungrouped_partition_states  []struct  0-4  was partition_states_v0
        topic_name        string   0-4  ignorable  is topicName
        partition_index   int32    0-4
        controller_epoch  int32    0-4
        leader            int32    0-4  is brokerId  means leader
        leader_epoch      int32    0-4  means epoch
        isr               []int32  0-4  is brokerId
        zk_version        int32    0-4
        replicas          []int32  0-4  is brokerId
        offline_replicas  []int32  4    ignorable  is brokerId
    topic_states                []struct  5+
        topic_name        string    5+  is topicName
        topic_id          uuid      7+  ignorable
        partition_states  []struct  5+
            partition_index   int32    5+
            controller_epoch  int32    5+
            leader            int32    5+  is brokerId  means leader
            leader_epoch      int32    5+  means epoch
            isr               []int32  5+  is brokerId
            zk_version        int32    5+
            replicas          []int32  5+  is brokerId
            offline_replicas  []int32  5+  ignorable  is brokerId
    live_brokers                []struct  0+   was brokers
        id         int32     0+  is brokerId
        v0_host    string    0   ignorable
        v0_port    int32     0   ignorable
        endpoints  []struct  1+  ignorable
            port               int32   1+
            host               string  1+
            listener           string  3+  ignorable
            security_protocol  int16   1+  means security_protocol
        rack       string    2+  null 2+  ignorable
response
    error_code  int16  0+
"""
