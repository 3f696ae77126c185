"""ElectLeaders: starts a preferred or unclean leader election (KIP-183, KIP-460)."""

DECLARATION = """
api 43 ElectLeaders
versions 0-2
flexible 2+
listeners broker controller
was ElectPreferredLeaders
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
