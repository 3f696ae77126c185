"""DeleteGroups: deletes empty groups with their offsets (KIP-229)."""

DECLARATION = """
api 42 DeleteGroups
versions 0-3
flexible 2+
listeners broker
request
    groups_names  []string  0+  is groupId
response
    throttle_time_ms  int32     0+
    results           []struct  0+
        group_id       string  0+  key  is groupId
        error_code     int16   0+
        error_message  string  3+  null 3+  = null  ignorable
"""
