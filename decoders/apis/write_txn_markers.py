"""WriteTxnMarkers: the transaction coordinator has commit or abort markers written to partitions (KIP-98, KIP-890)."""

DECLARATION = """
api 27 WriteTxnMarkers
versions 0-2
flexible 1+
listeners broker
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
