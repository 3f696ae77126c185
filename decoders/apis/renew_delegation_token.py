"""RenewDelegationToken: puts a delegation token's expiry off (KIP-48)."""

DECLARATION = """
api 39 RenewDelegationToken
versions 0-2
flexible 2+
listeners broker controller
request
    hmac             bytes  0+  secret
    renew_period_ms  int64  0+  means broker_default
response
    error_code           int16  0+
    expiry_timestamp_ms  int64  0+
    throttle_time_ms     int32  0+
"""
