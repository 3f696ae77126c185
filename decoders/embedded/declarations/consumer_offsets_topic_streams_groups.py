"""Keys and values of streams groups in `__consumer_offsets` (KIP-1071)."""

DECLARATION = """
message StreamsGroupMetadataKey
versions 0
flexible none
fields
    group_id  string  0+

message StreamsGroupMetadataValue
versions 0
flexible 0+
fields
    epoch                              int32     0+
    metadata_hash                      int64     0+
    validated_topology_epoch           int32     0+  tag 0  = -1  means none
    last_assignment_configs            []struct  0+  null 0+  tag 1
        key    string  0+
        value  string  0+
    stored_description_topology_epoch  int32     0+  tag 2  = -1  means none
    failed_description_topology_epoch  int32     0+  tag 3  = -1  means none

message StreamsGroupMemberMetadataKey
versions 0
flexible none
fields
    group_id   string  0+
    member_id  string  0+

message StreamsGroupMemberMetadataValue
versions 0
flexible 0+
fields
    instance_id           string    0+  null 0+
    rack_id               string    0+  null 0+
    client_id             string    0+
    client_host           string    0+
    rebalance_timeout_ms  int32     0+  = -1  means unknown
    topology_epoch        int32     0+
    process_id            string    0+
    user_endpoint         struct    0+  null 0+  = null
        host  string  0+
        port  uint16  0+
    client_tags           []struct  0+
        key    string  0+
        value  string  0+

message StreamsGroupTargetAssignmentMetadataKey
versions 0
flexible none
fields
    group_id  string  0+

message StreamsGroupTargetAssignmentMetadataValue
versions 0
flexible 0+
fields
    assignment_epoch      int32  0+
    assignment_timestamp  int64  0+  tag 0  ignorable

message StreamsGroupTargetAssignmentMemberKey
versions 0
flexible none
fields
    group_id   string  0+
    member_id  string  0+

message StreamsGroupTargetAssignmentMemberValue
versions 0
flexible 0+
fields
    active_tasks   []TaskIds  0+
    standby_tasks  []TaskIds  0+
    warmup_tasks   []TaskIds  0+
struct TaskIds 0+
    subtopology_id  string   0+
    partitions      []int32  0+

message StreamsGroupCurrentMemberAssignmentKey
versions 0
flexible none
fields
    group_id   string  0+
    member_id  string  0+

message StreamsGroupCurrentMemberAssignmentValue
versions 0
flexible 0+
fields
    member_epoch                      int32      0+
    previous_member_epoch             int32      0+
    state                             int8       0+  means streams_member_state
    active_tasks                      []TaskIds  0+
    standby_tasks                     []TaskIds  0+
    warmup_tasks                      []TaskIds  0+
    active_tasks_pending_revocation   []TaskIds  0+
    standby_tasks_pending_revocation  []TaskIds  0+
    warmup_tasks_pending_revocation   []TaskIds  0+
struct TaskIds 0+
    subtopology_id     string   0+
    partitions         []int32  0+
    assignment_epochs  []int32  0+  null 0+  tag 0

message StreamsGroupTopologyKey
versions 0
flexible none
fields
    group_id  string  0+

message StreamsGroupTopologyValue
versions 0
flexible 0+
fields
    epoch          int32     0+
    subtopologies  []struct  0+
        subtopology_id             string       0+
        source_topics              []string     0+
        source_topic_regex         []string     0+
        state_changelog_topics     []TopicInfo  0+
        repartition_sink_topics    []string     0+
        repartition_source_topics  []TopicInfo  0+
        copartition_groups         []struct     0+
            source_topics              []int16  0+
            source_topic_regex         []int16  0+
            repartition_source_topics  []int16  0+
struct TopicInfo 0+
    name                string         0+
    partitions          int32          0+
    replication_factor  int16          0+
    topic_configs       []TopicConfig  0+
struct TopicConfig 0+
    key    string  0+
    value  string  0+
"""
