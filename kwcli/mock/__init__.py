"""What `kw mock` does: a recording is read, and listeners stand for its brokers."""
