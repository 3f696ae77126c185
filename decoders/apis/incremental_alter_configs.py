"""IncrementalAlterConfigs: sets, deletes, appends to or subtracts from single settings (KIP-339)."""

DECLARATION = """
api 44 IncrementalAlterConfigs
versions 0-1
flexible 1+
listeners broker controller
route resource resources[].resource_type resources[].resource_name
sent by tool
mutates
errors_observed TOPIC_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED INVALID_REQUEST
    INVALID_CONFIG POLICY_VIOLATION UNKNOWN_TOPIC_OR_PARTITION INVALID_TOPIC_EXCEPTION NOT_CONTROLLER
line >resources[].resource_type:word:config >resources[].resource_name  change >resources[].configs[].name
    >validate_only:flag:validate_only
example {"resources": [], "validate_only": false}
request
    resources      []struct  0+
        resource_type  int8      0+  key  means config_resource
        resource_name  string    0+  key
        configs        []struct  0+
            name              string  0+  key
            config_operation  int8    0+  key  means config_operation
            value             string  0+  null 0+  secret unless name
    validate_only  bool      0+
response
    throttle_time_ms  int32     0+
    responses         []struct  0+
        error_code     int16   0+
        error_message  string  0+  null 0+
        resource_type  int8    0+  means config_resource
        resource_name  string  0+
"""
