"""Control records: their key, and the value of each kind (KIP-98, KIP-595, KIP-630, KIP-853)."""

DECLARATION = """
message ControlRecordTypeSchema
versions 0
flexible none
fields
    type  int16  0+

message EndTxnMarker
versions 0
flexible none
fields
    coordinator_epoch  int32  0+

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

message SnapshotHeaderRecord
versions 0
flexible 0+
fields
    version                       int16  0+
    last_contained_log_timestamp  int64  0+

message SnapshotFooterRecord
versions 0
flexible 0+
fields
    version  int16  0+

message KRaftVersionRecord
versions 0
flexible 0+
fields
    version        int16  0+
    kraft_version  int16  0+

message VotersRecord
versions 0
flexible 0+
fields
    version  int16     0+
    voters   []struct  0+
        voter_id               int32     0+  is brokerId
        voter_directory_id     uuid      0+
        endpoints              []struct  0+
            name  string  0+  key
            host  string  0+
            port  uint16  0+
        kraft_version_feature  struct    0+
            min_supported_version  int16  0+
            max_supported_version  int16  0+
"""
