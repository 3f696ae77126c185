"""Keys and values of `__share_group_state`: how far share groups are (KIP-932)."""

DECLARATION = """
message ShareSnapshotKey
versions 0
flexible none
fields
    group_id   string  0+
    topic_id   uuid    0+
    partition  int32   0+

message ShareSnapshotValue
versions 0
flexible 0+
fields
    snapshot_epoch           int32     0+
    state_epoch              int32     0+
    leader_epoch             int32     0+  means epoch
    start_offset             int64     0+
    delivery_complete_count  int32     0+  tag 0  = -1  means unknown
    create_timestamp         int64     0+
    write_timestamp          int64     0+
    state_batches            []struct  0+
        first_offset    int64  0+
        last_offset     int64  0+
        delivery_state  int8   0+  means delivery
        delivery_count  int16  0+

message ShareUpdateKey
versions 0
flexible none
fields
    group_id   string  0+
    topic_id   uuid    0+
    partition  int32   0+

message ShareUpdateValue
versions 0
flexible 0+
fields
    snapshot_epoch           int32     0+
    leader_epoch             int32     0+  means epoch
    start_offset             int64     0+
    delivery_complete_count  int32     0+  tag 0  = -1  means unknown
    state_batches            []struct  0+
        first_offset    int64  0+
        last_offset     int64  0+
        delivery_state  int8   0+  means delivery
        delivery_count  int16  0+
"""
