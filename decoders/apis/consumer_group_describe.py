"""ConsumerGroupDescribe: shows new-protocol consumer groups with current and target assignments (KIP-848)."""

DECLARATION = """
api 69 ConsumerGroupDescribe
versions 0-1
flexible 0+
listeners broker
route group group_ids[]
sent by tool
errors_listed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    INVALID_REQUEST INVALID_GROUP_ID GROUP_ID_NOT_FOUND TOPIC_AUTHORIZATION_FAILED
errors_expected GROUP_ID_NOT_FOUND (KIP-848) no group of the new protocol: the client asks the old way
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
            member_id               string      0+
            instance_id             string      0+  null 0+  = null
            rack_id                 string      0+  null 0+  = null
            member_epoch            int32       0+
            client_id               string      0+
            client_host             string      0+
            subscribed_topic_names  []string    0+  is topicName
            subscribed_topic_regex  string      0+  null 0+  = null
            assignment              Assignment  0+
            target_assignment       Assignment  0+
            member_type             int8        1+  = -1  ignorable  means member
        authorized_operations  int32     0+  = -2147483648  means operations
struct Assignment 0+
    topic_partitions  []TopicPartitions  0+
struct TopicPartitions 0+
    topic_id    uuid     0+
    topic_name  string   0+  is topicName
    partitions  []int32  0+
early response 0 in 3.7
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
            instance_id             string    0+  null 0+  = null
            rack_id                 string    0+  null 0+  = null
            member_epoch            int32     0+
            client_id               string    0+
            client_host             string    0+
            subscribed_topic_names  []string  0+  is topicName
            subscribed_topic_regex  string    0+  null 0+  = null
            assignment              struct    0+
                topic_partitions  []struct  0+
                    topic_id    uuid     0+
                    topic_name  string   0+  is topicName
                    partitions  []int32  0+
                error             int8      0+
                metadata_version  int32     0+
                metadata_bytes    bytes     0+
            target_assignment       struct    0+
                topic_partitions  []struct  0+
                    topic_id    uuid     0+
                    topic_name  string   0+  is topicName
                    partitions  []int32  0+
                error             int8      0+
                metadata_version  int32     0+
                metadata_bytes    bytes     0+
        authorized_operations  int32     0+  = -2147483648  means operations
"""
