"""Records of `__remote_log_metadata`, about segments in tiered storage (KIP-405)."""

DECLARATION = """
message RemoteLogSegmentMetadataRecord
versions 0
flexible 0+
fields
    remote_log_segment_id     struct    0+
        topic_id_partition  struct  0+
            name       string  0+
            id         uuid    0+
            partition  int32   0+
        id                  uuid    0+
    start_offset              int64     0+
    end_offset                int64     0+
    broker_id                 int32     0+
    max_timestamp_ms          int64     0+
    event_timestamp_ms        int64     0+
    segment_leader_epochs     []struct  0+
        leader_epoch  int32  0+  means epoch
        offset        int64  0+
    segment_size_in_bytes     int32     0+
    custom_metadata           bytes     0+  null 0+  = null
    remote_log_segment_state  int8      0+  means remote_segment
    txn_index_empty           bool      0+  tag 0

message RemoteLogSegmentMetadataUpdateRecord
versions 0
flexible 0+
fields
    remote_log_segment_id     struct  0+
        topic_id_partition  struct  0+
            name       string  0+
            id         uuid    0+
            partition  int32   0+
        id                  uuid    0+
    broker_id                 int32   0+
    event_timestamp_ms        int64   0+
    custom_metadata           bytes   0+  null 0+  = null
    remote_log_segment_state  int8    0+  means remote_segment

message RemotePartitionDeleteMetadataRecord
versions 0
flexible 0+
fields
    topic_id_partition             struct  0+
        name       string  0+
        id         uuid    0+
        partition  int32   0+
    broker_id                      int32   0+
    event_timestamp_ms             int64   0+
    remote_partition_delete_state  int8    0+  means remote_delete

message RemoteLogSegmentMetadataSnapshotRecord
versions 0
flexible 0+
fields
    segment_id                uuid      0+
    start_offset              int64     0+
    end_offset                int64     0+
    broker_id                 int32     0+
    max_timestamp_ms          int64     0+
    event_timestamp_ms        int64     0+
    segment_leader_epochs     []struct  0+
        leader_epoch  int32  0+  means epoch
        offset        int64  0+
    segment_size_in_bytes     int32     0+
    custom_metadata           bytes     0+  null 0+  = null
    remote_log_segment_state  int8      0+  means remote_segment
    txn_index_empty           bool      0+  tag 0
"""
