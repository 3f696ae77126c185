"""ShareFetch: a share consumer acquires records, and acknowledges earlier ones (KIP-932)."""

DECLARATION = """
api 78 ShareFetch
versions 0-2
flexible 0+
listeners broker
route leader topics[].topic_id topics[].partitions[].partition_index
sent by client
mutates
    # takes records out of others' reach
errors_listed GROUP_AUTHORIZATION_FAILED TOPIC_AUTHORIZATION_FAILED SHARE_SESSION_NOT_FOUND INVALID_SHARE_SESSION_EPOCH
    UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_ID INVALID_RECORD_STATE KAFKA_STORAGE_ERROR
    CORRUPT_MESSAGE INVALID_REQUEST UNKNOWN_SERVER_ERROR
errors_observed SHARE_SESSION_LIMIT_REACHED FENCED_LEADER_EPOCH
errors_expected
    SHARE_SESSION_NOT_FOUND (KIP-932) the broker forgot the share session, as it may at any time: the client opens
        another
    INVALID_SHARE_SESSION_EPOCH (KIP-932) the share session went on without the client: it opens another
example
    # the end of a session
    {"group_id": "kw-example", "member_id": "kw-example-kw-exampleA", "share_session_epoch": -1, "is_renew_ack": false,
     "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 52428800, "max_records": 500, "batch_size": 500,
     "share_acquire_mode": 0, "topics": [], "forgotten_topics_data": []}
request
    group_id               string    0+  null 0+  = null  is groupId
    member_id              string    0+  null 0+
    share_session_epoch    int32     0+  means session_epoch
    max_wait_ms            int32     0+
    min_bytes              int32     0+
    max_bytes              int32     0+  = 2147483647
    max_records            int32     1+
    batch_size             int32     1+
    share_acquire_mode     int8      2+  ignorable  means acquire
    is_renew_ack           bool      2+
    topics                 []struct  0+
        topic_id    uuid      0+  key
        partitions  []struct  0+
            partition_index          int32     0+  key
            partition_max_bytes      int32     0
            acknowledgement_batches  []struct  0+
                first_offset       int64   0+
                last_offset        int64   0+
                acknowledge_types  []int8  0+  means acknowledge
    forgotten_topics_data  []struct  0+
        topic_id    uuid     0+
        partitions  []int32  0+
response
    throttle_time_ms             int32     0+
    error_code                   int16     0+
    error_message                string    0+  null 0+  = null
    acquisition_lock_timeout_ms  int32     1+
    responses                    []struct  0+
        topic_id    uuid      0+  key
        partitions  []struct  0+
            partition_index            int32     0+
            error_code                 int16     0+
            error_message              string    0+  null 0+  = null
            acknowledge_error_code     int16     0+
            acknowledge_error_message  string    0+  null 0+  = null
            current_leader             struct    0+
                leader_id     int32  0+  means broker
                leader_epoch  int32  0+  means epoch
            records                    records   0+  null 0  = null
            acquired_records           []struct  0+
                first_offset    int64  0+
                last_offset     int64  0+
                delivery_count  int16  0+
    node_endpoints               []struct  0+
        node_id  int32   0+  key  is brokerId
        host     string  0+
        port     int32   0+
        rack     string  0+  null 0+  = null
"""
