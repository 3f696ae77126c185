"""ElectLeaders: starts a preferred or unclean leader election (KIP-183, KIP-460)."""

DECLARATION = """
api 43 ElectLeaders
versions 0-2
flexible 2+
listeners broker controller
was ElectPreferredLeaders
route controller
sent by tool
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED NOT_CONTROLLER UNKNOWN_TOPIC_OR_PARTITION PREFERRED_LEADER_NOT_AVAILABLE
    ELIGIBLE_LEADERS_NOT_AVAILABLE ELECTION_NOT_NEEDED REQUEST_TIMED_OUT INVALID_REQUEST
errors_expected ELECTION_NOT_NEEDED (KIP-460) the leader is the one that the election would give
line >election_type:word:election  >topic_partitions[]/partitions:parts
example {"election_type": 0, "topic_partitions": [], "timeout_ms": 30000}
    # type 0 is the preferred one; null would be all partitions
request
    election_type     int8      1+  means election
    topic_partitions  []struct  0+  null 0+
        topic       string   0+  key  is topicName
        partitions  []int32  0+  was partition_id
    timeout_ms        int32     0+  = 60000
response
    throttle_time_ms          int32     0+
    error_code                int16     1+
    replica_election_results  []struct  0+
        topic             string    0+  is topicName
        partition_result  []struct  0+
            partition_id   int32   0+
            error_code     int16   0+
            error_message  string  0+  null 0+
"""
