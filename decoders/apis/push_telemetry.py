"""PushTelemetry: a client sends its metrics, compressed if agreed (KIP-714)."""

DECLARATION = """
api 72 PushTelemetry
versions 0
flexible 0+
listeners broker
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
