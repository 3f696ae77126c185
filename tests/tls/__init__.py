"""Tests of TLS: key logs, handshakes, keys, records, and whole connections decrypted."""
