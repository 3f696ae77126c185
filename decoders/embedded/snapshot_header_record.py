"""SnapshotHeaderRecord: the control record at the start of a KRaft snapshot (KIP-630)."""

DECLARATION = """
message SnapshotHeaderRecord
versions 0
flexible 0+
fields
    version                       int16  0+
    last_contained_log_timestamp  int64  0+
"""
