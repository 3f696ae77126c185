"""OffsetDelete: deletes committed offsets of single partitions of a group (KIP-496)."""

DECLARATION = """
api 47 OffsetDelete
versions 0
flexible none
listeners broker
route group group_id
sent by tool
mutates
errors_observed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    TOPIC_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION INVALID_GROUP_ID GROUP_ID_NOT_FOUND NON_EMPTY_GROUP
    GROUP_SUBSCRIBED_TO_TOPIC
line group >group_id  >topics[]/partitions[].partition_index:parts
example {"group_id": "kw-example", "topics": []}
request
    group_id  string    0+  is groupId
    topics    []struct  0+
        name        string    0+  key  is topicName
        partitions  []struct  0+
            partition_index  int32  0+
response
    error_code        int16     0+
    throttle_time_ms  int32     0+  ignorable
    topics            []struct  0+
        name        string    0+  key  is topicName
        partitions  []struct  0+
            partition_index  int32  0+  key
            error_code       int16  0+
"""
