"""DescribeAcls: lists the access rules that match a filter (KIP-140, KIP-290 patterns)."""

DECLARATION = """
api 29 DescribeAcls
versions 0-3
flexible 2+
listeners broker controller
route any
sent by tool
errors_observed CLUSTER_AUTHORIZATION_FAILED SECURITY_DISABLED INVALID_REQUEST
line >resource_type_filter:word:acl >resource_name_filter:any:*  of >principal_filter:any:anyone
    → <resources[].acls[].principal:count:entry
example
    # 1 is any
    {"resource_type_filter": 1, "resource_name_filter": null, "pattern_type_filter": 1, "principal_filter": null,
     "host_filter": null, "operation": 1, "permission_type": 1}
request
    resource_type_filter  int8    0+  means acl_resource  was resource_type
    resource_name_filter  string  0+  null 0+
    pattern_type_filter   int8    1+  = 3  means pattern  was resource_pattern_type
    principal_filter      string  0+  null 0+
    host_filter           string  0+  null 0+
    operation             int8    0+  means operation
    permission_type       int8    0+  means permission
response
    throttle_time_ms  int32     0+
    error_code        int16     0+
    error_message     string    0+  null 0+
    resources         []struct  0+
        resource_type  int8      0+  means acl_resource  was type
        resource_name  string    0+  was name
        pattern_type   int8      1+  = 3  means pattern
        acls           []struct  0+
            principal        string  0+
            host             string  0+
            operation        int8    0+  means operation
            permission_type  int8    0+  means permission
"""
