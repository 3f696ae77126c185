"""ControllerRegistration: a KRaft controller registers its endpoints and features (KIP-919)."""

DECLARATION = """
api 70 ControllerRegistration
versions 0
flexible 0+
listeners controller
request
    controller_id       int32     0+
    incarnation_id      uuid      0+
    zk_migration_ready  bool      0+
    listeners           []struct  0+
        name               string  0+  key
        host               string  0+
        port               uint16  0+
        security_protocol  int16   0+  means security_protocol
    features            []struct  0+
        name                   string  0+  key
        min_supported_version  int16   0+
        max_supported_version  int16   0+
response
    throttle_time_ms  int32   0+
    error_code        int16   0+
    error_message     string  0+  null 0+
"""
