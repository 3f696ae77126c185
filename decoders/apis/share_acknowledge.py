"""ShareAcknowledge: a share consumer acknowledges records without fetching (KIP-932)."""

DECLARATION = """
api 79 ShareAcknowledge
versions 0-2
flexible 0+
listeners broker
request
    group_id             string    0+  null 0+  = null  is groupId
    member_id            string    0+  null 0+
    share_session_epoch  int32     0+  means session_epoch
    is_renew_ack         bool      2+
    topics               []struct  0+
        topic_id    uuid      0+  key
        partitions  []struct  0+
            partition_index          int32     0+  key
            acknowledgement_batches  []struct  0+
                first_offset       int64   0+
                last_offset        int64   0+
                acknowledge_types  []int8  0+  means acknowledge
response
    throttle_time_ms             int32     0+
    error_code                   int16     0+
    error_message                string    0+  null 0+  = null
    acquisition_lock_timeout_ms  int32     2+  ignorable
    responses                    []struct  0+
        topic_id    uuid      0+  key
        partitions  []struct  0+
            partition_index  int32   0+
            error_code       int16   0+
            error_message    string  0+  null 0+  = null
            current_leader   struct  0+
                leader_id     int32  0+  means broker
                leader_epoch  int32  0+  means epoch
    node_endpoints               []struct  0+
        node_id  int32   0+  key  is brokerId
        host     string  0+
        port     int32   0+
        rack     string  0+  null 0+  = null
"""
