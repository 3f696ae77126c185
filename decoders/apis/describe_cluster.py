"""DescribeCluster: shows cluster id, controller and nodes (KIP-700, KIP-919 controllers, KIP-1073 fenced brokers)."""

DECLARATION = """
api 60 DescribeCluster
versions 0-2
flexible 0+
listeners broker controller
route any
sent by tool
errors_observed MISMATCHED_ENDPOINT_TYPE UNSUPPORTED_ENDPOINT_TYPE INVALID_REQUEST
line → <brokers[].broker_id:count:broker  cluster <cluster_id  controller <controller_id:known
    >endpoint_type:word:endpoint
example
    # type 1 is brokers, 2 controllers
    {"include_cluster_authorized_operations": false, "endpoint_type": 1, "include_fenced_brokers": false,
     "endpoint_type@controller": 2}
request
    include_cluster_authorized_operations  bool  0+
    endpoint_type                          int8  1+  = 1  means endpoint
    include_fenced_brokers                 bool  2+
response
    throttle_time_ms               int32     0+
    error_code                     int16     0+
    error_message                  string    0+  null 0+  = null
    endpoint_type                  int8      1+  = 1  means endpoint
    cluster_id                     string    0+
    controller_id                  int32     0+  = -1  is brokerId  means broker
    brokers                        []struct  0+
        broker_id  int32   0+  key  is brokerId
        host       string  0+
        port       int32   0+
        rack       string  0+  null 0+  = null
        is_fenced  bool    2+
    cluster_authorized_operations  int32     0+  = -2147483648  means operations
"""
