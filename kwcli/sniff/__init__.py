"""Captures and interfaces in, exchanges on standard output out: what `kw sniff` does."""
