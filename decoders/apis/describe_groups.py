"""DescribeGroups: shows state, protocol, members and assignments of classic groups (KIP-345, KIP-430, KIP-1043)."""

DECLARATION = """
api 15 DescribeGroups
versions 0-6
flexible 5+
listeners broker
route group groups[]
sent by tool
errors_observed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    INVALID_GROUP_ID GROUP_ID_NOT_FOUND
line group >groups  <groups[].group_state  <groups[].members[].member_id:count:member  <groups[].protocol_data
example {"groups": [], "include_authorized_operations": false}
request
    groups                         []string  0+  is groupId
    include_authorized_operations  bool      3+
response
    throttle_time_ms  int32     1+  ignorable
    groups            []struct  0+
        error_code             int16     0+
        error_message          string    6+  null 6+  = null
        group_id               string    0+  is groupId
        group_state            string    0+
        protocol_type          string    0+
        protocol_data          string    0+
        members                []struct  0+
            member_id          string  0+
            group_instance_id  string  4+  null 4+  = null  ignorable
            client_id          string  0+
            client_host        string  0+
            member_metadata    bytes   0+
            member_assignment  bytes   0+
        authorized_operations  int32     3+  = -2147483648  means operations
"""
