"""JoinGroup: a member joins a classic group and offers its protocols (KIP-394, KIP-345, KIP-559, KIP-800)."""

DECLARATION = """
api 11 JoinGroup
versions 0-9
flexible 6+
listeners broker
route group group_id
sent by client
mutates
errors_observed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    INVALID_GROUP_ID UNKNOWN_MEMBER_ID INVALID_SESSION_TIMEOUT INCONSISTENT_GROUP_PROTOCOL REBALANCE_IN_PROGRESS
    MEMBER_ID_REQUIRED GROUP_MAX_SIZE_REACHED FENCED_INSTANCE_ID
errors_expected MEMBER_ID_REQUIRED (KIP-394) a new member gets its id first, and joins with it
line group >group_id  → gen <generation_id:known  with <members[].member_id:count:member
    <protocol_name|>protocols[].name  <member_id:member|>member_id:member  >group_instance_id  >reason
example
    # with an empty member id it would become one
    {"group_id": "kw-example", "session_timeout_ms": 30000, "rebalance_timeout_ms": 30000, "member_id": "kw-example",
     "group_instance_id": null, "protocol_type": "consumer", "protocols": [], "reason": null}
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
