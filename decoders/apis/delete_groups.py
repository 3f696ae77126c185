"""DeleteGroups: deletes empty groups with their offsets (KIP-229)."""

DECLARATION = """
api 42 DeleteGroups
versions 0-3
flexible 2+
listeners broker
route group groups_names[]
sent by tool
mutates
errors_observed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    NON_EMPTY_GROUP GROUP_ID_NOT_FOUND INVALID_GROUP_ID GROUP_DELETION_FAILED
line group >groups_names
example {"groups_names": []}
request
    groups_names  []string  0+  is groupId
response
    throttle_time_ms  int32     0+
    results           []struct  0+
        group_id       string  0+  key  is groupId
        error_code     int16   0+
        error_message  string  3+  null 3+  = null  ignorable
"""
