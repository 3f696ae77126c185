"""CreateDelegationToken: makes a delegation token for oneself or another user (KIP-48, KIP-373)."""

DECLARATION = """
api 38 CreateDelegationToken
versions 0-3
flexible 2+
listeners broker controller
request
    owner_principal_type  string    3+  null 3+
    owner_principal_name  string    3+  null 3+
    renewers              []struct  0+
        principal_type  string  0+
        principal_name  string  0+
    max_lifetime_ms       int64     0+  means broker_default
response
    error_code                      int16   0+
    principal_type                  string  0+
    principal_name                  string  0+
    token_requester_principal_type  string  3+
    token_requester_principal_name  string  3+
    issue_timestamp_ms              int64   0+
    expiry_timestamp_ms             int64   0+
    max_timestamp_ms                int64   0+
    token_id                        string  0+
    hmac                            bytes   0+  secret
    throttle_time_ms                int32   0+
"""
