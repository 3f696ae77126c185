"""ConsumerProtocolAssignment: the partitions that the leader of a classic group gives to one consumer."""

DECLARATION = """
message ConsumerProtocolAssignment
versions 0-3
flexible none
fields
    assigned_partitions  []struct  0+
        topic       string   0+  key  is topicName
        partitions  []int32  0+
    user_data            bytes     0+  null 0+  = null
"""
