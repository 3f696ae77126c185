"""ControlledShutdown: a broker of a ZooKeeper cluster asks the controller to take its leaderships over (KIP-380)."""

DECLARATION = """
api 7 ControlledShutdown
versions 0-3
flexible 3+
listeners zkBroker controller
route controller
sent by broker
mutates
errors_observed STALE_BROKER_EPOCH CLUSTER_AUTHORIZATION_FAILED
line broker >broker_id  → <remaining_partitions[].partition_index:count:partition left
example {"broker_id": -1, "broker_epoch": -1}
request
    broker_id     int32  0+  is brokerId
    broker_epoch  int64  2+  = -1  ignorable  means epoch
response
    error_code            int16     0+
    remaining_partitions  []struct  0+
        topic_name       string  0+  key  is topicName
        partition_index  int32   0+  key
"""
