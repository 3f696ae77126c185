"""SyncGroup: the leader of a classic group hands out assignments, every member fetches its own (KIP-345, KIP-559)."""

DECLARATION = """
api 14 SyncGroup
versions 0-5
flexible 4+
listeners broker
request
    group_id           string    0+  is groupId
    generation_id      int32     0+  means generation
    member_id          string    0+
    group_instance_id  string    3+  null 3+  = null
    protocol_type      string    5+  null 5+  = null  ignorable
    protocol_name      string    5+  null 5+  = null  ignorable
    assignments        []struct  0+
        member_id   string  0+
        assignment  bytes   0+
response
    throttle_time_ms  int32   1+  ignorable
    error_code        int16   0+
    protocol_type     string  5+  null 5+  = null  ignorable
    protocol_name     string  5+  null 5+  = null  ignorable
    assignment        bytes   0+
"""
