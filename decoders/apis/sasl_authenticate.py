"""SaslAuthenticate: carries one framed SASL token each way (KIP-152, KIP-368 session lifetime)."""

DECLARATION = """
api 36 SaslAuthenticate
versions 0-2
flexible 2+
listeners broker controller
route any
sent by client tool broker controller
replay never
    # logins are secrets of one cluster
errors_observed SASL_AUTHENTICATION_FAILED ILLEGAL_SASL_STATE
example {"auth_bytes": ""}
request
    auth_bytes  bytes  0+  secret
response
    error_code           int16   0+
    error_message        string  0+  null 0+
    auth_bytes           bytes   0+  secret
    session_lifetime_ms  int64   1+  ignorable  means lifetime
"""
