"""RemoveRaftVoter: takes a controller out of the KRaft voters (KIP-853)."""

DECLARATION = """
api 81 RemoveRaftVoter
versions 0
flexible 0+
listeners controller broker
route controller
sent by tool controller
mutates
replay never
    # a voter is known by its directory
errors_observed CLUSTER_AUTHORIZATION_FAILED INCONSISTENT_CLUSTER_ID INVALID_REQUEST VOTER_NOT_FOUND
    NOT_LEADER_OR_FOLLOWER REQUEST_TIMED_OUT
line voter >voter_id  directory >voter_directory_id
example {"cluster_id": "kw-example", "voter_id": -1, "voter_directory_id": "kw-example-kw-exampleA"}
    # a quorum refuses what comes from another cluster before it looks at the rest
request
    cluster_id          string  0+  null 0+
    voter_id            int32   0+
    voter_directory_id  uuid    0+
response
    throttle_time_ms  int32   0+
    error_code        int16   0+
    error_message     string  0+  null 0+  ignorable
"""
