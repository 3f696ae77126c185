"""What `kw call` does: the words of one request in, the node that must answer it found, the exchange shown."""
