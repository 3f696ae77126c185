"""AssignReplicasToDirs: a broker tells the controller in which log directory replicas lie (KIP-858)."""

DECLARATION = """
api 73 AssignReplicasToDirs
versions 0
flexible 0+
listeners controller
route controller
sent by broker
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED NOT_CONTROLLER STALE_BROKER_EPOCH BROKER_ID_NOT_REGISTERED UNKNOWN_TOPIC_ID
    UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER
line broker >broker_id  >directories[].topics[]/partitions[].partition_index:parts  to >directories[].id
example {"broker_id": -1, "broker_epoch": -1, "directories": []}
request
    broker_id     int32     0+  is brokerId
    broker_epoch  int64     0+  = -1  means epoch
    directories   []struct  0+
        id      uuid      0+
        topics  []struct  0+
            topic_id    uuid      0+
            partitions  []struct  0+
                partition_index  int32  0+
response
    throttle_time_ms  int32     0+
    error_code        int16     0+
    directories       []struct  0+
        id      uuid      0+
        topics  []struct  0+
            topic_id    uuid      0+
            partitions  []struct  0+
                partition_index  int32  0+
                error_code       int16  0+
"""
