"""VotersRecord: the control record that lists the KRaft voters and their endpoints (KIP-853)."""

DECLARATION = """
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
