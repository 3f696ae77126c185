"""LeaderChangeMessage: the control record with which a new KRaft leader begins its epoch (KIP-595, KIP-853)."""

DECLARATION = """
message LeaderChangeMessage
versions 0-1
flexible 0+
fields
    version          int16    0+
    leader_id        int32    0+  is brokerId
    voters           []Voter  0+
    granting_voters  []Voter  0+
struct Voter 0+
    voter_id            int32  0+
    voter_directory_id  uuid   1+
"""
