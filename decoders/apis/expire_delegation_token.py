"""ExpireDelegationToken: lets a delegation token expire, now or at a time (KIP-48)."""

DECLARATION = """
api 40 ExpireDelegationToken
versions 0-2
flexible 2+
listeners broker controller
request
    hmac                   bytes  0+  secret
    expiry_time_period_ms  int64  0+  means expiry
response
    error_code           int16  0+
    expiry_timestamp_ms  int64  0+
    throttle_time_ms     int32  0+
"""
