"""FetchSnapshot: a KRaft follower reads a piece of a metadata snapshot (KIP-630, KIP-853)."""

DECLARATION = """
api 59 FetchSnapshot
versions 0-1
flexible 0+
listeners controller
route controller
sent by broker controller
errors_observed CLUSTER_AUTHORIZATION_FAILED INCONSISTENT_CLUSTER_ID FENCED_LEADER_EPOCH INVALID_REQUEST
    SNAPSHOT_NOT_FOUND POSITION_OUT_OF_RANGE UNKNOWN_LEADER_EPOCH NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION
line >topics[]/partitions[].partition:parts  from byte >topics[].partitions[].position
    of <topics[].partitions[].size:size
example
    {"cluster_id": "kw-example", "replica_id": -1, "max_bytes": 52428800, "topics": [{"name": "kw-example",
     "partitions": [{"partition": -1, "current_leader_epoch": -1, "snapshot_id": {"end_offset": -1, "epoch": -1},
     "position": -1}]}]}
request
    cluster_id  string    0+  null 0+  tag 0  = null
    replica_id  int32     0+  = -1  is brokerId  means replica
    max_bytes   int32     0+  = 2147483647
    topics      []struct  0+
        name        string    0+  is topicName
        partitions  []struct  0+
            partition             int32   0+
            current_leader_epoch  int32   0+  means epoch
            snapshot_id           struct  0+
                end_offset  int64  0+  means unknown
                epoch       int32  0+
            position              int64   0+
            replica_directory_id  uuid    1+  tag 0  ignorable
response
    throttle_time_ms  int32     0+  ignorable
    error_code        int16     0+
    topics            []struct  0+
        name        string    0+  is topicName
        partitions  []struct  0+
            index              int32    0+
            error_code         int16    0+
            snapshot_id        struct   0+
                end_offset  int64  0+  means unknown
                epoch       int32  0+
            current_leader     struct   0+  tag 0
                leader_id     int32  0+  is brokerId  means broker
                leader_epoch  int32  0+  means epoch
            size               int64    0+
            position           int64    0+
            unaligned_records  records  0+
    node_endpoints    []struct  1+  tag 0
        node_id  int32   1+  key  is brokerId
        host     string  1+
        port     uint16  1+
"""
