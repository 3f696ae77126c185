"""Keys and values of `__consumer_offsets`: offsets, classic groups and consumer groups (KIP-848)."""

DECLARATION = """
message LegacyOffsetCommitKey
versions 0
flexible none
fields
    group      string  0+
    topic      string  0+
    partition  int32   0+

message LegacyOffsetCommitValue
versions 0
flexible none
fields
    offset            int64   0+
    metadata          string  0+
    commit_timestamp  int64   0+

message OffsetCommitKey
versions 0
flexible none
fields
    group      string  0+
    topic      string  0+
    partition  int32   0+

message OffsetCommitValue
versions 0-4
flexible 4+
fields
    offset            int64   0+
    leader_epoch      int32   3+  = -1  ignorable  means epoch
    metadata          string  0+
    commit_timestamp  int64   0+
    expire_timestamp  int64   1   = -1  ignorable  means none
    topic_id          uuid    4+  tag 0  ignorable

message GroupMetadataKey
versions 0
flexible none
fields
    group  string  0+

message GroupMetadataValue
versions 0-4
flexible 4+
fields
    protocol_type            string    0+
    generation               int32     0+
    protocol                 string    0+  null 0+
    leader                   string    0+  null 0+
    current_state_timestamp  int64     2+  = -1  ignorable  means unknown
    members                  []struct  0+
        member_id          string  0+
        group_instance_id  string  3+  null 3+  = null  ignorable
        client_id          string  0+
        client_host        string  0+
        rebalance_timeout  int32   1+  = -1  ignorable  means unknown
        session_timeout    int32   0+
        subscription       bytes   0+
        assignment         bytes   0+

message ConsumerGroupMetadataKey
versions 0
flexible none
fields
    group_id  string  0+

message ConsumerGroupMetadataValue
versions 0
flexible 0+
fields
    epoch          int32  0+
    metadata_hash  int64  0+  tag 0

message ConsumerGroupPartitionMetadataKey
versions 0
flexible none
fields
    group_id  string  0+

message ConsumerGroupPartitionMetadataValue
versions 0
flexible 0+
fields
    topics  []struct  0+
        topic_id            uuid      0+
        topic_name          string    0+
        num_partitions      int32     0+
        partition_metadata  []struct  0+
            partition  int32     0+
            racks      []string  0+

message ConsumerGroupMemberMetadataKey
versions 0
flexible none
fields
    group_id   string  0+
    member_id  string  0+

message ConsumerGroupMemberMetadataValue
versions 0
flexible 0+
fields
    instance_id              string    0+  null 0+
    rack_id                  string    0+  null 0+
    client_id                string    0+
    client_host              string    0+
    subscribed_topic_names   []string  0+
    subscribed_topic_regex   string    0+  null 0+
    rebalance_timeout_ms     int32     0+  = -1  means unknown
    server_assignor          string    0+  null 0+
    classic_member_metadata  struct    0+  null 0+  tag 0
        session_timeout_ms   int32     0+
        supported_protocols  []struct  0+
            name      string  0+
            metadata  bytes   0+

message ConsumerGroupTargetAssignmentMetadataKey
versions 0
flexible none
fields
    group_id  string  0+

message ConsumerGroupTargetAssignmentMetadataValue
versions 0
flexible 0+
fields
    assignment_epoch      int32  0+
    assignment_timestamp  int64  0+  tag 0  ignorable

message ConsumerGroupTargetAssignmentMemberKey
versions 0
flexible none
fields
    group_id   string  0+
    member_id  string  0+

message ConsumerGroupTargetAssignmentMemberValue
versions 0
flexible 0+
fields
    topic_partitions  []struct  0+
        topic_id    uuid     0+
        partitions  []int32  0+

message ConsumerGroupCurrentMemberAssignmentKey
versions 0
flexible none
fields
    group_id   string  0+
    member_id  string  0+

message ConsumerGroupCurrentMemberAssignmentValue
versions 0
flexible 0+
fields
    member_epoch                   int32              0+
    previous_member_epoch          int32              0+
    state                          int8               0+  means member_state
    assigned_partitions            []TopicPartitions  0+
    partitions_pending_revocation  []TopicPartitions  0+
struct TopicPartitions 0+
    topic_id           uuid     0+
    partitions         []int32  0+
    assignment_epochs  []int32  0+  null 0+  tag 0

message ConsumerGroupRegularExpressionKey
versions 0
flexible none
fields
    group_id            string  0+
    regular_expression  string  0+

message ConsumerGroupRegularExpressionValue
versions 0
flexible 0+
fields
    topics     []string  0+
    version    int64     0+
    timestamp  int64     0+
"""
