"""Heartbeat: a member of a classic group says that it is alive, and hears of a rebalance (KIP-345)."""

DECLARATION = """
api 12 Heartbeat
versions 0-4
flexible 4+
listeners broker
request
    group_id           string  0+  is groupId
    generation_id      int32   0+  means generation  was generationid
    member_id          string  0+
    group_instance_id  string  3+  null 3+  = null
response
    throttle_time_ms  int32  1+  ignorable
    error_code        int16  0+
"""
