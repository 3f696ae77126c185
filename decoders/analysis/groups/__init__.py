"""Exchanges in, a row for each group out: its generations, members, offsets, and how far it is behind."""
