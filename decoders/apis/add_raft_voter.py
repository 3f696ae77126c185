"""AddRaftVoter: adds a controller to the KRaft voters (KIP-853)."""

DECLARATION = """
api 80 AddRaftVoter
versions 0-1
flexible 0+
listeners controller broker
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
