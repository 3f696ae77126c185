"""JoinGroup: a member joins a classic group and offers its protocols (KIP-394, KIP-345, KIP-559, KIP-800)."""

DECLARATION = """
api 11 JoinGroup
versions 0-9
flexible 6+
listeners broker
request
    group_id              string    0+  is groupId
    session_timeout_ms    int32     0+
    rebalance_timeout_ms  int32     1+  = -1  ignorable
    member_id             string    0+
    group_instance_id     string    5+  null 5+  = null
    protocol_type         string    0+
    protocols             []struct  0+
        name      string  0+  key
        metadata  bytes   0+
    reason                string    8+  null 8+  = null  ignorable
response
    throttle_time_ms  int32     2+  ignorable
    error_code        int16     0+
    generation_id     int32     0+  = -1  means generation
    protocol_type     string    7+  null 7+  = null  ignorable
    protocol_name     string    0+  null 7+
    leader            string    0+
    skip_assignment   bool      9+
    member_id         string    0+
    members           []struct  0+
        member_id          string  0+
        group_instance_id  string  5+  null 5+  = null  ignorable
        metadata           bytes   0+
early request 0 in 0.8.2
    group_id                       string    0+  is groupId
    session_timeout                int32     0+
    topics                         []string  0+  is topicName
    consumer_id                    string    0+
    partition_assignment_strategy  string    0+
early response 0 in 0.8.2
    error_code           int16     0+
    group_generation_id  int32     0+
    consumer_id          string    0+
    assigned_partitions  []struct  0+
        topic       string   0+  is topicName
        partitions  []int32  0+
"""
