"""ShareGroupDescribe: shows share groups, their members and assignments (KIP-932)."""

DECLARATION = """
api 77 ShareGroupDescribe
versions 0-1
flexible 0+
listeners broker
route group group_ids[]
sent by tool
errors_listed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    INVALID_REQUEST INVALID_GROUP_ID GROUP_ID_NOT_FOUND TOPIC_AUTHORIZATION_FAILED
line group >group_ids  <groups[].group_state  <groups[].members[].member_id:count:member  <groups[].assignor_name
example {"group_ids": [], "include_authorized_operations": false}
request
    group_ids                      []string  0+  is groupId
    include_authorized_operations  bool      0+
response
    throttle_time_ms  int32     0+
    groups            []struct  0+
        error_code             int16     0+
        error_message          string    0+  null 0+  = null
        group_id               string    0+  is groupId
        group_state            string    0+
        group_epoch            int32     0+
        assignment_epoch       int32     0+
        assignor_name          string    0+
        members                []struct  0+
            member_id               string    0+
            rack_id                 string    0+  null 0+  = null
            member_epoch            int32     0+
            client_id               string    0+
            client_host             string    0+
            subscribed_topic_names  []string  0+  is topicName
            assignment              struct    0+
                topic_partitions  []struct  0+
                    topic_id    uuid     0+
                    topic_name  string   0+  is topicName
                    partitions  []int32  0+
        authorized_operations  int32     0+  = -2147483648  means operations
"""
