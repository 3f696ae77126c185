"""DescribeUserScramCredentials: shows which SCRAM mechanisms users have, without their secrets (KIP-554)."""

DECLARATION = """
api 50 DescribeUserScramCredentials
versions 0
flexible 0+
listeners broker controller
route controller
sent by tool
errors_observed CLUSTER_AUTHORIZATION_FAILED RESOURCE_NOT_FOUND DUPLICATE_RESOURCE
line → <results[].user:count:user  <results[].user  asked >users[].name
example {"users": []}
request
    users  []struct  0+  null 0+
        name  string  0+
response
    throttle_time_ms  int32     0+
    error_code        int16     0+
    error_message     string    0+  null 0+
    results           []struct  0+
        user              string    0+
        error_code        int16     0+
        error_message     string    0+  null 0+
        credential_infos  []struct  0+
            mechanism   int8   0+  means mechanism
            iterations  int32  0+
"""
