"""AllocateProducerIds: a broker takes a block of producer ids from the controller (KIP-730)."""

DECLARATION = """
api 67 AllocateProducerIds
versions 0
flexible 0+
listeners controller
route controller
sent by broker
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED NOT_CONTROLLER STALE_BROKER_EPOCH BROKER_ID_NOT_REGISTERED
line broker >broker_id  → pids from <producer_id_start +<producer_id_len
example {"broker_id": -1, "broker_epoch": -1}
request
    broker_id     int32  0+  is brokerId
    broker_epoch  int64  0+  = -1  means epoch
response
    throttle_time_ms   int32  0+
    error_code         int16  0+
    producer_id_start  int64  0+  is producerId
    producer_id_len    int32  0+
"""
