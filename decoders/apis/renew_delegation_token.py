"""RenewDelegationToken: puts a delegation token's expiry off (KIP-48)."""

DECLARATION = """
api 39 RenewDelegationToken
versions 0-2
flexible 2+
listeners broker controller
route controller
sent by tool
mutates
replay never
    # tokens are secrets of one cluster
errors_observed DELEGATION_TOKEN_AUTH_DISABLED DELEGATION_TOKEN_NOT_FOUND DELEGATION_TOKEN_OWNER_MISMATCH
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED DELEGATION_TOKEN_EXPIRED NOT_CONTROLLER
line for >renew_period_ms:period
example {"hmac": "kw-example", "renew_period_ms": -1}
request
    hmac             bytes  0+  secret
    renew_period_ms  int64  0+  means broker_default
response
    error_code           int16  0+
    expiry_timestamp_ms  int64  0+
    throttle_time_ms     int32  0+
"""
