"""AlterPartition: a partition leader tells the controller a new in-sync set (KIP-497, KIP-704, KIP-841, KIP-903)."""

DECLARATION = """
api 56 AlterPartition
versions 0-3
flexible 0+
listeners controller
was AlterIsr
route controller
sent by broker
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED NOT_CONTROLLER STALE_BROKER_EPOCH UNKNOWN_TOPIC_OR_PARTITION
    UNKNOWN_TOPIC_ID FENCED_LEADER_EPOCH INVALID_UPDATE_VERSION INVALID_REQUEST INELIGIBLE_REPLICA NEW_LEADER_ELECTED
example {"broker_id": -1, "broker_epoch": -1, "topics": []}
request
    broker_id     int32     0+  is brokerId
    broker_epoch  int64     0+  = -1  means epoch
    topics        []struct  0+
        topic_name  string    0-1  ignorable  is topicName  was name
        topic_id    uuid      2+   ignorable
        partitions  []struct  0+
            partition_index        int32     0+
            leader_epoch           int32     0+   means epoch
            new_isr                []int32   0-2  is brokerId
            new_isr_with_epochs    []struct  3+
                broker_id     int32  3+  is brokerId
                broker_epoch  int64  3+  = -1  means epoch
            leader_recovery_state  int8      1+   means recovery
            partition_epoch        int32     0+   was current_isr_version
response
    throttle_time_ms  int32     0+
    error_code        int16     0+
    topics            []struct  0+
        topic_name  string    0-1  ignorable  is topicName  was name
        topic_id    uuid      2+   ignorable
        partitions  []struct  0+
            partition_index        int32    0+
            error_code             int16    0+
            leader_id              int32    0+  is brokerId  means broker
            leader_epoch           int32    0+  means epoch
            isr                    []int32  0+  is brokerId
            leader_recovery_state  int8     1+  ignorable  means recovery
            partition_epoch        int32    0+  was current_isr_version
"""
