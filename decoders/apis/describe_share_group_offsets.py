"""DescribeShareGroupOffsets: shows from where share groups read (KIP-932)."""

DECLARATION = """
api 90 DescribeShareGroupOffsets
versions 0-1
flexible 0+
listeners broker
route group groups[].group_id
sent by tool
errors_listed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    TOPIC_AUTHORIZATION_FAILED GROUP_ID_NOT_FOUND INVALID_REQUEST UNKNOWN_SERVER_ERROR
line group >groups[].group_id
    <groups[].topics[]/partitions[].partition_index@start_offset:parts|>groups[].topics[]/partitions:parts
example {"groups": []}
request
    groups  []struct  0+
        group_id  string    0+  is groupId
        topics    []struct  0+  null 0+
            topic_name  string   0+  is topicName
            partitions  []int32  0+
response
    throttle_time_ms  int32     0+
    groups            []struct  0+
        group_id       string    0+  is groupId
        topics         []struct  0+
            topic_name  string    0+  is topicName
            topic_id    uuid      0+
            partitions  []struct  0+
                partition_index  int32   0+
                start_offset     int64   0+  means offset
                leader_epoch     int32   0+  means epoch
                lag              int64   1+  = -1  ignorable  means unknown
                error_code       int16   0+
                error_message    string  0+  null 0+  = null
        error_code     int16     0+
        error_message  string    0+  null 0+  = null
"""
