"""What members of classic consumer groups tell their leader, and what it gives them (KIP-429, KIP-792, KIP-881)."""

DECLARATION = """
message ConsumerProtocolSubscription
versions 0-3
flexible none
fields
    topics            []string  0+
    user_data         bytes     0+  null 0+  = null
    owned_partitions  []struct  1+  ignorable
        topic       string   1+  key  is topicName
        partitions  []int32  1+
    generation_id     int32     2+  = -1  ignorable  means generation
    rack_id           string    3+  null 3+  = null  ignorable

message ConsumerProtocolAssignment
versions 0-3
flexible none
fields
    assigned_partitions  []struct  0+
        topic       string   0+  key  is topicName
        partitions  []int32  0+
    user_data            bytes     0+  null 0+  = null
"""
