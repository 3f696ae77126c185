"""StreamsGroupDescribe: shows streams groups with topology, members and tasks (KIP-1071)."""

DECLARATION = """
api 89 StreamsGroupDescribe
versions 0-1
flexible 0+
listeners broker
route group group_ids[]
sent by tool
errors_listed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    INVALID_REQUEST INVALID_GROUP_ID GROUP_ID_NOT_FOUND TOPIC_AUTHORIZATION_FAILED
line group >group_ids  <groups[].group_state  <groups[].members[].member_id:count:member
example {"group_ids": [], "include_authorized_operations": false, "include_topology_description": false}
request
    group_ids                      []string  0+  is groupId
    include_authorized_operations  bool      0+
    include_topology_description   bool      1+
response
    throttle_time_ms  int32     0+
    groups            []struct  0+
        error_code                   int16     0+
        error_message                string    0+  null 0+  = null
        group_id                     string    0+  is groupId
        group_state                  string    0+
        group_epoch                  int32     0+
        assignment_epoch             int32     0+
        topology                     struct    0+  null 0+  = null
            epoch          int32     0+
            subtopologies  []struct  0+  null 0+  = null
                subtopology_id             string       0+
                source_topics              []string     0+  is topicName
                repartition_sink_topics    []string     0+  is topicName
                state_changelog_topics     []TopicInfo  0+
                repartition_source_topics  []TopicInfo  0+
        members                      []struct  0+
            member_id          string        0+
            member_epoch       int32         0+
            instance_id        string        0+  null 0+  = null
            rack_id            string        0+  null 0+  = null
            client_id          string        0+
            client_host        string        0+
            topology_epoch     int32         0+
            process_id         string        0+
            user_endpoint      struct        0+  null 0+  = null
                host  string  0+
                port  uint16  0+
            client_tags        []struct      0+
                key    string  0+
                value  string  0+
            task_offsets       []TaskOffset  0+
            task_end_offsets   []TaskOffset  0+
            assignment         Assignment    0+
            target_assignment  Assignment    0+
            is_classic         bool          0+
        authorized_operations        int32     0+  = -2147483648  means operations
        topology_description         struct    1+  null 1+  = null
            subtopologies  []struct  1+
                subtopology_id  string                     1+
                nodes           []TopologyDescriptionNode  1+
            global_stores  []struct  1+
                source     TopologyDescriptionNode  1+
                processor  TopologyDescriptionNode  1+
        topology_description_status  int8      1+  means topology_status
        assignor_name                string    1+  null 1+  = null  ignorable
struct TopicInfo 0+
    name                string    0+  is topicName
    partitions          int32     0+  means zero_default
    replication_factor  int16     0+  means zero_default
    topic_configs       []struct  0+
        key    string  0+
        value  string  0+  secret unless key
struct TaskOffset 0+
    subtopology_id  string  0+
    partition       int32   0+
    offset          int64   0+
struct Assignment 0+
    active_tasks   []TaskIds  0+
    standby_tasks  []TaskIds  0+
    warmup_tasks   []TaskIds  0+
struct TaskIds 0+
    subtopology_id  string   0+
    partitions      []int32  0+
struct TopologyDescriptionNode 1+
    name           string    1+
    node_type      int8      1+  means topology_node
    source_topics  []string  1+  is topicName
    sink_topic     string    1+  null 1+  = null  is topicName
    stores         []string  1+
    successors     []string  1+
"""
