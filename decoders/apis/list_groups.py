"""ListGroups: lists the groups that a broker coordinates, by state and type if wanted (KIP-518, KIP-848)."""

DECLARATION = """
api 16 ListGroups
versions 0-5
flexible 3+
listeners broker
route all
sent by tool
errors_observed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE CLUSTER_AUTHORIZATION_FAILED
line → <groups[].group_id:count:group  <groups[].group_id  in state >states_filter  of type >types_filter
example {"states_filter": [], "types_filter": []}
request
    states_filter  []string  4+
    types_filter   []string  5+
response
    throttle_time_ms  int32     1+  ignorable
    error_code        int16     0+
    groups            []struct  0+
        group_id       string  0+  is groupId
        protocol_type  string  0+
        group_state    string  4+  ignorable
        group_type     string  5+  ignorable
"""
