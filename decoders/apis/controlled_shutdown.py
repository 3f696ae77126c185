"""ControlledShutdown: a broker of a ZooKeeper cluster asks the controller to take its leaderships over (KIP-380)."""

DECLARATION = """
api 7 ControlledShutdown
versions 0-3
flexible 3+
listeners zkBroker controller
request
    broker_id     int32  0+  is brokerId
    broker_epoch  int64  2+  = -1  ignorable  means epoch
response
    error_code            int16     0+
    remaining_partitions  []struct  0+
        topic_name       string  0+  key  is topicName
        partition_index  int32   0+  key
"""
