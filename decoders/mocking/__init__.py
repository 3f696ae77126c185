"""A recording in, brokers out that answer as those of the recording did: bytes of clients in, bytes for clients out."""
