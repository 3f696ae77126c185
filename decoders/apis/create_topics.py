"""CreateTopics: creates topics, or only checks whether they could be (KIP-4, KIP-525 shows the configs, KIP-599)."""

DECLARATION = """
api 19 CreateTopics
versions 0-7
flexible 5+
listeners broker controller
route controller
sent by tool broker
    # brokers: those created on first use
mutates
errors_observed TOPIC_ALREADY_EXISTS INVALID_TOPIC_EXCEPTION INVALID_PARTITIONS INVALID_REPLICATION_FACTOR
    INVALID_REPLICA_ASSIGNMENT INVALID_CONFIG NOT_CONTROLLER INVALID_REQUEST POLICY_VIOLATION TOPIC_AUTHORIZATION_FAILED
    CLUSTER_AUTHORIZATION_FAILED REQUEST_TIMED_OUT THROTTLING_QUOTA_EXCEEDED
example {"topics": [], "timeout_ms": 30000, "validate_only": false}
request
    topics         []struct  0+
        name                string    0+  key  is topicName
        num_partitions      int32     0+  means broker_default
        replication_factor  int16     0+  means broker_default
        assignments         []struct  0+
            partition_index  int32    0+  key
            broker_ids       []int32  0+  is brokerId
        configs             []struct  0+
            name   string  0+  key
            value  string  0+  null 0+  secret unless name
    timeout_ms     int32     0+  = 60000
    validate_only  bool      1+
response
    throttle_time_ms  int32     2+  ignorable
    topics            []struct  0+
        name                     string    0+  key  is topicName
        topic_id                 uuid      7+  ignorable
        error_code               int16     0+
        error_message            string    1+  null 1+  ignorable
        topic_config_error_code  int16     5+  tag 0  ignorable
        num_partitions           int32     5+  = -1  ignorable  means broker_default
        replication_factor       int16     5+  = -1  ignorable  means broker_default
        configs                  []struct  5+  null 5+  ignorable
            name           string  5+
            value          string  5+  null 5+  secret unless name
            read_only      bool    5+
            config_source  int8    5+  = -1  ignorable  means config_source
            is_sensitive   bool    5+
"""
