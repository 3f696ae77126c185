"""LeaveGroup: members leave a classic group (KIP-345 several at once, KIP-800 with a reason)."""

DECLARATION = """
api 13 LeaveGroup
versions 0-5
flexible 4+
listeners broker
route group group_id
sent by client tool
mutates
errors_observed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    INVALID_GROUP_ID UNKNOWN_MEMBER_ID FENCED_INSTANCE_ID
line group >group_id  >members[].member_id:member|>member_id:member  >members[].group_instance_id  >members[].reason
example {"group_id": "kw-example", "member_id": "kw-example", "members": []}
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
