"""EndQuorumEpoch: a KRaft leader resigns and proposes successors (KIP-595, KIP-853)."""

DECLARATION = """
api 54 EndQuorumEpoch
versions 0-1
flexible 1+
listeners controller
route any
    # among the voters of a quorum; each is meant by the connection alone
sent by controller
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED INCONSISTENT_CLUSTER_ID FENCED_LEADER_EPOCH INVALID_REQUEST
    INCONSISTENT_VOTER_SET
line leader >topics[].partitions[].leader_id  epoch >topics[].partitions[].leader_epoch
example {"cluster_id": "kw-example", "topics": [], "leader_endpoints": []}
request
    cluster_id        string    0+  null 0+  = null
    topics            []struct  0+
        topic_name  string    0+  is topicName
        partitions  []struct  0+
            partition_index       int32     0+
            leader_id             int32     0+  is brokerId  means broker
            leader_epoch          int32     0+  means epoch
            preferred_successors  []int32   0   ignorable
            preferred_candidates  []struct  1+  ignorable
                candidate_id            int32  1+  is brokerId
                candidate_directory_id  uuid   1+
    leader_endpoints  []struct  1+  ignorable
        name  string  1+  key
        host  string  1+
        port  uint16  1+
response
    error_code      int16     0+
    topics          []struct  0+
        topic_name  string    0+  is topicName
        partitions  []struct  0+
            partition_index  int32  0+
            error_code       int16  0+
            leader_id        int32  0+  is brokerId  means broker
            leader_epoch     int32  0+  means epoch
    node_endpoints  []struct  1+  tag 0
        node_id  int32   1+  key  is brokerId
        host     string  1+
        port     uint16  1+
early request 0 in 2.7
    cluster_id  string    0+  null 0+  = null
    topics      []struct  0+
        topic_name  string    0+  is topicName
        partitions  []struct  0+
            partition_index       int32    0+
            replica_id            int32    0+
            leader_id             int32    0+  means broker
            leader_epoch          int32    0+  means epoch
            preferred_successors  []int32  0+
"""
