"""ControlRecordTypeSchema: the key of a control record: which kind it is (KIP-98)."""

DECLARATION = """
message ControlRecordTypeSchema
versions 0
flexible none
fields
    type  int16  0+
"""
