"""DeleteAcls: deletes the access rules that match filters (KIP-140, KIP-290 patterns)."""

DECLARATION = """
api 31 DeleteAcls
versions 0-3
flexible 2+
listeners broker controller
route controller
sent by tool
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED SECURITY_DISABLED INVALID_REQUEST NOT_CONTROLLER REQUEST_TIMED_OUT
line >filters[].resource_type_filter:word:acl  >filters[].resource_name_filter  of >filters[].principal_filter
    → <filter_results[].matching_acls[].principal:count:entry
example {"filters": []}
request
    filters  []struct  0+
        resource_type_filter  int8    0+  means acl_resource
        resource_name_filter  string  0+  null 0+
        pattern_type_filter   int8    1+  = 3  means pattern
        principal_filter      string  0+  null 0+
        host_filter           string  0+  null 0+
        operation             int8    0+  means operation
        permission_type       int8    0+  means permission
response
    throttle_time_ms  int32     0+
    filter_results    []struct  0+
        error_code     int16     0+
        error_message  string    0+  null 0+
        matching_acls  []struct  0+
            error_code       int16   0+
            error_message    string  0+  null 0+
            resource_type    int8    0+  means acl_resource
            resource_name    string  0+
            pattern_type     int8    1+  = 3  means pattern
            principal        string  0+
            host             string  0+
            operation        int8    0+  means operation
            permission_type  int8    0+  means permission
"""
