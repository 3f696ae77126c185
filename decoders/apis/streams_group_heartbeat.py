"""StreamsGroupHeartbeat: a Kafka Streams client joins, stays in and leaves its group, and hands in its topology
(KIP-1071).
"""

DECLARATION = """
api 88 StreamsGroupHeartbeat
versions 0-1
flexible 0+
listeners broker
route group group_id
sent by client
mutates
errors_listed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    GROUP_ID_NOT_FOUND INVALID_REQUEST UNKNOWN_MEMBER_ID FENCED_MEMBER_EPOCH UNRELEASED_INSTANCE_ID
    GROUP_MAX_SIZE_REACHED TOPIC_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED STREAMS_INVALID_TOPOLOGY
    STREAMS_INVALID_TOPOLOGY_EPOCH STREAMS_TOPOLOGY_FENCED
line group >group_id  → epoch <member_epoch  <active_tasks[].subtopology_id:count:active_task  <status[].status_detail
    >member_epoch:said:epoch  <member_id:member|>member_id:member  >instance_id
example
    # leaves
    {"group_id": "kw-example", "member_id": "kw-example", "member_epoch": -1, "endpoint_information_epoch": -1,
     "instance_id": null, "rack_id": null, "rebalance_timeout_ms": -1, "topology": null, "active_tasks": null,
     "standby_tasks": null, "warmup_tasks": null, "process_id": null, "user_endpoint": null, "client_tags": null,
     "task_offsets": null, "task_end_offsets": null, "shutdown_application": false}
request
    group_id                    string        0+  is groupId
    member_id                   string        0+
    member_epoch                int32         0+  means member_epoch
    endpoint_information_epoch  int32         0+
    instance_id                 string        0+  null 0+  = null
    rack_id                     string        0+  null 0+  = null
    rebalance_timeout_ms        int32         0+  = -1  means unchanged
    topology                    struct        0+  null 0+  = null
        epoch          int32     0+
        subtopologies  []struct  0+
            subtopology_id             string       0+
            source_topics              []string     0+  is topicName
            source_topic_regex         []string     0+
            state_changelog_topics     []TopicInfo  0+
            repartition_sink_topics    []string     0+  is topicName
            repartition_source_topics  []TopicInfo  0+
            copartition_groups         []struct     0+
                source_topics              []int16  0+
                source_topic_regex         []int16  0+
                repartition_source_topics  []int16  0+
    active_tasks                []TaskIds     0+  null 0+  = null
    standby_tasks               []TaskIds     0+  null 0+  = null
    warmup_tasks                []TaskIds     0+  null 0+  = null
    process_id                  string        0+  null 0+  = null
    user_endpoint               Endpoint      0+  null 0+  = null
    client_tags                 []struct      0+  null 0+  = null
        key    string  0+
        value  string  0+
    task_offsets                []TaskOffset  0+  null 0+  = null
    task_end_offsets            []TaskOffset  0+  null 0+  = null
    shutdown_application        bool          0+
response
    throttle_time_ms                int32      0+
    error_code                      int16      0+
    error_message                   string     0+  null 0+  = null
    member_id                       string     0+
    member_epoch                    int32      0+  means member_epoch
    heartbeat_interval_ms           int32      0+
    acceptable_recovery_lag_legacy  int32      0   was acceptable_recovery_lag
    task_offset_interval_ms         int32      0+
    acceptable_recovery_lag         int64      1+  = -1  ignorable  means unknown
    status                          []struct   0+  null 0+
        status_code    int8    0+  means streams_status
        status_detail  string  0+
    active_tasks                    []TaskIds  0+  null 0+  = null
    standby_tasks                   []TaskIds  0+  null 0+  = null
    warmup_tasks                    []TaskIds  0+  null 0+  = null
    topology_description_required   bool       1+
    endpoint_information_epoch      int32      0+
    partitions_by_user_endpoint     []struct   0+  null 0+  = null
        user_endpoint       Endpoint          0+
        active_partitions   []TopicPartition  0+
        standby_partitions  []TopicPartition  0+
struct TopicInfo 0+
    name                string    0+  is topicName
    partitions          int32     0+  means zero_default
    replication_factor  int16     0+  means zero_default
    topic_configs       []struct  0+
        key    string  0+
        value  string  0+  secret unless key
struct TaskIds 0+
    subtopology_id  string   0+
    partitions      []int32  0+
struct Endpoint 0+
    host  string  0+
    port  uint16  0+
struct TaskOffset 0+
    subtopology_id  string  0+
    partition       int32   0+
    offset          int64   0+
struct TopicPartition 0+
    topic       string   0+  is topicName
    partitions  []int32  0+
"""
