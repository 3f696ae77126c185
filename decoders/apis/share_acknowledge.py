"""ShareAcknowledge: a share consumer acknowledges records without fetching (KIP-932)."""

DECLARATION = """
api 79 ShareAcknowledge
versions 0-2
flexible 0+
listeners broker
route leader topics[].topic_id topics[].partitions[].partition_index
sent by client
mutates
errors_listed GROUP_AUTHORIZATION_FAILED TOPIC_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION SHARE_SESSION_NOT_FOUND
    INVALID_SHARE_SESSION_EPOCH NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_ID INVALID_RECORD_STATE KAFKA_STORAGE_ERROR
    INVALID_REQUEST UNKNOWN_SERVER_ERROR
errors_expected
    SHARE_SESSION_NOT_FOUND (KIP-932) the broker forgot the share session, as it may at any time: the client opens
        another
    INVALID_SHARE_SESSION_EPOCH (KIP-932) the share session went on without the client: it opens another
line group >group_id  >topics[]/partitions[].partition_index:parts  session epoch >share_session_epoch
    >member_id:member
example
    # the end of a session
    {"group_id": "kw-example", "member_id": "kw-example-kw-exampleA", "share_session_epoch": -1, "is_renew_ack": false,
     "topics": []}
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
