"""AlterShareGroupOffsets: sets from where a share group reads (KIP-932)."""

DECLARATION = """
api 91 AlterShareGroupOffsets
versions 0
flexible 0+
listeners broker
route group group_id
sent by tool
mutates
errors_listed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    TOPIC_AUTHORIZATION_FAILED GROUP_ID_NOT_FOUND NON_EMPTY_GROUP KAFKA_STORAGE_ERROR INVALID_REQUEST
    UNKNOWN_SERVER_ERROR
errors_observed INVALID_GROUP_ID UNKNOWN_TOPIC_OR_PARTITION
line group >group_id  >topics[]/partitions[].partition_index@start_offset:parts
example {"group_id": "kw-example", "topics": []}
request
    group_id  string    0+  is groupId
    topics    []struct  0+
        topic_name  string    0+  key  is topicName
        partitions  []struct  0+
            partition_index  int32  0+
            start_offset     int64  0+
response
    throttle_time_ms  int32     0+
    error_code        int16     0+
    error_message     string    0+  null 0+  = null
    responses         []struct  0+
        topic_name  string    0+  key  is topicName
        topic_id    uuid      0+
        partitions  []struct  0+
            partition_index  int32   0+
            error_code       int16   0+
            error_message    string  0+  null 0+  = null
"""
