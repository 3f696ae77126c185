"""Heartbeat: a member of a classic group says that it is alive, and hears of a rebalance (KIP-345)."""

DECLARATION = """
api 12 Heartbeat
versions 0-4
flexible 4+
listeners broker
route group group_id
sent by client
mutates
    # prolongs a member's session
errors_observed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    INVALID_GROUP_ID UNKNOWN_MEMBER_ID ILLEGAL_GENERATION REBALANCE_IN_PROGRESS FENCED_INSTANCE_ID
errors_expected
    REBALANCE_IN_PROGRESS (group membership protocol, KIP-62) how a member learns that its group rebalances: it joins
        again
line group >group_id  gen >generation_id:known  >member_id:member  >group_instance_id
example {"group_id": "kw-example", "generation_id": -1, "member_id": "kw-example", "group_instance_id": null}
request
    group_id           string  0+  is groupId
    generation_id      int32   0+  means generation  was generationid
    member_id          string  0+
    group_instance_id  string  3+  null 3+  = null
response
    throttle_time_ms  int32  1+  ignorable
    error_code        int16  0+
"""
