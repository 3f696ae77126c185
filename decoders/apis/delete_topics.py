"""DeleteTopics: deletes topics, named or by id (KIP-4, KIP-516, KIP-599)."""

DECLARATION = """
api 20 DeleteTopics
versions 0-6
flexible 4+
listeners broker controller
route controller
sent by tool
mutates
errors_observed UNKNOWN_TOPIC_OR_PARTITION NOT_CONTROLLER TOPIC_AUTHORIZATION_FAILED TOPIC_DELETION_DISABLED
    REQUEST_TIMED_OUT THROTTLING_QUOTA_EXCEEDED UNKNOWN_TOPIC_ID INVALID_REQUEST
line >topics[]:topics|>topic_names|<responses[]:topics
example {"topics": [], "topic_names": [], "timeout_ms": 30000}
request
    topics       []struct  6+
        name      string  6+  null 6+  = null  is topicName
        topic_id  uuid    6+
    topic_names  []string  0-5  ignorable  is topicName
    timeout_ms   int32     0+
response
    throttle_time_ms  int32     1+  ignorable
    responses         []struct  0+
        name           string  0+  null 6+  key  is topicName
        topic_id       uuid    6+  ignorable
        error_code     int16   0+
        error_message  string  5+  null 5+  = null  ignorable
"""
