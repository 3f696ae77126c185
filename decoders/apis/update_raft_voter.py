"""UpdateRaftVoter: a KRaft voter updates its endpoints and versions (KIP-853)."""

DECLARATION = """
api 82 UpdateRaftVoter
versions 0
flexible 0+
listeners controller
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
