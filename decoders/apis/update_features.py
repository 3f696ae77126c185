"""UpdateFeatures: raises or lowers the finalised feature levels of the cluster (KIP-584)."""

DECLARATION = """
api 57 UpdateFeatures
versions 0-2
flexible 0+
listeners broker controller
route controller
sent by tool
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED NOT_CONTROLLER INVALID_REQUEST FEATURE_UPDATE_FAILED INVALID_UPDATE_VERSION
line >feature_updates[].feature  to level >feature_updates[].max_version_level  >validate_only:flag:validate_only
example {"timeout_ms": 30000, "feature_updates": [], "validate_only": false}
request
    timeout_ms       int32     0+  = 60000
    feature_updates  []struct  0+
        feature            string  0+  key
        max_version_level  int16   0+  means feature_level
        allow_downgrade    bool    0
        upgrade_type       int8    1+  = 1  means upgrade
    validate_only    bool      1+
response
    throttle_time_ms  int32     0+
    error_code        int16     0+
    error_message     string    0+   null 0+
    results           []struct  0-1  ignorable
        feature        string  0-1  key
        error_code     int16   0-1
        error_message  string  0-1  null 0-1
"""
