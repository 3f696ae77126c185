"""BeginQuorumEpoch: the new KRaft leader announces itself to the voters (KIP-595, KIP-853)."""

DECLARATION = """
api 53 BeginQuorumEpoch
versions 0-1
flexible 1+
listeners controller
route any
    # among the voters of a quorum; each is meant by the connection alone
sent by controller
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED INCONSISTENT_CLUSTER_ID FENCED_LEADER_EPOCH INVALID_REQUEST
    INCONSISTENT_VOTER_SET INVALID_VOTER_KEY
line leader >topics[].partitions[].leader_id  epoch >topics[].partitions[].leader_epoch
example {"cluster_id": "kw-example", "voter_id": -1, "topics": [], "leader_endpoints": []}
    # a quorum refuses what comes from another cluster before it looks at the rest
request
    cluster_id        string    0+  null 0+  = null
    voter_id          int32     1+  = -1  ignorable  is brokerId  means broker
    topics            []struct  0+
        topic_name  string    0+  is topicName
        partitions  []struct  0+
            partition_index     int32  0+
            voter_directory_id  uuid   1+  ignorable
            leader_id           int32  0+  is brokerId  means broker
            leader_epoch        int32  0+  means epoch
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
"""
