"""SnapshotFooterRecord: the control record at the end of a KRaft snapshot (KIP-630)."""

DECLARATION = """
message SnapshotFooterRecord
versions 0
flexible 0+
fields
    version  int16  0+
"""
