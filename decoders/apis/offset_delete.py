"""OffsetDelete: deletes committed offsets of single partitions of a group (KIP-496)."""

DECLARATION = """
api 47 OffsetDelete
versions 0
flexible none
listeners broker
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
