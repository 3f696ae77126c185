"""UnregisterBroker: removes a broker from the cluster for good (KIP-631)."""

DECLARATION = """
api 64 UnregisterBroker
versions 0
flexible 0+
listeners broker controller
route controller
sent by tool
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED NOT_CONTROLLER BROKER_ID_NOT_REGISTERED REQUEST_TIMED_OUT
line broker >broker_id
example {"broker_id": -1}
request
    broker_id  int32  0+  is brokerId
response
    throttle_time_ms  int32   0+
    error_code        int16   0+
    error_message     string  0+  null 0+
"""
