"""DeleteShareGroupOffsets: makes a share group forget its place in topics (KIP-932)."""

DECLARATION = """
api 92 DeleteShareGroupOffsets
versions 0
flexible 0+
listeners broker
request
    group_id  string    0+  is groupId
    topics    []struct  0+
        topic_name  string  0+  is topicName
response
    throttle_time_ms  int32     0+
    error_code        int16     0+
    error_message     string    0+  null 0+  = null
    responses         []struct  0+
        topic_name     string  0+  is topicName
        topic_id       uuid    0+
        error_code     int16   0+
        error_message  string  0+  null 0+  = null
"""
