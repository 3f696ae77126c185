"""What goes wrong on purpose with real brokers and clients, a row a finding: by clients, by nodes, on links."""
