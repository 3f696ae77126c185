"""Captures that never end in, tables that grow batch by batch out; each byte is read once."""
