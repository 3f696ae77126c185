"""Vote: a KRaft candidate asks a voter for its vote (KIP-595, KIP-853, KIP-996 asks before it)."""

DECLARATION = """
api 52 Vote
versions 0-2
flexible 0+
listeners controller
route any
    # among the voters of a quorum; each is meant by the connection alone
sent by controller
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED INCONSISTENT_CLUSTER_ID FENCED_LEADER_EPOCH INVALID_REQUEST
    INCONSISTENT_VOTER_SET INVALID_VOTER_KEY
line candidate >topics[].partitions[].replica_id  epoch >topics[].partitions[].replica_epoch
    → <topics[].partitions[].vote_granted:word:vote  leader <topics[].partitions[].leader_id
example {"cluster_id": "kw-example", "voter_id": -1, "topics": []}
    # a quorum refuses what comes from another cluster before it looks at the rest
request
    cluster_id  string    0+  null 0+  = null
    voter_id    int32     1+  = -1  ignorable  is brokerId  means broker
    topics      []struct  0+
        topic_name  string    0+  is topicName
        partitions  []struct  0+
            partition_index       int32  0+
            replica_epoch         int32  0+  means epoch  was candidate_epoch
            replica_id            int32  0+  is brokerId  means replica  was candidate_id
            replica_directory_id  uuid   1+  ignorable  was candidate_directory_id
            voter_directory_id    uuid   1+  ignorable
            last_offset_epoch     int32  0+  means epoch
            last_offset           int64  0+
            pre_vote              bool   2+
response
    error_code      int16     0+
    topics          []struct  0+
        topic_name  string    0+  is topicName
        partitions  []struct  0+
            partition_index  int32  0+
            error_code       int16  0+
            leader_id        int32  0+  is brokerId  means broker
            leader_epoch     int32  0+  means epoch
            vote_granted     bool   0+
    node_endpoints  []struct  1+  tag 0
        node_id  int32   1+  key  is brokerId
        host     string  1+
        port     uint16  1+
"""
