"""What workers of Connect tell their leader, and what it gives them: eager in version 0, else cooperative (KIP-415,
KIP-507). `allocation` is the assignment that a worker has, with its version before it.
"""

DECLARATION = """
message ConnectProtocolMetadata
versions 0-2
flexible none
fields
    url            string  0+
    config_offset  int64   0+
    allocation     bytes   1+  null 1+  = null

message ConnectProtocolAssignment
versions 0-2
flexible none
fields
    error            int16     0+
    leader           string    0+
    leader_url       string    0+
    config_offset    int64     0+
    assignment       []struct  0+  null 1+
        connector  string   0+
        tasks      []int32  0+
    revoked          []struct  1+  null 1+  = null
        connector  string   1+
        tasks      []int32  1+
    scheduled_delay  int32     1+
"""
