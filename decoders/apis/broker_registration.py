"""BrokerRegistration: a broker registers with the KRaft controller when it starts (KIP-631, KIP-858, KIP-866)."""

DECLARATION = """
api 62 BrokerRegistration
versions 0-4
flexible 0+
listeners controller
route controller
sent by broker
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED NOT_CONTROLLER DUPLICATE_BROKER_REGISTRATION INCONSISTENT_CLUSTER_ID
    INVALID_REGISTRATION BROKER_ID_NOT_REGISTERED
line broker >broker_id  → epoch <broker_epoch:known  >listeners[].name  rack >rack
example
    {"broker_id": -1, "cluster_id": "kw-example", "incarnation_id": "kw-example-kw-exampleA", "listeners": [],
     "features": [], "rack": null, "is_migrating_zk_broker": false, "log_dirs": [], "previous_broker_epoch": -1}
request
    broker_id               int32     0+  is brokerId
    cluster_id              string    0+
    incarnation_id          uuid      0+
    listeners               []struct  0+
        name               string  0+  key
        host               string  0+
        port               uint16  0+
        security_protocol  int16   0+  means security_protocol
    features                []struct  0+
        name                   string  0+  key
        min_supported_version  int16   0+
        max_supported_version  int16   0+
    rack                    string    0+  null 0+
    is_migrating_zk_broker  bool      1+
    log_dirs                []uuid    2+  ignorable
    previous_broker_epoch   int64     3+  = -1  ignorable  means epoch
response
    throttle_time_ms  int32  0+
    error_code        int16  0+
    broker_epoch      int64  0+  = -1  means epoch
"""
