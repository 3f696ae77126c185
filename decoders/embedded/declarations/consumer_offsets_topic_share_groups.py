"""Keys and values of share groups in `__consumer_offsets` (KIP-932)."""

DECLARATION = """
message ShareGroupPartitionMetadataKey
versions 0
flexible none
fields
    group_id  string  0+

message ShareGroupPartitionMetadataValue
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

message ShareGroupMemberMetadataKey
versions 0
flexible none
fields
    group_id   string  0+
    member_id  string  0+

message ShareGroupMemberMetadataValue
versions 0
flexible 0+
fields
    rack_id                 string    0+  null 0+
    client_id               string    0+
    client_host             string    0+
    subscribed_topic_names  []string  0+

message ShareGroupMetadataKey
versions 0
flexible none
fields
    group_id  string  0+

message ShareGroupMetadataValue
versions 0
flexible 0+
fields
    epoch          int32  0+
    metadata_hash  int64  0+

message ShareGroupTargetAssignmentMetadataKey
versions 0
flexible none
fields
    group_id  string  0+

message ShareGroupTargetAssignmentMetadataValue
versions 0
flexible 0+
fields
    assignment_epoch      int32  0+
    assignment_timestamp  int64  0+  tag 0  ignorable

message ShareGroupTargetAssignmentMemberKey
versions 0
flexible none
fields
    group_id   string  0+
    member_id  string  0+

message ShareGroupTargetAssignmentMemberValue
versions 0
flexible 0+
fields
    topic_partitions  []struct  0+
        topic_id    uuid     0+
        partitions  []int32  0+

message ShareGroupCurrentMemberAssignmentKey
versions 0
flexible none
fields
    group_id   string  0+
    member_id  string  0+

message ShareGroupCurrentMemberAssignmentValue
versions 0
flexible 0+
fields
    member_epoch           int32     0+
    previous_member_epoch  int32     0+
    state                  int8      0+  means member_state
    assigned_partitions    []struct  0+
        topic_id    uuid     0+
        partitions  []int32  0+

message ShareGroupStatePartitionMetadataKey
versions 0
flexible none
fields
    group_id  string  0+

message ShareGroupStatePartitionMetadataValue
versions 0
flexible 0+
fields
    initializing_topics  []TopicPartitionsInfo  0+
    initialized_topics   []TopicPartitionsInfo  0+
    deleting_topics      []struct               0+
        topic_id    uuid    0+
        topic_name  string  0+
struct TopicPartitionsInfo 0+
    topic_id    uuid     0+
    topic_name  string   0+
    partitions  []int32  0+
"""
