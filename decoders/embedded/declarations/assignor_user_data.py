"""What the assignors of classic groups put into the user data of their protocol: sticky ones, and Streams'.

Sticky ones say what a member had, and since when (KIP-54, KIP-429); their bytes hold no version. Streams' begin with it
as an int32. A named topology is its count of UTF-16 units and then these; nearly always there are none.
"""

DECLARATION = """
message StickyAssignorUserData
versions 0-1
flexible none
fields
    previous_assignment  []struct  0+
        topic       string   0+  is topicName
        partitions  []int32  0+
    generation           int32     1+  = -1  means generation

message CooperativeStickyAssignorUserData
versions 0
flexible none
fields
    generation  int32  0+  means generation

message SubscriptionInfoData
versions 1-11
flexible none
fields
    version                   int32     1+
    latest_supported_version  int32     3+   = -1  means unknown
    process_id                uuid      1+
    prev_tasks                []TaskId  1-6
    standby_tasks             []TaskId  1-6
    user_end_point            bytes     2+
    task_offset_sums          []struct  7+
        topic_group_id           int32     7+
        partition                int32     10+
        offset_sum               int64     10+
        named_topology           string    10+  null 10+
        partition_to_offset_sum  []struct  7-9
            partition   int32  7-9
            offset_sum  int64  7-9
    unique_field              int8      8+
    error_code                int32     9+
    client_tags               []struct  11+
        key    bytes  11+
        value  bytes  11+
struct TaskId 1-6
    topic_group_id  int32  1-6
    partition       int32  1-6

message AssignmentInfo
versions 1-11
flexible none
fields
    version                     int32     1+
    commonly_supported_version  int32     3+  = -1  means unknown
    active_tasks                []struct  1+
        subtopology     int32     1+
        partition       int32     1+
        named_topology  []uint16  10+
    standby_tasks               []struct  1+
        subtopology     int32     1+
        partition       int32     1+
        named_topology  []uint16  10+
        partitions      []struct  1+
            topic      string  1+  is topicName
            partition  int32   1+
    topics                      []struct  5+
        index  int32   5+
        name   string  5+  is topicName
    partitions_by_host          []struct  2+
        host        string    2+
        port        int32     2+
        partitions  []struct  2+
            topic        string  2-4  is topicName
            topic_index  int32   5+
            partition    int32   2+
    standby_partitions_by_host  []struct  6+
        host        string    6+
        port        int32     6+
        partitions  []struct  6+
            topic_index  int32  6+
            partition    int32  6+
    err_code                    int32     4+
    next_rebalance_ms           int64     7+  = 9223372036854775807
"""
