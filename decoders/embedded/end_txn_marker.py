"""EndTxnMarker: the value of a control record that ends a transaction, commit or abort (KIP-98)."""

DECLARATION = """
message EndTxnMarker
versions 0
flexible none
fields
    coordinator_epoch  int32  0+
"""
