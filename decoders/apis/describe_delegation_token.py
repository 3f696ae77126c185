"""DescribeDelegationToken: lists delegation tokens with their secrets (KIP-48, KIP-373)."""

DECLARATION = """
api 41 DescribeDelegationToken
versions 0-3
flexible 2+
listeners broker controller
route any
sent by tool
replay never
    # tokens are secrets of one cluster
errors_observed DELEGATION_TOKEN_AUTH_DISABLED DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
line → <tokens[].token_id:count:token  of >owners[].principal_name  <tokens[].token_id
example {"owners": null}
request
    owners  []struct  0+  null 0+
        principal_type  string  0+
        principal_name  string  0+
response
    error_code        int16     0+
    tokens            []struct  0+
        principal_type                  string    0+
        principal_name                  string    0+
        token_requester_principal_type  string    3+
        token_requester_principal_name  string    3+
        issue_timestamp                 int64     0+
        expiry_timestamp                int64     0+
        max_timestamp                   int64     0+
        token_id                        string    0+
        hmac                            bytes     0+  secret
        renewers                        []struct  0+
            principal_type  string  0+
            principal_name  string  0+
    throttle_time_ms  int32     0+
"""
