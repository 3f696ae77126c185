"""DeleteShareGroupState: deletes the persisted delivery state of a share group's partitions (KIP-932)."""

DECLARATION = """
api 86 DeleteShareGroupState
versions 0
flexible 0+
listeners broker
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
