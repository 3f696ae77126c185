"""SaslHandshake: a client names its SASL mechanism; after version 0 raw tokens follow, after 1 framed ones (KIP-43,
KIP-152).
"""

DECLARATION = """
api 17 SaslHandshake
versions 0-1
flexible none
listeners broker controller
route any
sent by client tool broker controller
replay never
    # logins are secrets of one cluster
errors_observed UNSUPPORTED_SASL_MECHANISM ILLEGAL_SASL_STATE
line >mechanism  brokers offer <mechanisms
example {"mechanism": "PLAIN"}
request
    mechanism  string  0+
response
    error_code  int16     0+
    mechanisms  []string  0+
"""
