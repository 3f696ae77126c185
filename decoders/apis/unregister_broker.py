"""UnregisterBroker: removes a broker from the cluster for good (KIP-631)."""

DECLARATION = """
api 64 UnregisterBroker
versions 0
flexible 0+
listeners broker controller
request
    broker_id  int32  0+  is brokerId
response
    throttle_time_ms  int32   0+
    error_code        int16   0+
    error_message     string  0+  null 0+
"""
