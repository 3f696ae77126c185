"""ListConfigResources: lists the resources that have settings of their own (KIP-1000, KIP-1142)."""

DECLARATION = """
api 74 ListConfigResources
versions 0-1
flexible 0+
listeners broker
was ListClientMetricsResources
route any
sent by tool
errors_observed CLUSTER_AUTHORIZATION_FAILED
line → <config_resources[].resource_name:count:resource  <config_resources[].resource_name
example {"resource_types": []}
    # all types
request
    resource_types  []int8  1+  means config_resource
response
    throttle_time_ms  int32     0+
    error_code        int16     0+
    config_resources  []struct  0+  was client_metrics_resources
        resource_name  string  0+  was name
        resource_type  int8    1+  = 16  ignorable  means config_resource
"""
