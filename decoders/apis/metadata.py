"""Metadata: tells which brokers, topics and partition leaders there are, and may create topics (KIP-4, KIP-430,
KIP-516).
"""

DECLARATION = """
api 3 Metadata
versions 0-13
flexible 9+
listeners broker
route any
sent by client tool
errors_observed UNKNOWN_TOPIC_OR_PARTITION LEADER_NOT_AVAILABLE REPLICA_NOT_AVAILABLE INVALID_TOPIC_EXCEPTION
    TOPIC_AUTHORIZATION_FAILED INVALID_REPLICATION_FACTOR LISTENER_NOT_FOUND UNKNOWN_TOPIC_ID REBOOTSTRAP_REQUIRED
    INVALID_REQUEST
example
    # of all topics
    {"topics": null, "topics@0": [], "allow_auto_topic_creation": false, "include_cluster_authorized_operations": false,
     "include_topic_authorized_operations": false}
request
    topics                                 []struct  0+    null 1+
        topic_id  uuid    10+  ignorable
        name      string  0+   null 10+  is topicName
    allow_auto_topic_creation              bool      4+    = true
    include_cluster_authorized_operations  bool      8-10
    include_topic_authorized_operations    bool      8+
response
    throttle_time_ms               int32     3+    ignorable
    brokers                        []struct  0+
        node_id  int32   0+  key  is brokerId
        host     string  0+
        port     int32   0+
        rack     string  1+  null 1+  = null  ignorable
    cluster_id                     string    2+    null 2+  = null  ignorable
    controller_id                  int32     1+    = -1  ignorable  is brokerId  means broker
    topics                         []struct  0+
        error_code                   int16     0+
        name                         string    0+   null 12+  key  is topicName
        topic_id                     uuid      10+  ignorable
        is_internal                  bool      1+   ignorable
        partitions                   []struct  0+
            error_code        int16    0+
            partition_index   int32    0+
            leader_id         int32    0+  is brokerId  means broker
            leader_epoch      int32    7+  = -1  ignorable  means epoch
            replica_nodes     []int32  0+  is brokerId
            isr_nodes         []int32  0+  is brokerId
            offline_replicas  []int32  5+  ignorable  is brokerId
        topic_authorized_operations  int32     8+   = -2147483648  means operations
    cluster_authorized_operations  int32     8-10  = -2147483648  means operations
    error_code                     int16     13+   ignorable
"""
