"""FindCoordinator: asks which broker coordinates a group, a transactional id or a share (KIP-98, KIP-699, KIP-932)."""

DECLARATION = """
api 10 FindCoordinator
versions 0-6
flexible 3+
listeners broker
route any
sent by client tool broker
errors_observed COORDINATOR_NOT_AVAILABLE GROUP_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    INVALID_REQUEST INVALID_GROUP_ID
example {"key": "kw-example", "key_type": 0, "coordinator_keys": ["kw-example"]}
    # type 0 is a group's
request
    key               string    0-3
    key_type          int8      1+   means coordinator
    coordinator_keys  []string  4+
response
    throttle_time_ms  int32     1+   ignorable
    error_code        int16     0-3
    error_message     string    1-3  null 1-3  ignorable
    node_id           int32     0-3  is brokerId  means broker
    host              string    0-3
    port              int32     0-3
    coordinators      []struct  4+
        key            string  4+
        node_id        int32   4+  is brokerId  means broker
        host           string  4+
        port           int32   4+
        error_code     int16   4+
        error_message  string  4+  null 4+  ignorable
"""
