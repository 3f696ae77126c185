"""WriteTxnMarkers: the transaction coordinator has commit or abort markers written to partitions (KIP-98, KIP-890)."""

DECLARATION = """
api 27 WriteTxnMarkers
versions 0-2
flexible 1+
listeners broker
route leader markers[].topics[].name markers[].topics[].partition_indexes[]
sent by tool broker
    # tools: to abort a hanging transaction
mutates
replay never
    # a coordinator's, with its epoch
errors_observed CLUSTER_AUTHORIZATION_FAILED NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION CORRUPT_MESSAGE
    INVALID_PRODUCER_EPOCH TRANSACTION_COORDINATOR_FENCED UNSUPPORTED_FOR_MESSAGE_FORMAT NOT_ENOUGH_REPLICAS
    NOT_ENOUGH_REPLICAS_AFTER_APPEND KAFKA_STORAGE_ERROR REQUEST_TIMED_OUT
line >markers[].transaction_result:word:outcome  >markers[].topics[]/partition_indexes:parts  pid >markers[].producer_id
example {"markers": []}
request
    markers  []struct  0+
        producer_id          int64     0+  is producerId  means producer
        producer_epoch       int16     0+  means producer
        transaction_result   bool      0+
        topics               []struct  0+
            name               string   0+  is topicName
            partition_indexes  []int32  0+
        coordinator_epoch    int32     0+
        transaction_version  int8      2+  ignorable
response
    markers  []struct  0+
        producer_id  int64     0+  is producerId  means producer
        topics       []struct  0+
            name        string    0+  is topicName
            partitions  []struct  0+
                partition_index  int32  0+
                error_code       int16  0+
"""
