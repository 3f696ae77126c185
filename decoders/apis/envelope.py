"""Envelope: a broker forwards a client's request to the controller, with the client's principal (KIP-590)."""

DECLARATION = """
api 58 Envelope
versions 0
flexible 0+
listeners controller
route controller
sent by broker
mutates
    # carries any request
errors_observed CLUSTER_AUTHORIZATION_FAILED NOT_CONTROLLER PRINCIPAL_DESERIALIZATION_FAILURE INVALID_REQUEST
example {"request_data": "", "request_principal": "", "client_host_address": ""}
    # of nobody
request
    request_data         bytes  0+  secret
    request_principal    bytes  0+  null 0+
    client_host_address  bytes  0+
response
    response_data  bytes  0+  null 0+  = null  secret
    error_code     int16  0+
"""
