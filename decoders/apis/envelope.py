"""Envelope: a broker forwards a client's request to the controller, with the client's principal (KIP-590)."""

DECLARATION = """
api 58 Envelope
versions 0
flexible 0+
listeners controller
request
    request_data         bytes  0+  secret
    request_principal    bytes  0+  null 0+
    client_host_address  bytes  0+
response
    response_data  bytes  0+  null 0+  = null  secret
    error_code     int16  0+
"""
