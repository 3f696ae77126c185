"""ControllerRegistration: a KRaft controller registers its endpoints and features (KIP-919)."""

DECLARATION = """
api 70 ControllerRegistration
versions 0
flexible 0+
listeners controller
route controller
sent by controller
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED NOT_CONTROLLER
line controller >controller_id  >listeners[].name
example
    # always accepted, so in nobody's way: of a controller that lacks no feature, which would keep the cluster
    # from upgrading it
    {"controller_id": -1, "incarnation_id": "kw-example-kw-exampleA", "zk_migration_ready": false, "listeners": [],
     "features": [{"name": "metadata.version", "min_supported_version": 0, "max_supported_version": 32767},
     {"name": "kraft.version", "min_supported_version": 0, "max_supported_version": 32767},
     {"name": "transaction.version", "min_supported_version": 0, "max_supported_version": 32767},
     {"name": "group.version", "min_supported_version": 0, "max_supported_version": 32767},
     {"name": "eligible.leader.replicas.version", "min_supported_version": 0, "max_supported_version": 32767},
     {"name": "share.version", "min_supported_version": 0, "max_supported_version": 32767}, {"name": "streams.version",
     "min_supported_version": 0, "max_supported_version": 32767}]}
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
