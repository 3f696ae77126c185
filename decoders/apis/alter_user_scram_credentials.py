"""AlterUserScramCredentials: sets and deletes users' SCRAM credentials (KIP-554)."""

DECLARATION = """
api 51 AlterUserScramCredentials
versions 0
flexible 0+
listeners broker controller
route controller
sent by tool
mutates
errors_observed CLUSTER_AUTHORIZATION_FAILED RESOURCE_NOT_FOUND DUPLICATE_RESOURCE UNACCEPTABLE_CREDENTIAL
    UNSUPPORTED_SASL_MECHANISM NOT_CONTROLLER
line set >upsertions[].name >upsertions[].mechanism:word:scram  delete >deletions[].name
example {"deletions": [], "upsertions": []}
request
    deletions   []struct  0+
        name       string  0+
        mechanism  int8    0+  means mechanism
    upsertions  []struct  0+
        name             string  0+
        mechanism        int8    0+  means mechanism
        iterations       int32   0+
        salt             bytes   0+  secret
        salted_password  bytes   0+  secret
response
    throttle_time_ms  int32     0+
    results           []struct  0+
        user           string  0+
        error_code     int16   0+
        error_message  string  0+  null 0+
"""
