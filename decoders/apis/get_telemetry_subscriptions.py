"""GetTelemetrySubscriptions: a client asks which of its metrics the broker wants (KIP-714)."""

DECLARATION = """
api 71 GetTelemetrySubscriptions
versions 0
flexible 0+
listeners broker
route any
sent by client
errors_observed THROTTLING_QUOTA_EXCEEDED INVALID_REQUEST
line subscription <subscription_id  every <push_interval_ms:period  <requested_metrics:masks
    client <client_instance_id|>client_instance_id
example {"client_instance_id": "kw-example-kw-exampleA"}
request
    client_instance_id  uuid  0+
response
    throttle_time_ms            int32     0+
    error_code                  int16     0+
    client_instance_id          uuid      0+
    subscription_id             int32     0+
    accepted_compression_types  []int8    0+  means compression
    push_interval_ms            int32     0+
    telemetry_max_bytes         int32     0+
    delta_temporality           bool      0+
    requested_metrics           []string  0+
"""
