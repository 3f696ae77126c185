"""BrokerHeartbeat: a broker tells the KRaft controller that it lives and whether it wants to be fenced or to stop
(KIP-631, KIP-858).
"""

DECLARATION = """
api 63 BrokerHeartbeat
versions 0-2
flexible 0+
listeners controller
route controller
sent by broker
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED NOT_CONTROLLER STALE_BROKER_EPOCH BROKER_ID_NOT_REGISTERED
    REQUEST_TIMED_OUT
line broker >broker_id  >want_fence:flag:wants_to_be_fenced  >want_shut_down:flag:wants_to_shut_down
    <is_fenced:flag:is_fenced  <should_shut_down:flag:may_shut_down  at offset >current_metadata_offset
example
    {"broker_id": -1, "broker_epoch": -1, "current_metadata_offset": -1, "want_fence": false, "want_shut_down": false}
request
    broker_id                int32   0+  is brokerId
    broker_epoch             int64   0+  = -1  means epoch
    current_metadata_offset  int64   0+
    want_fence               bool    0+
    want_shut_down           bool    0+
    offline_log_dirs         []uuid  1+  tag 0
    cordoned_log_dirs        []uuid  2+  null 2+  tag 1  = null
response
    throttle_time_ms  int32  0+
    error_code        int16  0+
    is_caught_up      bool   0+
    is_fenced         bool   0+  = true
    should_shut_down  bool   0+
"""
