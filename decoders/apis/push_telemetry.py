"""PushTelemetry: a client sends its metrics, compressed if agreed (KIP-714)."""

DECLARATION = """
api 72 PushTelemetry
versions 0
flexible 0+
listeners broker
route any
sent by client
mutates
errors_observed UNKNOWN_SUBSCRIPTION_ID TELEMETRY_TOO_LARGE THROTTLING_QUOTA_EXCEEDED UNSUPPORTED_COMPRESSION_TYPE
    INVALID_REQUEST INVALID_RECORD
errors_expected UNKNOWN_SUBSCRIPTION_ID (KIP-714) the subscription changed: the client asks for the new one
line subscription >subscription_id  >compression_type:word:codec  >terminating:flag:last  client >client_instance_id
example
    {"client_instance_id": "kw-example-kw-exampleA", "subscription_id": -1, "terminating": false, "compression_type": 0,
     "metrics": ""}
request
    client_instance_id  uuid   0+
    subscription_id     int32  0+
    terminating         bool   0+
    compression_type    int8   0+  means compression
    metrics             bytes  0+
response
    throttle_time_ms  int32  0+
    error_code        int16  0+
"""
