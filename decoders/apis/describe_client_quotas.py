"""DescribeClientQuotas: shows quotas of users, client ids and addresses (KIP-546)."""

DECLARATION = """
api 48 DescribeClientQuotas
versions 0-1
flexible 1+
listeners broker
route any
sent by tool
errors_observed CLUSTER_AUTHORIZATION_FAILED INVALID_REQUEST
line → <entries[].values[].key:count:quota  of >components[].entity_type
example {"components": [], "strict": false}
request
    components  []struct  0+
        entity_type  string  0+
        match_type   int8    0+  means match
        match        string  0+  null 0+
    strict      bool      0+
response
    throttle_time_ms  int32     0+
    error_code        int16     0+
    error_message     string    0+  null 0+
    entries           []struct  0+  null 0+
        entity  []struct  0+
            entity_type  string  0+
            entity_name  string  0+  null 0+
        values  []struct  0+
            key    string   0+
            value  float64  0+
"""
