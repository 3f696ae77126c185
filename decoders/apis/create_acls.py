"""CreateAcls: adds access rules (KIP-140, KIP-290 patterns)."""

DECLARATION = """
api 30 CreateAcls
versions 0-3
flexible 2+
listeners broker controller
route controller
sent by tool
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED SECURITY_DISABLED INVALID_REQUEST NOT_CONTROLLER REQUEST_TIMED_OUT
line >creations[].resource_type:word:acl >creations[].resource_name
    >creations[].permission_type:word:permission >creations[].operation:word:operation  to >creations[].principal
example {"creations": []}
request
    creations  []struct  0+
        resource_type          int8    0+  means acl_resource
        resource_name          string  0+
        resource_pattern_type  int8    1+  = 3  means pattern
        principal              string  0+
        host                   string  0+
        operation              int8    0+  means operation
        permission_type        int8    0+  means permission
response
    throttle_time_ms  int32     0+
    results           []struct  0+
        error_code     int16   0+
        error_message  string  0+  null 0+
"""
