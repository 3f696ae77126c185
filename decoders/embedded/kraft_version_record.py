"""KRaftVersionRecord: the control record that sets the version of the KRaft protocol (KIP-853)."""

DECLARATION = """
message KRaftVersionRecord
versions 0
flexible 0+
fields
    version        int16  0+
    kraft_version  int16  0+
"""
