"""RemoveRaftVoter: takes a controller out of the KRaft voters (KIP-853)."""

DECLARATION = """
api 81 RemoveRaftVoter
versions 0
flexible 0+
listeners controller broker
request
    cluster_id          string  0+  null 0+
    voter_id            int32   0+
    voter_directory_id  uuid    0+
response
    throttle_time_ms  int32   0+
    error_code        int16   0+
    error_message     string  0+  null 0+  ignorable
"""
