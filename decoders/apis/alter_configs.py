"""AlterConfigs: replaces the whole set of dynamic settings of a resource; superseded by IncrementalAlterConfigs
(KIP-133).
"""

DECLARATION = """
api 33 AlterConfigs
versions 0-2
flexible 2+
listeners broker controller
request
    resources      []struct  0+
        resource_type  int8      0+  key  means config_resource
        resource_name  string    0+  key
        configs        []struct  0+
            name   string  0+  key
            value  string  0+  null 0+  secret unless name
    validate_only  bool      0+
response
    throttle_time_ms  int32     0+
    responses         []struct  0+  was resources
        error_code     int16   0+
        error_message  string  0+  null 0+
        resource_type  int8    0+  means config_resource
        resource_name  string  0+
"""
