"""DescribeConfigs: shows the settings of topics, brokers, groups and the like, and where they come from (KIP-133,
KIP-226, KIP-569).
"""

DECLARATION = """
api 32 DescribeConfigs
versions 0-4
flexible 4+
listeners broker controller
route resource resources[].resource_type resources[].resource_name
sent by tool
errors_observed TOPIC_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED INVALID_REQUEST
    INVALID_TOPIC_EXCEPTION UNKNOWN_TOPIC_OR_PARTITION
line >resources[].resource_type:word:config >resources[].resource_name  → <results[].configs[].name:count:entry
    asked >resources[].configuration_keys
example {"resources": [], "include_synonyms": false, "include_documentation": false}
request
    resources              []struct  0+
        resource_type       int8      0+  means config_resource
        resource_name       string    0+
        configuration_keys  []string  0+  null 0+
    include_synonyms       bool      1+  was include_synoyms
    include_documentation  bool      3+
response
    throttle_time_ms  int32     0+
    results           []struct  0+
        error_code     int16     0+
        error_message  string    0+  null 0+
        resource_type  int8      0+  means config_resource
        resource_name  string    0+
        configs        []struct  0+
            name           string    0+
            value          string    0+  null 0+  secret unless name
            read_only      bool      0+
            is_default     bool      0
            config_source  int8      1+  = -1  ignorable  means config_source
            is_sensitive   bool      0+
            synonyms       []struct  1+  ignorable
                name    string  1+
                value   string  1+  null 1+  secret unless name
                source  int8    1+  means config_source
            config_type    int8      3+  ignorable  means config_type
            documentation  string    3+  null 3+  ignorable
"""
