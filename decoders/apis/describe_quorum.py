"""DescribeQuorum: shows the KRaft leader, and how far voters and observers have followed (KIP-595, KIP-836,
KIP-853).
"""

DECLARATION = """
api 55 DescribeQuorum
versions 0-2
flexible 0+
listeners broker controller
route controller
sent by tool
errors_observed CLUSTER_AUTHORIZATION_FAILED NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION INVALID_REQUEST
line → leader <topics[].partitions[].leader_id  epoch <topics[].partitions[].leader_epoch
    hw <topics[].partitions[].high_watermark  <topics[].partitions[].current_voters[].replica_id:count:voter
    <topics[].partitions[].observers[].replica_id:count:observer
example {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]}
request
    topics  []struct  0+
        topic_name  string    0+  is topicName
        partitions  []struct  0+
            partition_index  int32  0+
response
    error_code     int16     0+
    error_message  string    2+  null 2+  ignorable
    topics         []struct  0+
        topic_name  string    0+  is topicName
        partitions  []struct  0+
            partition_index  int32           0+
            error_code       int16           0+
            error_message    string          2+  null 2+  ignorable
            leader_id        int32           0+  is brokerId  means broker
            leader_epoch     int32           0+  means epoch
            high_watermark   int64           0+  means unknown
            current_voters   []ReplicaState  0+
            observers        []ReplicaState  0+
    nodes          []struct  2+
        node_id    int32     2+  key  is brokerId
        listeners  []struct  2+
            name  string  2+  key
            host  string  2+
            port  uint16  2+
struct ReplicaState 0+
    replica_id                int32  0+  is brokerId
    replica_directory_id      uuid   2+
    log_end_offset            int64  0+
    last_fetch_timestamp      int64  1+  = -1  ignorable  means unknown
    last_caught_up_timestamp  int64  1+  = -1  ignorable  means unknown
"""
