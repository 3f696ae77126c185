"""AddRaftVoter: adds a controller to the KRaft voters (KIP-853)."""

DECLARATION = """
api 80 AddRaftVoter
versions 0-1
flexible 0+
listeners controller broker
route controller
sent by tool controller
mutates
replay never
    # a voter is known by its directory
errors_observed CLUSTER_AUTHORIZATION_FAILED INCONSISTENT_CLUSTER_ID INVALID_REQUEST DUPLICATE_VOTER
    NOT_LEADER_OR_FOLLOWER REQUEST_TIMED_OUT
line voter >voter_id  directory >voter_directory_id  >listeners[].name
example
    # a quorum refuses what comes from another cluster before it looks at the rest
    {"cluster_id": "kw-example", "voter_id": -1, "timeout_ms": 30000, "voter_directory_id": "kw-example-kw-exampleA",
     "listeners": [], "ack_when_committed": true}
request
    cluster_id          string    0+  null 0+
    timeout_ms          int32     0+
    voter_id            int32     0+
    voter_directory_id  uuid      0+
    listeners           []struct  0+
        name  string  0+  key
        host  string  0+
        port  uint16  0+
    ack_when_committed  bool      1+  = true
response
    throttle_time_ms  int32   0+
    error_code        int16   0+
    error_message     string  0+  null 0+  ignorable
"""
