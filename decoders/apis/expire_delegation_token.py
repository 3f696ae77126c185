"""ExpireDelegationToken: lets a delegation token expire, now or at a time (KIP-48)."""

DECLARATION = """
api 40 ExpireDelegationToken
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
line in >expiry_time_period_ms:period
example {"hmac": "kw-example", "expiry_time_period_ms": -1}
request
    hmac                   bytes  0+  secret
    expiry_time_period_ms  int64  0+  means expiry
response
    error_code           int16  0+
    expiry_timestamp_ms  int64  0+
    throttle_time_ms     int32  0+
"""
