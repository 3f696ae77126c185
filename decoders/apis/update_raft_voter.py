"""UpdateRaftVoter: a KRaft voter updates its endpoints and versions (KIP-853)."""

DECLARATION = """
api 82 UpdateRaftVoter
versions 0
flexible 0+
listeners controller
route controller
sent by controller
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED INCONSISTENT_CLUSTER_ID FENCED_LEADER_EPOCH INVALID_REQUEST
    UNKNOWN_LEADER_EPOCH VOTER_NOT_FOUND NOT_LEADER_OR_FOLLOWER REQUEST_TIMED_OUT
line voter >voter_id  directory >voter_directory_id  leader <current_leader.leader_id
example
    # a quorum refuses what comes from another cluster before it looks at the rest
    {"cluster_id": "kw-example", "voter_id": -1, "current_leader_epoch": -1,
     "voter_directory_id": "kw-example-kw-exampleA", "listeners": [],
     "kraft_version_feature": {"min_supported_version": 0, "max_supported_version": 1}}
request
    cluster_id             string    0+  null 0+
    current_leader_epoch   int32     0+  means epoch
    voter_id               int32     0+
    voter_directory_id     uuid      0+
    listeners              []struct  0+
        name  string  0+  key
        host  string  0+
        port  uint16  0+
    kraft_version_feature  struct    0+
        min_supported_version  int16  0+
        max_supported_version  int16  0+
response
    throttle_time_ms  int32   0+
    error_code        int16   0+
    current_leader    struct  0+  tag 0
        leader_id     int32   0+  = -1  is brokerId  means broker
        leader_epoch  int32   0+  = -1  means epoch
        host          string  0+
        port          int32   0+
"""
