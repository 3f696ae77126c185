"""SyncGroup: the leader of a classic group hands out assignments, every member fetches its own (KIP-345, KIP-559)."""

DECLARATION = """
api 14 SyncGroup
versions 0-5
flexible 4+
listeners broker
route group group_id
sent by client
mutates
errors_observed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    INVALID_GROUP_ID UNKNOWN_MEMBER_ID ILLEGAL_GENERATION REBALANCE_IN_PROGRESS FENCED_INSTANCE_ID
    INCONSISTENT_GROUP_PROTOCOL
errors_expected
    REBALANCE_IN_PROGRESS (group membership protocol, KIP-62) how a member learns that its group rebalances: it joins
        again
line group >group_id  assigns to >assignments[].member_id:count:member  >protocol_name|<protocol_name
    gen >generation_id:known  >member_id:member  >group_instance_id
example
    {"group_id": "kw-example", "generation_id": -1, "member_id": "kw-example", "group_instance_id": null,
     "protocol_type": "consumer", "protocol_name": "range", "assignments": []}
request
    group_id           string    0+  is groupId
    generation_id      int32     0+  means generation
    member_id          string    0+
    group_instance_id  string    3+  null 3+  = null
    protocol_type      string    5+  null 5+  = null  ignorable
    protocol_name      string    5+  null 5+  = null  ignorable
    assignments        []struct  0+
        member_id   string  0+
        assignment  bytes   0+
response
    throttle_time_ms  int32   1+  ignorable
    error_code        int16   0+
    protocol_type     string  5+  null 5+  = null  ignorable
    protocol_name     string  5+  null 5+  = null  ignorable
    assignment        bytes   0+
"""
