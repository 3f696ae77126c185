"""CreateDelegationToken: makes a delegation token for oneself or another user (KIP-48, KIP-373)."""

DECLARATION = """
api 38 CreateDelegationToken
versions 0-3
flexible 2+
listeners broker controller
route controller
sent by tool
mutates
replay never
    # tokens are secrets of one cluster
errors_observed DELEGATION_TOKEN_AUTH_DISABLED DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    DELEGATION_TOKEN_AUTHORIZATION_FAILED INVALID_PRINCIPAL_TYPE NOT_CONTROLLER
line token <token_id  for >owner_principal_type >owner_principal_name  → <principal_type:any <principal_name
    max >max_lifetime_ms:period
example {"owner_principal_type": null, "owner_principal_name": null, "renewers": [], "max_lifetime_ms": 30000}
    # one that ends soon
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
