"""Captures that never end: what came of them, batch by batch into tables, each byte once."""
