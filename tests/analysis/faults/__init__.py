"""Faults made on purpose with real brokers and clients, one row a finding: by clients, by nodes, on links."""
