"""LeaveGroup: members leave a classic group (KIP-345 several at once, KIP-800 with a reason)."""

DECLARATION = """
api 13 LeaveGroup
versions 0-5
flexible 4+
listeners broker
request
    group_id   string    0+   is groupId
    member_id  string    0-2
    members    []struct  3+
        member_id          string  3+
        group_instance_id  string  3+  null 3+  = null
        reason             string  5+  null 5+  = null  ignorable
response
    throttle_time_ms  int32     1+  ignorable
    error_code        int16     0+
    members           []struct  3+
        member_id          string  3+
        group_instance_id  string  3+  null 3+
        error_code         int16   3+
"""
