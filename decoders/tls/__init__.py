"""Chunks of TLS in, chunks of what was encrypted out: key logs, handshakes, key schedules, records."""
