"""DeleteShareGroupState: deletes the persisted delivery state of a share group's partitions (KIP-932)."""

DECLARATION = """
api 86 DeleteShareGroupState
versions 0
flexible 0+
listeners broker
route share group_id topics[].topic_id topics[].partitions[].partition
sent by broker
mutates
errors_listed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR INVALID_REQUEST GROUP_ID_NOT_FOUND
    UNKNOWN_TOPIC_OR_PARTITION FENCED_STATE_EPOCH
errors_observed CLUSTER_AUTHORIZATION_FAILED
line group >group_id  >topics[]/partitions[].partition:parts
example {"group_id": "kw-example", "topics": []}
request
    group_id  string    0+
    topics    []struct  0+
        topic_id    uuid      0+
        partitions  []struct  0+
            partition  int32  0+
response
    results  []struct  0+
        topic_id    uuid      0+
        partitions  []struct  0+
            partition      int32   0+
            error_code     int16   0+
            error_message  string  0+  null 0+  = null
"""
