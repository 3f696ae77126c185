"""SaslHandshake: a client names its SASL mechanism; after version 0 raw tokens follow, after 1 framed ones (KIP-43,
KIP-152).
"""

DECLARATION = """
api 17 SaslHandshake
versions 0-1
flexible none
listeners broker controller
request
    mechanism  string  0+
response
    error_code  int16     0+
    mechanisms  []string  0+
"""
