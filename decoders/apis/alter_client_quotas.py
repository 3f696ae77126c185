"""AlterClientQuotas: sets and removes quotas of users, client ids and addresses (KIP-546)."""

DECLARATION = """
api 49 AlterClientQuotas
versions 0-1
flexible 1+
listeners broker controller
route controller
sent by tool
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED INVALID_REQUEST NOT_CONTROLLER
line >entries[].entity[].entity_type  >entries[].entity[].entity_name  >entries[].ops[].key
example {"entries": [], "validate_only": false}
request
    entries        []struct  0+
        entity  []struct  0+
            entity_type  string  0+
            entity_name  string  0+  null 0+
        ops     []struct  0+
            key     string   0+
            value   float64  0+
            remove  bool     0+
    validate_only  bool      0+
response
    throttle_time_ms  int32     0+
    entries           []struct  0+
        error_code     int16     0+
        error_message  string    0+  null 0+
        entity         []struct  0+
            entity_type  string  0+
            entity_name  string  0+  null 0+
"""
